// Parts that lie, whose checksums are right: every question about them, in SQL, by the operators behind SQL's
// functions, and every export, is answered or fails; nothing worse.
//
// Input: as changed_parts.h takes it, of a part with events of every kind.
#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "daemon/analysis/sql/table_functions.h"
#include "daemon/exports/trace_export.h"
#include "storage/trace/read/metric_table.h"
#include "storage/trace/read/part_pool.h"
#include "storage/trace_sql/trace_set.h"
#include "storage/trace_sql/trace_tables.h"
#include "tests/fuzz/changed_parts.h"
#include "tests/fuzz/every_kind.h"

namespace kprof {
namespace {

constexpr const char* kQuestions[] = {
    "SELECT * FROM slice",
    "SELECT * FROM instant",
    "SELECT * FROM counter",
    "SELECT * FROM flow",
    "SELECT * FROM flow_point",
    "SELECT * FROM metadata",
    "SELECT * FROM track",
    "SELECT * FROM trace",
    "SELECT * FROM metric",
    "SELECT kernel, name, sum(value) FROM metric WHERE launch BETWEEN 3 AND 20 AND kernel LIKE '%mm' GROUP BY 1, 2",
    "SELECT * FROM lines",
    "SELECT file, line, sum(share) FROM lines WHERE file = 'gemm' OR line IN (1, 5, 7) GROUP BY 1, 2",
    "SELECT name, count(*) FROM slice WHERE ts_ns BETWEEN 100 AND 400 GROUP BY name",
    "SELECT count(*) FROM slice a JOIN slice b USING (correlation)",
    "SELECT count(*) FROM slice a JOIN slice b ON b.parent_id = a.id",
    "SELECT * FROM sum_by('name')",
    "SELECT * FROM sum_by('track', 'category') WHERE from_ns = 100 AND to_ns = 400",
    "SELECT * FROM busy('track')",
    "SELECT * FROM gaps('track')",
    "SELECT * FROM overlap('category=kernel', 'category=cpu_op')",
    "SELECT * FROM self_time('name')",
    "SELECT * FROM histogram(20, 0, 50)",
    "SELECT * FROM tiles(100)",
    "SELECT * FROM counter_tiles(100)",
    "SELECT * FROM instant_tiles(100)",
    "SELECT * FROM correlated('category=cpu_op', 'category=kernel')",
    "SELECT * FROM correlated()",
};

void AskAll(const std::string& path) {
  ColumnCache cache(1 << 20);
  PartPool pool(cache);
  TraceSet set(pool);
  if (!set.Add({"r", "x", path, {}}).ok()) return;
  sqlite3* db = nullptr;
  KPROF_CHECK(sqlite3_open(":memory:", &db) == SQLITE_OK);
  KPROF_CHECK(RegisterTraceTables(db, set).ok() && RegisterTraceFunctions(db, set).ok());
  for (const char* sql : kQuestions) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(db, sql, -1, &statement, nullptr) != SQLITE_OK) continue;
    while (sqlite3_step(statement) == SQLITE_ROW) {
      for (int column = 0; column < sqlite3_column_count(statement); ++column) sqlite3_column_blob(statement, column);
    }
    sqlite3_finalize(statement);
  }
  sqlite3_close_v2(db);
}

void SumMetrics(const std::string& path) {
  ColumnCache cache(1 << 20);
  const Result<std::unique_ptr<PartReader>> reader = PartReader::Open(path, cache);
  if (reader.ok()) (void)SumKernelMetrics(**reader, {.most_kernels = 2, .most_names = 2});
}

void ExportAll(const std::string& path) {
  for (const ExportFormat& format : ExportFormats()) {
    ColumnCache cache(1 << 20);
    const Result<std::unique_ptr<PartReader>> reader = PartReader::Open(path, cache);
    if (!reader.ok()) return;
    const ExportPart part{.reader = reader->get()};
    (void)format.write({&part, 1}, [](std::string_view) { return OkStatus(); }, {});
  }
}

}  // namespace
}  // namespace kprof

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kprof;
  static const ChangedParts parts(WriteEveryKind);
  FuzzBytes input(data, size);
  if (!parts.Make(input)) return 0;
  AskAll(parts.path());
  SumMetrics(parts.path());
  ExportAll(parts.path());
  return 0;
}
