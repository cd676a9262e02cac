// A small part with events of every kind, for fuzzers that ask about it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "storage/base/files.h"
#include "storage/trace/format/flow_rules.h"
#include "storage/trace/read/metric_table.h"
#include "storage/trace/write/part_writer.h"
#include "storage/trace/write/segment_maker.h"

namespace kprof {

// Slices within slices on two tracks, with arguments, flows and metadata.
inline void WriteEveryKind(const std::string& path) {
  const std::unique_ptr<Files> files = MakePosixFiles();
  auto created = PartWriter::Create(*files, path);
  KPROF_CHECK(created.ok());
  PartWriter& part = **created;
  const char* strings[] = {"", "gemm", "aten::mm", "kernel", "cpu_op", "bytes", "1", "ac2g", "\xff\"", "key \"q\""};
  uint32_t number = 0;
  for (const char* text : strings) KPROF_CHECK(part.AddString(number++, text).ok());
  KPROF_CHECK(part.AddTrack({.id = 0, .kind = "cpu_thread", .name = "python"}).ok());
  KPROF_CHECK(part.AddTrack({.id = 1, .kind = "gpu_stream", .name = "stream 7", .device = 0, .stream = 7}).ok());
  KPROF_CHECK(part.AddShape(1, {{5, ArgType::kInteger, false}, {9, ArgType::kString, false}}).ok());
  for (const EventKind kind :
       {EventKind::kSlice, EventKind::kInstant, EventKind::kCounter, EventKind::kFlow, EventKind::kMetadata}) {
    EventRows rows;
    rows.args.resize(2);
    rows.args[1].resize(2);
    for (int64_t i = 0; i < 60; ++i) {
      for (const EventColumn column : ColumnsOf(kind)) {
        int64_t value = 0;
        if (column == EventColumn::kTime) value = i * 10 - i % 3;
        if (column == EventColumn::kDuration) value = i % 7 == 0 ? kNoValue : i % 5 * 20;
        if (column == EventColumn::kTrack) value = i % 2;
        if (column == EventColumn::kName) value = i % 3 == 0 ? 8 : 1 + i % 2;
        if (column == EventColumn::kCategory) value = i % 4 == 0 ? 0 : 3 + i % 2;
        if (column == EventColumn::kShape) value = i % 2;
        if (column == EventColumn::kCorrelation) value = i % 3 == 0 ? kNoValue : i / 2;
        if (column == EventColumn::kFlowId) value = i % 2 == 0 ? 6 : ~i;
        if (column == EventColumn::kPhase) value = static_cast<unsigned char>("stf"[i % 3]);
        if (column == EventColumn::kValue) value = i << 52;
        rows.of(column).push_back(value);
      }
      if (i % 2 == 1) rows.args[1][0].push_back(i);
      if (i % 2 == 1) rows.args[1][1].push_back(8);
    }
    SegmentMaker maker(kind, rows, 16);
    for (size_t i = 0; i < maker.segments(); ++i) KPROF_CHECK(part.AddSegment(maker.Encode(i)).ok());
  }
  const SideTable lines{
      "lines",
      {{"file", SideType::kText, ""}, {"line", SideType::kInteger, ""}, {"share", SideType::kReal, "percent"}}};
  SideRows rows(lines);
  SideRows metrics(MetricSideTable());
  for (int64_t i = 0; i < 60; ++i) {
    const int64_t value = std::bit_cast<int64_t>(static_cast<double>(i) / 7);
    rows.Add(std::vector<int64_t>{i % 5 == 0 ? kNoValue : 1 + i % 8, i % 7 == 0 ? kNoValue : i,
                                  i % 9 == 0 ? kNoReal : value});
    metrics.Add(std::vector<int64_t>{1 + i % 2, i / 2, 5, value, 0});
  }
  KPROF_CHECK(part.AddSideTable(0, lines).ok() && part.AddSideTable(1, MetricSideTable()).ok());
  for (size_t first = 0; first < 60; first += 16) {
    const size_t count = std::min<size_t>(16, 60 - first);
    KPROF_CHECK(part.AddSideSegment(EncodeSideRows(0, rows, first, count)).ok());
    KPROF_CHECK(part.AddSideSegment(EncodeSideRows(1, metrics, first, count)).ok());
  }
  KPROF_CHECK(part.Finish({}).ok());
}

}  // namespace kprof
