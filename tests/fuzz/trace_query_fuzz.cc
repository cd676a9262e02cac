// Any SQL at all over the traces of two runs: it is answered or refused, within its limits, and a sound part is never
// called broken.
//
// Seeds: those of tests/sql/trace; words: trace_query_fuzz.dict.

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "storage/catalog/catalog_schema.h"
#include "storage/db/db.h"
#include "storage/sandbox/user_query.h"
#include "storage/trace_sql/attach/query_traces.h"
#include "tests/fakes/base/temporary_folder.h"
#include "tests/fuzz/every_kind.h"

namespace kprof {
namespace {

constexpr Viewer kTraceViewer{.uid = 1000};
const QueryLimits kTraceLimits{.timeout_ms = 1500, .row_limit = 200, .temp_bytes = 8 << 20, .memory_bytes = 48 << 20};

class Trace {
 public:
  Trace() {
    Result<Db> db = Db::Open(catalog(), {.mode = Db::Mode::kReadWrite});
    KPROF_CHECK(db.ok() && MakeCatalog(*db).ok());
    WriteEveryKind(folder_ / "a.trace.db");
  }
  std::string catalog() const { return folder_ / "catalog.db"; }

  // The rows, or the failure.
  std::string Ask(const std::string& sql) {
    const std::vector<TracePlace> places = {{"r1", "a", folder_ / "a.trace.db", 0},
                                            {"r2", "a", folder_ / "a.trace.db", {}}};
    auto query =
        UserQuery::Open(catalog(), kTraceViewer, sql, kTraceLimits, {}, std::make_unique<QueryTraces>(places, pool_));
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
  const auto tells = [&](const char* word) {  // unless it quotes it
    return answer.find(word) != std::string::npos && sql.find(word) == std::string::npos;
  };
  if (tells("storage_broken") || tells("checksum")) {
    std::fprintf(stderr, "a sound part is called broken by\n%s\n%s\n", sql.c_str(), answer.c_str());
    std::abort();
  }
  return 0;
}
