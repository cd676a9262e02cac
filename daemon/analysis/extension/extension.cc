// The tables and functions of traces, those of all analyses among them, for any program with SQLite: `.load
// kprof_trace`. Where the database is itself a part, its tables are there at once; trace_open(path) and
// trace_open(path, run) add others. docs/sql.md.
//
// Who loads it has the rights of who runs it: nothing here is a fence.

#include <memory>
#include <string>
#include <string_view>

#include "daemon/analysis/sql/table_functions.h"
#include "storage/db/layout.h"
#include "storage/trace/format/part_schema.h"
#include "storage/trace/read/column_cache.h"
#include "storage/trace/read/part_pool.h"
#include "storage/trace_sql/trace_tables.h"

extern "C" {
const sqlite3_api_routines* sqlite3_api = nullptr;
}

namespace kprof {
namespace {

constexpr int64_t kCacheBytes = int64_t{256} << 20;

// Of one connection; goes with its function trace_open.
struct Loaded {
  ColumnCache cache{kCacheBytes};
  PartPool pool{cache, {.most_idle = 0}};
  TraceSet set{pool};
};

std::string NameOf(std::string_view path) {
  std::string_view name = path.substr(path.rfind('/') + 1);
  if (name.ends_with(kTracePartEnding)) name.remove_suffix(kTracePartEnding.size());
  return std::string(name);
}

std::string TextOf(sqlite3_value* value) {
  const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(value));
  return text == nullptr ? std::string() : std::string(text, static_cast<size_t>(sqlite3_value_bytes(value)));
}

// Gives the number of parts there are.
void TraceOpen(sqlite3_context* context, int count, sqlite3_value** args) noexcept {
  TraceSet& set = static_cast<Loaded*>(sqlite3_user_data(context))->set;
  const std::string path = TextOf(args[0]);
  const Status added = set.Add({count > 1 ? TextOf(args[1]) : NameOf(path), NameOf(path), path, {}});
  if (!added.ok()) return sqlite3_result_error(context, added.ToString().c_str(), -1);
  sqlite3_result_int64(context, static_cast<int64_t>(set.parts().size()));
}

bool IsPart(sqlite3* db) {
  sqlite3_stmt* statement = nullptr;
  bool is_part = false;
  if (sqlite3_prepare_v2(db, "SELECT 1 FROM fact, segment_column LIMIT 0", -1, &statement, nullptr) == SQLITE_OK) {
    is_part = sqlite3_step(statement) == SQLITE_DONE;
  }
  sqlite3_finalize(statement);
  return is_part;
}

void Forget(void* loaded) {
  delete static_cast<Loaded*>(loaded);
}

Status Load(sqlite3* db) {
  auto* loaded = new Loaded();
  for (const int arguments : {1, 2}) {
    // The first registration owns it.
    const int result = sqlite3_create_function_v2(db, "trace_open", arguments, SQLITE_UTF8 | SQLITE_DIRECTONLY, loaded,
                                                  TraceOpen, nullptr, nullptr, arguments == 1 ? &Forget : nullptr);
    if (result != SQLITE_OK) return Fail(ErrorCode::kInternal, "load kprof_trace", sqlite3_errmsg(db));
  }
  const char* path = sqlite3_db_filename(db, "main");
  if (path != nullptr && *path != '\0' && IsPart(db)) {
    RETURN_IF_ERROR(loaded->set.Add({NameOf(path), NameOf(path), path, {}}));
  }
  RETURN_IF_ERROR(RegisterTraceTables(db, loaded->set));
  return RegisterTraceFunctions(db, loaded->set);
}

}  // namespace
}  // namespace kprof

extern "C" __attribute__((visibility("default"))) int sqlite3_kproftrace_init(sqlite3* db, char** error,
                                                                              const sqlite3_api_routines* api) {
  sqlite3_api = api;
  const kprof::Status loaded = kprof::Load(db);
  if (loaded.ok()) return SQLITE_OK;
  *error = sqlite3_mprintf("%s", loaded.ToString().c_str());
  return SQLITE_ERROR;
}
