// Imports in the runs room, by a reader that does as it is told: a source says what becomes of it by its bytes, and its
// part is those bytes.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <map>

#include "daemon/ingest/source/source_hash.h"
#include "tests/unit/runs/runs_fixture.h"

namespace kprof {

class ImportsFixture : public RunsFixture {
 public:
  ImportsFixture() {
    import_ = [this](const ImportSource& source, const ImportLimits&, Files& files, const std::string& path,
                     const std::stop_token& stop,
                     const OnImportProgress& progress) { return Read(source, files, path, stop, progress); };
    set_rank_ = [this](Files&, const std::string& path, std::optional<int64_t> rank) -> Result<int64_t> {
      set_ranks_[path.substr(path.rfind('/') + 1)] = rank;
      return kBytesWithRank;
    };
  }

  // A file of the client's, handed over. "bad": nothing that can be read; "none": no trace at all; "wait": is read
  // until it is stopped or told to go on; "rank 7": says that it is; "warn": is read with a warning; else it is good.
  ImportRequest::Source Source(const std::string& name, const std::string& bytes,
                               std::optional<int64_t> rank = std::nullopt) {
    const std::string path = folder_ / name;
    std::ofstream(path) << bytes;
    Result<std::string> ticket = sources_->Hold(1000, 1000, UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)));
    EXPECT_TRUE(ticket.ok()) << ticket.status().ToString();
    return {ticket.ok() ? *ticket : "", name, rank};
  }
  // The same, of a folder.
  ImportRequest::Source Found(const std::string& name, const std::string& bytes) {
    ImportRequest::Source source = Source(name, bytes);
    source.may_be_none = true;
    return source;
  }
  static ImportRequest Of(std::vector<ImportRequest::Source> sources) {
    ImportRequest request;
    request.uid = 1000;
    request.sources = std::move(sources);
    request.format = "auto";
    return request;
  }

  Result<std::vector<SubmittedImport>> SubmitImports(ImportRequest request, std::stop_token stop = {}) {
    std::optional<Result<std::vector<SubmittedImport>>> answer;
    runs_->SubmitImport(std::move(request), std::move(stop),
                        [&](Result<std::vector<SubmittedImport>> submitted) { answer = std::move(submitted); });
    EXPECT_TRUE(Until([&] { return answer.has_value(); }));
    return *answer;
  }
  // The only run, or the first one.
  Result<SubmittedImport> SubmitImport(ImportRequest request, std::stop_token stop = {}) {
    Result<std::vector<SubmittedImport>> submitted = SubmitImports(std::move(request), std::move(stop));
    if (!submitted.ok()) return submitted.status();
    return submitted->front();
  }
  std::string Import(ImportRequest request) {
    Result<SubmittedImport> submitted = SubmitImport(std::move(request));
    EXPECT_TRUE(submitted.ok()) << submitted.status().ToString();
    return submitted.ok() ? submitted->row.id : "";
  }
  // As it ended.
  RunRow Ended(const std::string& id) {
    EXPECT_TRUE(HasEnded(id));
    return Stored(id);
  }
  std::vector<std::string> FilesOf(const std::string& id) {
    std::vector<std::string> names;
    Result<std::vector<FolderEntry>> entries = disk_.files.List(layout().RunFolder(id));
    if (!entries.ok()) return names;
    for (const FolderEntry& entry : *entries) names.push_back(entry.name);
    std::sort(names.begin(), names.end());
    return names;
  }

  static constexpr int64_t kBytesWithRank = 12'345;
  std::map<std::string, std::optional<int64_t>> set_ranks_;  // of parts that said another one: by what they were called
  ImportLimits limits_;
  std::atomic<int> reading_{0};
  std::atomic<bool> go_on_{false};

 private:
  Result<ImportedPart> Read(const ImportSource& source, Files& files, const std::string& path,
                            const std::stop_token& stop, const OnImportProgress& progress) {
    std::string bytes(100, '\0');
    const ssize_t size = ::pread(source.fd, bytes.data(), bytes.size(), 0);
    bytes.resize(static_cast<size_t>(size));
    // What a run left must look like a trace, or is not read: {"bad"}.
    if (bytes.starts_with("{\"") && bytes.ends_with("\"}")) bytes = bytes.substr(2, bytes.size() - 4);
    progress({.bytes = 1, .total_bytes = size, .events = 10});
    ++reading_;
    while (bytes == "wait" && !go_on_) {
      if (stop.stop_requested()) return Fail(ErrorCode::kCancelled, "import " + source.name, "it was stopped");
      std::this_thread::yield();
    }
    if (bytes == "none" && source.may_be_none) {
      ImportedPart none;
      none.no_trace = Fail(ErrorCode::kBadInput, "read it", "it has no list of events");
      return none;
    }
    if (bytes == "bad" || bytes == "none")
      return Fail(ErrorCode::kBadInput, "import " + source.name, "there is no JSON at byte 0");
    {
      ASSIGN_OR_RETURN(std::unique_ptr<File> file, files.Create(path + ".partial"));
      RETURN_IF_ERROR(file->Append(bytes));
      RETURN_IF_ERROR(file->Sync());
    }
    RETURN_IF_ERROR(files.Rename(path + ".partial", path));
    ImportedPart part;
    part.format = "chrome";
    part.rank = source.rank;
    if (!part.rank && bytes.starts_with("rank ")) part.rank = std::stoll(bytes.substr(5));
    part.told_rank = part.rank ? part.rank : source.rank_if_unsaid;
    if (bytes == "warn") part.warnings = {"it ends early, at byte 4"};
    part.source_bytes = part.bytes = size;
    part.slices = 3;
    SourceHash hash;
    if (size > 0) hash.AddBlock(0, bytes);
    part.source_hash = hash.Finish(size);
    return part;
  }
};

}  // namespace kprof
