// A part in memory: what it was given, as text (row_text.h). Refuses what a part may not be given: numbers that are not
// the next ones, a shape before the strings of its keys, a segment before the shapes of its events.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "storage/trace/read/part_reader.h"
#include "storage/trace/write/part_sink.h"
#include "tests/fakes/ingest/row_text.h"

namespace kprof {

class MemoryPart : public PartSink {
 public:
  // What a finished part holds.
  static MemoryPart Of(PartReader& reader) {
    MemoryPart part;
    KPROF_CHECK(reader
                    .ForEachString([&](int64_t, std::string_view text) {
                      part.strings.emplace_back(text);
                      return true;
                    })
                    .ok());
    part.tracks = reader.tracks();
    part.shapes = reader.shapes();
    if (part.shapes.empty()) part.shapes.emplace_back();
    part.facts = {reader.facts().begin(), reader.facts().end()};
    for (size_t index = 0; index < kEventKinds; ++index) {
      const auto kind = static_cast<EventKind>(index + 1);
      for (const Segment& segment : reader.segments(kind)) part.segments.push_back({kind, RowsOf(reader, segment)});
    }
    return part;
  }

  Status AddString(uint32_t id, std::string_view text) override {
    KPROF_CHECK(id == strings.size());
    strings.emplace_back(text);
    return Judge();
  }
  Status AddTrack(const TrackRow& track) override {
    KPROF_CHECK(track.id == tracks.size());
    tracks.push_back(track);
    return Judge();
  }
  Status AddShape(uint32_t id, const ArgShape& shape) override {
    KPROF_CHECK(id == shapes.size());
    for (const ArgSlot& slot : shape) KPROF_CHECK(slot.key < strings.size());
    shapes.push_back(shape);
    return Judge();
  }
  Status AddSegment(const EncodedSegment& segment) override {
    EventRows rows;
    for (const EncodedSegment::Column& column : segment.columns) {
      KPROF_CHECK(column.shape < shapes.size());
      std::vector<int64_t> values(column.rows);
      KPROF_CHECK(DecodeColumn(column.encoded.codec, column.encoded.bytes, values).ok());
      if (column.shape == kNoArgs) {
        KPROF_CHECK(column.rows == segment.rows);
        rows.columns.at(column.column - 1) = std::move(values);
      } else {
        Put(rows, column.shape, column.column, std::move(values));
      }
    }
    rows.args.resize(shapes.size());
    segments.push_back({segment.kind, std::move(rows)});
    return Judge();
  }
  Status AddSideTable(uint32_t id, const SideTable& table) override {
    KPROF_CHECK(id == side.size() && CheckSideTable(table).ok());
    side.emplace_back(table);
    return Judge();
  }
  Status AddSideSegment(const EncodedSideSegment& segment) override {
    SideRows& rows = side.at(segment.table);
    KPROF_CHECK(segment.columns.size() == rows.columns.size());
    for (size_t i = 0; i < segment.columns.size(); ++i) {
      std::vector<int64_t> values(segment.rows);
      KPROF_CHECK(DecodeColumn(segment.columns[i].codec, segment.columns[i].bytes, values).ok());
      rows.columns[i].insert(rows.columns[i].end(), values.begin(), values.end());
    }
    side_segments.push_back(segment.rows);
    return Judge();
  }
  Status SetFact(std::string_view name, std::string_view text) override {
    facts[std::string(name)] = text;
    return Judge();
  }
  Status SetFact(std::string_view name, int64_t value) override {
    facts[std::string(name)] = std::to_string(value);
    return Judge();
  }

  // Its rows, in the order in which they stand; all tracks must be there.
  std::vector<std::string> Rows(EventKind kind) const {
    const RowNumbers of{[this](int64_t id) { return strings.at(static_cast<size_t>(id)); },
                        [this](int64_t id) { return TrackText(tracks.at(static_cast<size_t>(id))); },
                        [this](int64_t id) -> const ArgShape& { return shapes.at(static_cast<size_t>(id)); }};
    std::vector<std::string> rows;
    for (const OneSegment& segment : segments) {
      if (segment.kind != kind) continue;
      for (std::string& text : TextsOf(kind, segment.rows, of)) rows.push_back(std::move(text));
    }
    return rows;
  }
  std::vector<std::string> SortedRows(EventKind kind) const {
    std::vector<std::string> rows = Rows(kind);
    std::sort(rows.begin(), rows.end());
    return rows;
  }

  struct OneSegment {
    EventKind kind = EventKind::kSlice;
    EventRows rows;
  };
  std::vector<std::string> strings;
  std::vector<TrackRow> tracks;
  std::vector<ArgShape> shapes{{}};
  std::map<std::string, std::string> facts;
  std::vector<OneSegment> segments;
  std::vector<SideRows> side;
  std::vector<uint32_t> side_segments;  // their rows
  int64_t calls = 0;
  int64_t fail_at_call = 0;  // 0: never

 private:
  static std::string TrackText(const TrackRow& track) {
    if (track.kind == "async" || track.kind == "counter") return track.kind + " " + *track.pid + ":" + track.name;
    return track.pid.value_or("") + ":" + track.tid.value_or("");
  }
  static void Put(EventRows& rows, uint32_t shape, uint32_t slot, std::vector<int64_t> values) {
    if (rows.args.size() <= shape) rows.args.resize(shape + 1);
    if (rows.args[shape].size() <= slot) rows.args[shape].resize(slot + 1);
    rows.args[shape][slot] = std::move(values);
  }
  static EventRows RowsOf(PartReader& reader, const Segment& segment) {
    EventRows rows;
    for (uint32_t number = 1; number <= kEventColumns; ++number) {
      const auto column = static_cast<EventColumn>(number);
      const Result<std::optional<ColumnBounds>> bounds = reader.ReadBounds(segment, column);
      KPROF_CHECK(bounds.ok());
      if (!*bounds) continue;
      const Result<DecodedColumn> values = reader.Read(segment, column);
      KPROF_CHECK(values.ok());
      rows.of(column).assign((*values)->begin(), (*values)->end());
    }
    rows.args.resize(reader.shapes().size());
    std::vector<bool> seen(reader.shapes().size());
    for (const int64_t value : rows.of(EventColumn::kShape)) seen.at(static_cast<size_t>(value)) = true;
    for (uint32_t shape = 1; shape < seen.size(); ++shape) {
      for (uint32_t slot = 0; seen[shape] && slot < reader.shapes()[shape].size(); ++slot) {
        if (!HasColumn(reader.shapes()[shape][slot].type)) continue;
        const Result<DecodedColumn> values = reader.ReadArg(segment, shape, slot);
        KPROF_CHECK(values.ok());
        Put(rows, shape, slot, {(*values)->begin(), (*values)->end()});
      }
    }
    return rows;
  }
  Status Judge() {
    return ++calls == fail_at_call ? Fail(ErrorCode::kStorageFull, "keep it", "there is no room") : OkStatus();
  }
};

}  // namespace kprof
