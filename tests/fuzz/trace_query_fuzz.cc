// Any SQL at all over the traces of two runs: it is answered or refused, within its limits, and a sound part is never
// called broken.
//
// Seeds: those of tests/sql/trace; words: trace_query_fuzz.dict.

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "storage/catalog/schema.h"
#include "storage/db.h"
#include "storage/sandbox/user_query.h"
#include "storage/trace/part_writer.h"
#include "storage/trace_sql/query_traces.h"
#include "tests/fakes/base/temporary_folder.h"

namespace kprof {
namespace {

constexpr Viewer kViewer{.uid = 1000};
const QueryLimits kLimits{.timeout_ms = 1500, .row_limit = 200, .temp_bytes = 8 << 20, .memory_bytes = 48 << 20};

void Require(bool condition, const char* what, const std::string& detail) {
  if (condition) return;
  std::fprintf(stderr, "%s\n%s\n", what, detail.c_str());
  std::abort();
}

void Require(const Status& status) {
  Require(status.ok(), "cannot make a part", status.ToString());
}

// Slices within slices on two tracks, with arguments, flows and metadata.
void WritePart(const std::string& path) {
  const std::unique_ptr<Files> files = MakePosixFiles();
  auto created = PartWriter::Create(*files, path);
  Require(created.status());
  PartWriter& part = **created;
  const char* strings[] = {"", "gemm", "aten::mm", "kernel", "cpu_op", "bytes", "1", "ac2g", "\xff\"", "key \"q\""};
  uint32_t number = 0;
  for (const char* text : strings) Require(part.AddString(number++, text));
  Require(part.AddTrack({.id = 0, .kind = "cpu_thread", .name = "python"}));
  Require(part.AddTrack({.id = 1, .kind = "gpu_stream", .name = "stream 7", .device = 0, .stream = 7}));
  Require(part.AddShape(1, {{5, ArgType::kInteger, false}, {9, ArgType::kString, false}}));
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
    for (size_t i = 0; i < maker.segments(); ++i) Require(part.AddSegment(maker.Encode(i)));
  }
  Require(part.Finish({}).status());
}

class Trace {
 public:
  Trace() {
    Result<Db> db = Db::Open(catalog(), {.mode = Db::Mode::kReadWrite});
    Require(db.ok() && MigrateCatalog(*db).ok(), "cannot make a catalog", folder_.path());
    WritePart(folder_ / "a.trace.db");
  }
  std::string catalog() const { return folder_ / "catalog.db"; }

  // The rows, or the failure.
  std::string Ask(const std::string& sql) {
    const std::vector<TracePlace> places = {{"r1", "a", folder_ / "a.trace.db", 0},
                                            {"r2", "a", folder_ / "a.trace.db", {}}};
    auto query = UserQuery::Open(catalog(), kViewer, sql, kLimits, {}, std::make_unique<QueryTraces>(places, pool_));
    if (!query.ok()) return "failed: " + query.status().ToString();
    std::string text;
    while (true) {
      auto batch = (*query)->NextBatch();
      if (!batch.ok()) return "failed: " + batch.status().ToString();
      if (!batch->has_value()) return text;
      for (const auto& column : (*batch)->columns) {
        for (const SqlValue& value : column) {
          text += std::to_string(value.index());
        }
      }
    }
  }

 private:
  TemporaryFolder folder_;
  ColumnCache cache_{1 << 20};
  PartPool pool_{cache_};
};

}  // namespace
}  // namespace kprof

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static kprof::Trace trace;
  const std::string sql(reinterpret_cast<const char*>(data), size);
  const std::string answer = trace.Ask(sql);
  kprof::Require(answer.find("storage_broken") == std::string::npos && answer.find("checksum") == std::string::npos,
                 "a sound part is called broken by", sql + "\n" + answer);
  return 0;
}
