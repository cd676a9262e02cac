// make_trace_part FOLDER: writes FOLDER/example.trace.db, an example of a trace part as today's code keeps it. FOLDER
// must not exist. See README.md. Everything in it is made up; the same bytes each time, but for what SQLite puts in its
// header.
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "storage/trace/levels/slice_totals.h"
#include "storage/trace/read/metric_table.h"
#include "storage/trace/write/part_writer.h"
#include "storage/trace/write/segment_maker.h"

namespace kprof {
namespace {

void Require(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "make_trace_part: %s\n", status.ToString().c_str());
  std::exit(1);
}

// An event, its values in the order of ColumnsOf(kind).
void Append(EventRows& rows, EventKind kind, std::initializer_list<int64_t> values) {
  auto value = values.begin();
  for (const EventColumn column : ColumnsOf(kind)) rows.of(column).push_back(*value++);
}

void Add(PartWriter& part, EventKind kind, const EventRows& rows, size_t segment_rows) {
  SegmentMaker maker(kind, rows, segment_rows);
  for (size_t i = 0; i < maker.segments(); ++i) Require(part.AddSegment(maker.Encode(i)));
}

void AddNames(PartWriter& part) {
  using namespace std::string_literals;
  const std::string strings[] = {"", "step", "gemm", "kernel", "grid", "[1,2,3]", "\xff\xfe", "a\0b"s, "1e400", "7"};
  for (uint32_t id = 0; id < std::size(strings); ++id) Require(part.AddString(id, strings[id]));
  Require(part.AddTrack({0, "cpu_thread", "main", "1", "1", "python3", {}, {}, 0}));
  Require(part.AddTrack({1, "gpu_stream", "stream 7", "0", "7", {}, 0, 7, -1}));
  Require(part.AddTrack({2, "counter", "power W", {}, {}, {}, {}, {}, {}}));
  Require(part.AddShape(1, {{4, ArgType::kInteger, false},
                            {4, ArgType::kDecimal, true},
                            {4, ArgType::kNumber, false},
                            {4, ArgType::kString, false},
                            {4, ArgType::kJson, false}}));
  Require(part.AddShape(2, {{4, ArgType::kNull, false},
                            {4, ArgType::kFalse, false},
                            {4, ArgType::kTrue, false},
                            {4, ArgType::kCorrelation, false}}));
  Require(part.AddShape(3, {{4, ArgType::kDecimal, false}}));
}

// A thousand steps with two kernels each, in two pieces that overlap in time; of the values there are some for each
// codec.
void AddSlices(PartWriter& part) {
  SliceTotals totals([&](const EncodedSegment& segment) { return part.AddSegment(segment); }, {.stretch_rows = 1000});
  uint64_t random = 1;
  for (int64_t piece = 0; piece < 2; ++piece) {
    EventRows rows;
    rows.args.resize(3);
    rows.args[1].resize(5);
    rows.args[2].resize(4);
    for (int64_t step = piece; step < 1000; step += 2) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      const int64_t begin = step * 1000 - 5000;
      Append(rows, EventKind::kSlice, {begin, 900, 0, 1, 0, 0, kNoValue});
      Append(rows, EventKind::kSlice, {begin + 100, static_cast<int64_t>(random >> 60), 1, 2, 3, 1, step});
      const int64_t values[] = {static_cast<int64_t>(random), step * 16 + 1, 8, 6 + step % 2, 5};
      for (size_t slot = 0; slot < std::size(values); ++slot) rows.args[1][slot].push_back(values[slot]);
      Append(rows, EventKind::kSlice, {begin + 100 + step % 7, 20, 1, 2, 3, 2, step * step});
    }
    if (piece == 1) Append(rows, EventKind::kSlice, {500, kNoValue, 0, 7, 0, 0, kNoValue});
    Add(part, EventKind::kSlice, rows, 600);
    Require(totals.Add(rows));
  }
  Require(totals.Finish());
}

void AddOthers(PartWriter& part) {
  EventRows instants;
  for (int64_t i = 0; i < 5; ++i) Append(instants, EventKind::kInstant, {5 + i * 100, 0, 7, 0, 0});
  Add(part, EventKind::kInstant, instants, 100);
  EventRows counters;
  counters.args.resize(4);
  counters.args[3].resize(1);
  for (int64_t i = 0; i < 10; ++i) {
    Append(counters, EventKind::kCounter, {i * 100, 2, i % 5 == 0 ? 3 : 0, 0x4059000000000000 + i});
    if (i % 5 == 0) counters.args[3][0].push_back(1000 * 16 + 1 + i);
  }
  Add(part, EventKind::kCounter, counters, 4);
  EventRows flows;
  Append(flows, EventKind::kFlow, {10, 0, 2, 3, 0, 9, 's'});
  Append(flows, EventKind::kFlow, {110, 1, 2, 3, 0, 9, 'f'});
  Add(part, EventKind::kFlow, flows, 100);
  EventRows metadata;
  Append(metadata, EventKind::kMetadata, {0, 0, 1, 0, 0, 'M'});
  Add(part, EventKind::kMetadata, metadata, 100);
}

// In two pieces, with values and without, and a second table.
void AddSideTables(PartWriter& part) {
  SideRows lines(
      {"lines",
       {{"file", SideType::kText, ""}, {"line", SideType::kInteger, ""}, {"share", SideType::kReal, "percent"}}});
  for (int64_t i = 0; i < 100; ++i) {
    const int64_t row[] = {i % 10 == 0 ? kNoValue : 1 + i % 3, i % 7 == 0 ? kNoValue : i * i,
                           i % 5 == 0 ? kNoReal : std::bit_cast<int64_t>(static_cast<double>(i) / 4)};
    lines.Add(row);
  }
  Require(part.AddSideTable(0, lines.table));
  Require(part.AddSideSegment(EncodeSideRows(0, lines, 0, 64)));
  Require(part.AddSideSegment(EncodeSideRows(0, lines, 64, 36)));
  SideRows metrics(MetricSideTable());
  for (int64_t i = 0; i < 6; ++i) {
    const int64_t row[] = {2, i / 2, 3 + i % 2, std::bit_cast<int64_t>(static_cast<double>(i)), i % 2 == 0 ? 9 : 0};
    metrics.Add(row);
  }
  Require(part.AddSideTable(1, metrics.table));
  Require(part.AddSideSegment(EncodeSideRows(1, metrics, 0, 6)));
}

}  // namespace
}  // namespace kprof

int main(int argc, char** argv) {
  if (argc != 2 || std::filesystem::exists(argv[1])) {
    std::fprintf(stderr, "usage: make_trace_part FOLDER (which must not exist)\n");
    return 2;
  }
  std::filesystem::create_directory(argv[1]);
  const auto files = kprof::MakePosixFiles();
  auto part = kprof::PartWriter::Create(*files, std::string(argv[1]) + "/example.trace.db");
  kprof::Require(part.status());
  kprof::AddNames(**part);
  kprof::AddSlices(**part);
  kprof::AddOthers(**part);
  kprof::AddSideTables(**part);
  kprof::Require((*part)->SetFact("base_unix_ns", int64_t{1'750'000'000'000'000'000}));
  kprof::Require((*part)->SetFact("clock", "unix"));
  kprof::Require((*part)->SetFact("source_format", "made up"));
  kprof::Require((*part)->Finish({}).status());
  return 0;
}
