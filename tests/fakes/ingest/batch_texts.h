// A sink that keeps what a reader gives as text (row_text.h), whichever of its threads found it, and refuses what a
// sink may not be given: numbers that were not said before, columns of different sizes.
#pragma once

#include <algorithm>
#include <bit>
#include <map>
#include <string>
#include <vector>

#include "daemon/ingest/assemble/batch_sink.h"
#include "tests/fakes/ingest/row_text.h"

namespace kprof {

class BatchTexts : public BatchSink {
 public:
  Status Take(TraceBatch batch) override {
    if (++takes == fail_at_take) return Fail(ErrorCode::kStorageFull, "keep it", "there is no room");
    Source& source = sources_[batch.source];
    told_tracks += batch.told_tracks.size();
    for (const std::string& text : batch.strings) source.strings.push_back(TextOfBatch(text));
    source.tracks.insert(source.tracks.end(), batch.tracks.begin(), batch.tracks.end());
    source.shapes.insert(source.shapes.end(), batch.shapes.begin(), batch.shapes.end());
    const auto string = [&](int64_t id) { return source.strings.at(static_cast<size_t>(id)); };
    const RowNumbers of{string, [&](int64_t id) { return KeyText(source.tracks.at(static_cast<size_t>(id)), string); },
                        [&](int64_t id) -> const ArgShape& { return source.shapes.at(static_cast<size_t>(id)); }};
    for (size_t index = 0; index < kEventKinds; ++index) {
      const auto kind = static_cast<EventKind>(index + 1);
      for (const EventColumn column : ColumnsOf(kind)) {
        KPROF_CHECK(batch.of(kind).of(column).size() == batch.of(kind).size());
      }
      for (std::string& text : TextsOf(kind, batch.of(kind), of)) rows.push_back(std::move(text));
    }
    for (const SideRows& side : batch.side) {
      for (size_t row = 0; row < side.size(); ++row) side_rows.push_back(SideText(side, row, string));
    }
    return OkStatus();
  }
  Status SetFact(std::string_view name, std::string_view text) override {
    facts[std::string(name)] = text;
    return OkStatus();
  }
  Status SetFact(std::string_view name, int64_t value) override {
    facts[std::string(name)] = std::to_string(value);
    return OkStatus();
  }
  void Warn(std::string what) override { warnings.push_back(std::move(what)); }
  Status Progress(int64_t bytes, int64_t so_many) override {
    KPROF_CHECK(bytes >= bytes_behind && so_many >= events);
    bytes_behind = bytes;
    events = so_many;
    return events >= cancel_at_event ? Fail(ErrorCode::kCancelled, "read it", "it was cancelled") : OkStatus();
  }

  std::vector<std::string> Sorted() const {
    std::vector<std::string> sorted = rows;
    std::sort(sorted.begin(), sorted.end());
    return sorted;
  }

  std::vector<std::string> side_rows;  // "metric gemm 0 flops 5 ", in the order in which they came
  std::vector<std::string> rows;       // in the order in which they came
  std::map<std::string, std::string> facts;
  std::vector<std::string> warnings;
  size_t told_tracks = 0;
  int64_t bytes_behind = 0;
  int64_t events = 0;
  int takes = 0;
  int fail_at_take = 0;  // 0: never
  int64_t cancel_at_event = INT64_MAX;

 private:
  struct Source {
    std::vector<std::string> strings{""};
    std::vector<TrackKey> tracks;
    std::vector<ArgShape> shapes{{}};
  };
  template <typename String>
  static std::string SideText(const SideRows& side, size_t row, const String& string) {
    std::string text = side.table.name;
    for (size_t i = 0; i < side.columns.size(); ++i) {
      const int64_t value = side.columns[i].at(row);
      text += ' ';
      switch (side.table.columns[i].type) {
        case SideType::kInteger:
          text += value == kNoValue ? "NULL" : std::to_string(value);
          break;
        case SideType::kReal:
          text += ShortestNumber(std::bit_cast<double>(value));
          break;
        case SideType::kText:
          text += value == kNoValue ? "NULL" : string(value);
          break;
      }
    }
    return text;
  }
  std::map<uint32_t, Source> sources_;
};

}  // namespace kprof
