// Parts made of sources in memory or of files, exports of them, and what a part says, in words.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "daemon/base/worker_pool.h"
#include "daemon/exports/trace_export.h"
#include "daemon/ingest/source_reader.h"
#include "storage/base/descriptors.h"
#include "storage/trace/format/event_args.h"
#include "storage/trace/format/flow_rules.h"
#include "storage/trace/format/part_schema.h"
#include "storage/trace/read/part_reader.h"
#include "storage/trace/write/part_writer.h"
#include "tests/fakes/base/temporary_folder.h"

namespace kprof {

// All events of a part, by kind, each a line; sorted, so that two parts can be compared.
class PartWords {
 public:
  explicit PartWords(PartReader& part) : part_(part) {
    for (const EventKind kind :
         {EventKind::kSlice, EventKind::kInstant, EventKind::kCounter, EventKind::kFlow, EventKind::kMetadata}) {
      for (const Segment& segment : part.segments(kind)) Read(segment);
    }
    std::sort(lines_.begin(), lines_.end());
  }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  void Read(const Segment& segment) {
    std::map<EventColumn, DecodedColumn> columns;
    for (const EventColumn column : ColumnsOf(segment.kind)) columns[column] = *part_.Read(segment, column);
    if (segment.kind == EventKind::kSlice) columns[EventColumn::kDepth] = *part_.Read(segment, EventColumn::kDepth);
    std::map<int64_t, size_t> counts;
    for (size_t row = 0; row < segment.rows; ++row) {
      std::string line(EventKindName(segment.kind));
      for (const auto& [column, values] : columns) line += " " + Word(column, (*values)[row]);
      if (columns.count(EventColumn::kShape) > 0) {
        const int64_t shape = (*columns[EventColumn::kShape])[row];
        if (shape != kNoArgs) line += Args(segment, static_cast<uint32_t>(shape), counts[shape]++, columns, row);
      }
      lines_.push_back(line);
    }
  }
  std::string Word(EventColumn column, int64_t value) {
    switch (column) {
      case EventColumn::kName:
      case EventColumn::kCategory:
        return "\"" + Text(value) + "\"";
      case EventColumn::kFlowId:
        return IsNumberedFlow(value) ? NumberedFlowText(value) : "\"" + Text(value) + "\"";
      case EventColumn::kTrack: {
        const TrackRow& track = part_.tracks()[static_cast<size_t>(value)];
        auto text = [](const auto& of) { return of ? *of : std::string("-"); };
        auto number = [](const auto& of) { return of ? std::to_string(*of) : std::string("-"); };
        return "<" + track.kind + " " + track.name + " " + text(track.pid) + ":" + text(track.tid) + " " +
               text(track.process) + " " + number(track.device) + "/" + number(track.stream) + " " +
               number(track.sort_index) + ">";
      }
      case EventColumn::kShape:
        return "";
      default:
        return value == kNoValue ? "?" : std::to_string(value);
    }
  }
  std::string Args(const Segment& segment, uint32_t shape, size_t arg_row,
                   const std::map<EventColumn, DecodedColumn>& columns, size_t row) {
    std::string out = " {";
    const ArgShape& slots = part_.shapes()[shape];
    for (uint32_t slot = 0; slot < slots.size(); ++slot) {
      out +=
          Text(slots[slot].key) + (slots[slot].of_event ? "!" : "") + "=" + std::string(ArgTypeName(slots[slot].type));
      if (slots[slot].type == ArgType::kCorrelation) {
        out += " " + std::to_string((*columns.at(EventColumn::kCorrelation))[row]);
      }
      if (HasColumn(slots[slot].type)) {
        DecodedColumn& values = args_[{segment.id, shape, slot}];
        if (values == nullptr) values = *part_.ReadArg(segment, shape, slot);  // counts rows each time
        const int64_t value = values->at(arg_row);
        out += IsStringNumber(slots[slot].type) ? " '" + Text(value) + "'" : " " + std::to_string(value);
      }
      out += ", ";
    }
    return out + "}";
  }

  const std::string& Text(int64_t id) {
    const auto [found, is_new] = texts_.try_emplace(id);
    if (is_new) found->second = *part_.ReadString(id);
    return found->second;
  }

  PartReader& part_;
  std::vector<std::string> lines_;
  std::unordered_map<int64_t, std::string> texts_;
  std::map<std::tuple<int64_t, uint32_t, uint32_t>, DecodedColumn> args_;  // by segment, shape, slot
};

class ExportsTest : public testing::Test {
 protected:
  using Facts = std::vector<std::pair<std::string, std::string>>;

  static std::string ReadFile(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::unique_ptr<PartReader> Import(const std::string& source, const Facts& facts = {}) {
    UniqueFd fd(::memfd_create("source", MFD_CLOEXEC));
    EXPECT_EQ(::write(fd.get(), source.data(), source.size()), static_cast<ssize_t>(source.size()));
    const std::string path = folder_ / ("part" + std::to_string(++parts_) + ".trace.db");
    std::unique_ptr<PartWriter> writer = *PartWriter::Create(*files_, path);
    const SourceFile file = *SourceFile::Open(fd.get(), "source.json");
    const Result<ReadSourceResult> read = ReadSource(file, {}, pool_, *writer, [](int64_t, int64_t) {}, {});
    EXPECT_TRUE(read.ok()) << read.status().ToString();
    for (const auto& [name, text] : facts) EXPECT_TRUE(writer->SetFact(name, text).ok());
    const Result<int64_t> finished = writer->Finish({});
    EXPECT_TRUE(finished.ok()) << finished.status().ToString();
    return *PartReader::Open(path, cache_);
  }
  std::string Export(std::string_view format, const std::vector<PartReader*>& readers) {
    std::vector<ExportPart> parts;
    for (PartReader* reader : readers) parts.push_back({reader});
    return ExportParts(format, parts);
  }
  std::string ExportParts(std::string_view format, const std::vector<ExportPart>& parts) {
    std::string bytes;
    const Status status = FindExportFormat(format)->write(parts,
                                                          [&](std::string_view piece) {
                                                            bytes += piece;
                                                            return OkStatus();
                                                          },
                                                          {});
    EXPECT_TRUE(status.ok()) << status.ToString();
    return bytes;
  }
  std::string Export(std::string_view format, PartReader& part) { return Export(format, std::vector{&part}); }

  static std::vector<std::string> Words(PartReader& part) { return PartWords(part).lines(); }
  // What is no count of ours, and no sentence.
  static std::map<std::string, std::string> FactsOf(const PartReader& part) {
    std::map<std::string, std::string> facts;
    for (const auto& [name, value] : part.facts()) {
      if (!name.starts_with("warning.") && name != "left_out_members") facts.emplace(name, value);
    }
    return facts;
  }

  TemporaryFolder folder_;
  std::unique_ptr<Files> files_ = MakePosixFiles();
  WorkerPool pool_{{.threads = 4}};
  ColumnCache cache_{16 << 20};
  int parts_ = 0;
};

}  // namespace kprof
