// A small trace part with something of everything in it, and events by rows as they are easy to write down.
#pragma once

#include <algorithm>
#include <bit>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "storage/trace/format/side_table.h"
#include "storage/trace/read/metric_table.h"
#include "storage/trace/write/part_sink.h"
#include "storage/trace/write/segment_maker.h"

namespace kprof {

// An event, its values in the order of ColumnsOf(kind).
inline void AppendRow(EventRows& rows, EventKind kind, std::initializer_list<int64_t> values) {
  auto value = values.begin();
  for (const EventColumn column : ColumnsOf(kind)) rows.of(column).push_back(*value++);
}

// A slice with no more than most tests look at.
struct PlainSlice {
  int64_t time = 0;
  int64_t duration = 0;
  int64_t track = 0;
  int64_t name = 0;
};
inline EventRows RowsOf(const std::vector<PlainSlice>& slices) {
  EventRows rows;
  for (const PlainSlice& slice : slices) {
    AppendRow(rows, EventKind::kSlice, {slice.time, slice.duration, slice.track, slice.name, 0, kNoArgs, kNoValue});
  }
  return rows;
}

inline Status AddRows(PartSink& sink, EventKind kind, const EventRows& rows, size_t segment_rows = kMaxSegmentRows) {
  SegmentMaker maker(kind, rows, segment_rows);
  for (size_t i = 0; i < maker.segments(); ++i) {
    EncodedSegment segment = maker.Encode(i);
    const bool has_depths = kind == EventKind::kSlice && !rows.of(EventColumn::kDepth).empty();
    if (has_depths) maker.EncodeAlso(i, EventColumn::kDepth, segment);
    RETURN_IF_ERROR(sink.AddSegment(segment));
  }
  return OkStatus();
}

// Strings by their numbers: one with bytes that are no UTF-8, one with zeros in it.
inline std::vector<std::string> SampleStrings() {
  using namespace std::string_literals;
  return {"", "gemm", "kernel", "stream", "\xff\xfe\x80 no text", "a\0b\0"s, "[1,2]", "1e400"};
}

inline std::vector<TrackRow> SampleTracks() {
  return {{0, "gpu_stream", "stream 7", "0", "7", "python3", 0, 7, -1},
          {1, "cpu_thread", "", {}, {}, {}, {}, {}, {}},
          {2, "counter", "power W", "", "\xff", {}, 3, {}, int64_t{1} << 40}};
}

// One with each type, one without columns.
inline std::vector<ArgShape> SampleShapes() {
  return {{},
          {{3, ArgType::kInteger, false},
           {1, ArgType::kDecimal, true},
           {2, ArgType::kNumber, false},
           {2, ArgType::kString, false},
           {2, ArgType::kJson, false},
           {2, ArgType::kNull, false},
           {2, ArgType::kCorrelation, false}},
          {{4, ArgType::kTrue, false}, {4, ArgType::kFalse, true}}};
}

// Of each kind but summaries, by IndexOf(kind); of slices there are enough for levels of detail.
inline std::vector<EventRows> SampleRows() {
  std::vector<EventRows> rows(kEventKinds);
  EventRows& slices = rows[IndexOf(EventKind::kSlice)];
  slices.args = {{}, {{-5, 6}, {1250 * 16 + 2, 16}, {7, 7}, {4, 5}, {6, 6}, {}, {}}, {{}, {}}};
  AppendRow(slices, EventKind::kSlice, {-100, 1'000'000, 0, 1, 2, 1, 77});
  AppendRow(slices, EventKind::kSlice, {50, 40, 0, 4, 2, 1, kNoValue});
  AppendRow(slices, EventKind::kSlice, {60, kNoValue, 1, 5, 0, 2, kNoValue});
  for (int64_t i = 0; i < 20; ++i) AppendRow(slices, EventKind::kSlice, {100 + i * 20, 10, 0, 1, 2, 0, i});
  EventRows& instants = rows[IndexOf(EventKind::kInstant)];
  instants.args = {{}, {}, {{}, {}}};
  AppendRow(instants, EventKind::kInstant, {5, 1, 1, 2, 2});
  for (int64_t i = 0; i < 3; ++i)
    AppendRow(rows[IndexOf(EventKind::kCounter)], EventKind::kCounter, {i, 2, 0, i * 1000});
  AppendRow(rows[IndexOf(EventKind::kFlow)], EventKind::kFlow, {7, 0, 1, 2, 0, 4, 's'});
  AppendRow(rows[IndexOf(EventKind::kMetadata)], EventKind::kMetadata, {0, 1, 1, 0, 0, 'M'});
  return rows;
}

// A side table with a column of each type, with values and without, its texts those of SampleStrings.
inline SideRows SampleSideRows() {
  SideRows rows(
      {.name = "sample",
       .columns = {
           {"place", SideType::kText, ""}, {"line", SideType::kInteger, ""}, {"share", SideType::kReal, "percent"}}});
  for (int64_t i = 0; i < 10; ++i) {
    const int64_t row[] = {i % 3 == 0 ? kNoValue : 1 + i % 4, i % 4 == 0 ? kNoValue : i - 5,
                           i % 5 == 0 ? kNoReal : std::bit_cast<int64_t>(-0.5 * static_cast<double>(i - 1))};
    rows.Add(row);
  }
  return rows;
}

// Behind FillSample, or anything with its strings; in pieces of so many rows.
inline Status FillSideSample(PartSink& sink, size_t segment_rows = 4) {
  const SideRows rows = SampleSideRows();
  RETURN_IF_ERROR(sink.AddSideTable(0, rows.table));
  for (size_t first = 0; first < rows.size(); first += segment_rows) {
    const size_t count = std::min(segment_rows, rows.size() - first);
    RETURN_IF_ERROR(sink.AddSideSegment(EncodeSideRows(0, rows, first, count)));
  }
  SideRows metrics(MetricSideTable());
  const int64_t row[] = {1, 0, 2, std::bit_cast<int64_t>(2.5), 0};
  metrics.Add(row);
  RETURN_IF_ERROR(sink.AddSideTable(1, metrics.table));
  return sink.AddSideSegment(EncodeSideRows(1, metrics, 0, 1));
}

inline Status FillSample(PartSink& sink) {
  const std::vector<std::string> strings = SampleStrings();
  for (uint32_t id = 0; id < strings.size(); ++id) RETURN_IF_ERROR(sink.AddString(id, strings[id]));
  const std::vector<ArgShape> shapes = SampleShapes();
  for (uint32_t id = 0; id < shapes.size(); ++id) RETURN_IF_ERROR(sink.AddShape(id, shapes[id]));
  const std::vector<EventRows> rows = SampleRows();
  for (size_t kind = 0; kind < rows.size(); ++kind) {
    if (rows[kind].size() > 0) RETURN_IF_ERROR(AddRows(sink, static_cast<EventKind>(kind + 1), rows[kind]));
  }
  for (const TrackRow& track : SampleTracks()) RETURN_IF_ERROR(sink.AddTrack(track));
  RETURN_IF_ERROR(sink.SetFact("base_unix_ns", int64_t{1'800'000'000'000'000'000}));
  return sink.SetFact("clock", "unix");
}

}  // namespace kprof
