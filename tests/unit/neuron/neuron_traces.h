// Texts of Neuron tools as the parts of runs, read and written as an import does it, and analyses of them.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/kinds/analysis_kinds.h"
#include "daemon/base/worker_pool.h"
#include "daemon/ingest/source/source_file.h"
#include "daemon/ingest/source_reader.h"
#include "storage/base/descriptors.h"
#include "storage/base/files.h"
#include "storage/trace/write/part_writer.h"
#include "tests/fakes/base/temporary_folder.h"

namespace kprof {

class NeuronTraces {
 public:
  // Adds a text as a part. Its warnings are in `warnings`.
  void Add(const std::string& text, std::optional<int64_t> rank = {}, const std::string& run = "run") {
    const Status added = TryAdd(text, rank, run);
    EXPECT_TRUE(added.ok()) << added.ToString();
  }
  Status TryAdd(const std::string& text, std::optional<int64_t> rank = {}, const std::string& run = "run") {
    const UniqueFd fd(::memfd_create("source", MFD_CLOEXEC));
    KPROF_CHECK(::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
    const SourceFile source = *SourceFile::Open(fd.get(), "trace.json");
    const std::string path = folder_.path() + "/" + std::to_string(readers_.size()) + ".trace.db";
    ASSIGN_OR_RETURN(const std::unique_ptr<PartWriter> writer, PartWriter::Create(*files_, path));
    ASSIGN_OR_RETURN(const ReadSourceResult read, ReadSource(source, {}, pool_, *writer, [](int64_t, int64_t) {}, {}));
    format = read.format;
    warnings.insert(warnings.end(), read.warnings.begin(), read.warnings.end());
    RETURN_IF_ERROR(writer->Finish({}).status());
    ASSIGN_OR_RETURN(std::unique_ptr<PartReader> reader, PartReader::Open(path, cache_));
    parts_.push_back({reader.get(), rank ? rank : reader->IntegerFact("rank")});
    runs_.push_back(run);
    readers_.push_back(std::move(reader));
    return OkStatus();
  }

  AnalysisAnswer Ask(const std::string& name, const std::map<std::string, std::string>& given = {}) {
    kind_ = *FindAnalysisKind(name);
    const AnalysisTraces traces(parts_, runs_);
    const Result<AnalysisOptions> options = AnalysisOptions::Read("ask", kind_->options, given);
    EXPECT_TRUE(options.ok()) << options.status().ToString();
    Result<AnalysisAnswer> answer = Analyze(*kind_, traces, *options, {});
    EXPECT_TRUE(answer.ok()) << answer.status().ToString();
    return *std::move(answer);
  }
  // A value of a row, and of the facts, of what was asked last.
  AnalysisValue At(const AnalysisAnswer& answer, size_t table, size_t row, const std::string& column) const {
    return ValueAt(answer.rows(table)[row], kind_->tables[table].columns, column);
  }
  AnalysisValue Fact(const AnalysisAnswer& answer, const std::string& name) const {
    return ValueAt(answer.facts(), kind_->facts, name);
  }
  int64_t Number(const AnalysisAnswer& answer, size_t table, size_t row, const std::string& column) const {
    return std::get<int64_t>(At(answer, table, row, column));
  }
  size_t Table(const std::string& name) const {
    size_t at = 0;
    while (kind_->tables[at].name != name) ++at;
    return at;
  }
  PartReader& reader(size_t part) { return *readers_[part]; }

  std::vector<std::string> warnings;
  std::string format;  // of the last one

 private:
  static AnalysisValue ValueAt(const AnalysisAnswer::Row& row, const std::vector<AnalysisColumn>& columns,
                               const std::string& name) {
    for (size_t i = 0; i < columns.size(); ++i) {
      if (columns[i].name == name) return row[i];
    }
    ADD_FAILURE() << "no column " << name;
    return {};
  }

  TemporaryFolder folder_;
  std::unique_ptr<Files> files_ = MakePosixFiles();
  WorkerPool pool_{{.threads = 0}};
  ColumnCache cache_{int64_t{64} << 20};
  std::vector<std::unique_ptr<PartReader>> readers_;
  std::vector<TracePart> parts_;
  std::vector<std::string> runs_;
  const AnalysisKind* kind_ = nullptr;
};

}  // namespace kprof
