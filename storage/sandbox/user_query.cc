#include "storage/sandbox/user_query.h"

#include <sqlite3.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <cmath>
#include <cstring>
#include <string_view>
#include <utility>

#include "storage/base/files.h"
#include "storage/base/readable_text.h"
#include "storage/db/db.h"
#include "storage/sandbox/authorizer.h"
#include "storage/sandbox/bounded_functions.h"
#include "storage/sandbox/catalog_module.h"
#include "storage/sandbox/catalog_tables.h"
#include "storage/sandbox/memory_quota.h"
#include "storage/sandbox/sql_words.h"
#include "storage/sandbox/temp_space.h"
#include "storage/sandbox/work_budget.h"

namespace kprof {
namespace {

constexpr int kStepsPerClockReading = 100;          // of SQLite's machine, for user SQL: some are long
constexpr int kCatalogStepsPerClockReading = 1000;  // for ours
constexpr int64_t kCacheBytes = 2 << 20;            // also what a sort holds before it goes to disk
constexpr int64_t kCatalogCacheBytes = 1 << 20;
constexpr int64_t kLongestBusyMs = 5000;

struct CloseConnection {
  void operator()(sqlite3* db) const { sqlite3_close_v2(db); }
};
struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Connection = std::unique_ptr<sqlite3, CloseConnection>;
using PreparedStatement = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;

int IsSpent(void* budget) noexcept {
  return static_cast<WorkBudget*>(budget)->IsSpent() ? 1 : 0;
}

int ClampToInt(int64_t value) {
  return static_cast<int>(std::clamp<int64_t>(value, 0, INT_MAX));
}

struct Setting {
  int which;
  int value;
};

// No extensions, nothing of the schema trusted, no text in double quotes: "nmae" is a mistake, not a string.
constexpr Setting kSwitches[] = {
    {SQLITE_DBCONFIG_DEFENSIVE, 1},
    {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
    {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
    {SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0},
    {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
    {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
    {SQLITE_DBCONFIG_DQS_DML, 0},
    {SQLITE_DBCONFIG_DQS_DDL, 0},
};

constexpr Setting kLimits[] = {
    {SQLITE_LIMIT_COLUMN, 500},      {SQLITE_LIMIT_EXPR_DEPTH, 200},   {SQLITE_LIMIT_COMPOUND_SELECT, 50},
    {SQLITE_LIMIT_VDBE_OP, 250'000}, {SQLITE_LIMIT_FUNCTION_ARG, 64},  {SQLITE_LIMIT_ATTACHED, 0},
    {SQLITE_LIMIT_TRIGGER_DEPTH, 1}, {SQLITE_LIMIT_WORKER_THREADS, 0}, {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 10'000},
};

int SwitchOff(sqlite3* db) {
  int result = SQLITE_OK;
  for (const Setting& setting : kSwitches) {
    if (result == SQLITE_OK) result = sqlite3_db_config(db, setting.which, setting.value, nullptr);
  }
  const char* kept[] = {"json_each", "json_tree", nullptr};
  if (result == SQLITE_OK) result = sqlite3_drop_modules(db, kept);
  return result;
}

void Limit(sqlite3* db, const QueryLimits& limits) {
  for (const Setting& setting : kLimits) sqlite3_limit(db, setting.which, setting.value);
  sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, ClampToInt(limits.sql_bytes));
  sqlite3_limit(db, SQLITE_LIMIT_LENGTH, ClampToInt(limits.value_bytes));
}

// Connects json_each and json_tree: declaring a virtual table is something that the authorizer would refuse.
constexpr const char* kPrepareConnection =
    "PRAGMA temp_store = FILE;"
    "SELECT 1 FROM json_each('[]') UNION ALL SELECT 1 FROM json_tree('[]');"
    "PRAGMA query_only = ON;";

// A table is connected at its first use, and stays so. Declaring it is something that the authorizer would refuse.
Status ConnectTables(sqlite3* db, const SqlWords& words, const GuestTables* guests) {
  const auto connect = [db, &words](std::string_view name) {
    if (!words.Has(name)) return OkStatus();
    sqlite3_stmt* statement = nullptr;
    const std::string first_use = "SELECT 1 FROM \"" + std::string(name) + "\"";
    const int result = sqlite3_prepare_v2(db, first_use.c_str(), -1, &statement, nullptr);
    sqlite3_finalize(statement);
    return result == SQLITE_OK ? OkStatus() : FailSqlite(db, result, "offer table " + std::string(name));
  };
  for (const CatalogTable& table : CatalogTables()) RETURN_IF_ERROR(connect(table.name));
  for (const GuestTable& table : guests != nullptr ? guests->tables() : std::span<const GuestTable>()) {
    RETURN_IF_ERROR(connect(table.name));
  }
  return OkStatus();
}

Status CheckText(const std::string& sql, const QueryLimits& limits) {
  if (static_cast<int64_t>(sql.size()) > limits.sql_bytes) {
    return Fail(
        ErrorCode::kUsage, "query",
        "it has " + std::to_string(sql.size()) + " bytes, over the limit of " + std::to_string(limits.sql_bytes),
        "make it shorter");
  }
  if (sql.find('\0') != std::string::npos) return Fail(ErrorCode::kUsage, "query", "there is a zero byte in it");
  if (!IsUtf8(sql)) return Fail(ErrorCode::kUsage, "query", "it is not UTF-8", "write other bytes as x'..' literals");
  return OkStatus();
}

}  // namespace

int64_t QueryLimits::LongestHoldMs() const {
  constexpr int64_t kShortestHoldMs = 60'000;
  constexpr int64_t kLongestTimeoutMs = int64_t{365} * 24 * 3600 * 1000;
  return hold_ms.value_or(std::max(kShortestHoldMs, 2 * std::min(timeout_ms, kLongestTimeoutMs)));
}

struct UserQuery::State {
  State(const std::string& catalog_path, std::string sql_text, const QueryLimits& query_limits, std::stop_token stop,
        std::unique_ptr<GuestTables> guest_tables)
      : limits(query_limits),
        sql(std::move(sql_text)),
        guests(std::move(guest_tables)),
        budget(limits.timeout_ms, std::move(stop), limits.long_work),
        memory(limits.memory_bytes, budget),
        temp(FolderOf(catalog_path), limits.temp_bytes),
        authorizer(budget, guests.get()) {}

  ~State() {
    MemoryQuota::Scope scope(memory);
    Close();
  }

  // Frees the connections, and with them the read transaction.
  void Close() {
    statement.reset();
    user.reset();
    guests.reset();
    module.reset();
    catalog.reset();
  }

  Status OpenCatalog(const std::string& path, const Viewer& viewer);
  Status OpenUser();
  Status Prepare();
  Status CheckOneStatement(const char* tail);
  Status ReadNames();
  Result<std::optional<RowBatch>> ReadBatch();
  Status AppendRow(RowBatch& batch, int64_t& batch_bytes);
  Status CheckHold();
  Status Failure(int result);

  const QueryLimits limits;
  const std::string sql;
  std::unique_ptr<GuestTables> guests;  // or null
  WorkBudget budget;
  MemoryQuota memory;
  TempSpace temp;
  Authorizer authorizer;
  std::optional<Db> catalog;
  std::unique_ptr<CatalogModule> module;
  Connection user;
  PreparedStatement statement;

  std::vector<std::string> names;
  int64_t rows = 0;
  bool at_end = false;
  bool truncated = false;
  std::optional<std::chrono::steady_clock::time_point> first_row_at;  // from then on the catalog is held as it was
  Status failure;
};

Status UserQuery::State::OpenCatalog(const std::string& path, const Viewer& viewer) {
  Db::Options options;
  options.mode = Db::Mode::kReadOnly;
  options.cache_bytes = kCatalogCacheBytes;
  options.busy_timeout_ms = ClampToInt(std::min(limits.timeout_ms / 2, kLongestBusyMs));
  ASSIGN_OR_RETURN(catalog, Db::Open(path, options));
  sqlite3_progress_handler(catalog->handle(), kCatalogStepsPerClockReading, IsSpent, &budget);
  // So that all tables are read as of one moment.
  RETURN_IF_ERROR(catalog->Execute("BEGIN"));
  module = std::make_unique<CatalogModule>(*catalog, viewer);
  return OkStatus();
}

Status UserQuery::State::OpenUser() {
  sqlite3* db = nullptr;
  int result = sqlite3_open_v2(":memory:", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
                               temp.vfs_name());
  user.reset(db);
  if (result == SQLITE_OK) result = SwitchOff(db);
  if (result == SQLITE_OK) result = RegisterBoundedFunctions(db, budget);
  if (result == SQLITE_OK) {
    const std::string cache = "PRAGMA cache_size = -" + std::to_string(kCacheBytes / 1024);
    result = sqlite3_exec(db, cache.c_str(), nullptr, nullptr, nullptr);
  }
  if (result == SQLITE_OK) result = sqlite3_exec(db, kPrepareConnection, nullptr, nullptr, nullptr);
  if (result == SQLITE_NOMEM) return Failure(result);
  if (result != SQLITE_OK) return FailSqlite(db, result, "set up a connection");
  const SqlWords words(sql);
  RETURN_IF_ERROR(module->Offer(db, words, guests.get()));
  if (guests != nullptr) RETURN_IF_ERROR(guests->Offer({db, words, budget, memory, &*catalog}));
  RETURN_IF_ERROR(ConnectTables(db, words, guests.get()));
  Limit(db, limits);
  sqlite3_progress_handler(db, kStepsPerClockReading, IsSpent, &budget);
  authorizer.Guard(db);
  return OkStatus();
}

Status UserQuery::State::Prepare() {
  if (guests != nullptr) RETURN_IF_ERROR(guests->Study(user.get(), sql));
  authorizer.BeginStatement();
  sqlite3_stmt* prepared = nullptr;
  const char* tail = nullptr;
  const int result = sqlite3_prepare_v3(user.get(), sql.c_str(), static_cast<int>(sql.size()) + 1,
                                        SQLITE_PREPARE_PERSISTENT, &prepared, &tail);
  statement.reset(prepared);
  if (result != SQLITE_OK) return Failure(result);
  if (statement == nullptr) {
    return Fail(ErrorCode::kUsage, "query", "there is no statement in it", "write one SELECT; see docs/sql.md");
  }
  RETURN_IF_ERROR(CheckOneStatement(tail));
  if (sqlite3_stmt_isexplain(prepared) == 1) {
    return NotAllowed("EXPLAIN (but EXPLAIN QUERY PLAN)", guests.get());
  }
  // VACUUM, for one, is not brought before the authorizer.
  if (sqlite3_stmt_readonly(prepared) == 0 || sqlite3_column_count(prepared) == 0) {
    return NotAllowed(kAllElse, guests.get());
  }
  if (sqlite3_bind_parameter_count(prepared) > 0) {
    return Fail(ErrorCode::kUsage, "query", "it has parameters", "write the values into the SQL");
  }
  return ReadNames();
}

// SQLite prepares the first statement and leaves the rest; only semicolons and comments may be there.
Status UserQuery::State::CheckOneStatement(const char* tail) {
  while (*tail != '\0') {
    sqlite3_stmt* next = nullptr;
    const char* before = tail;
    const int result = sqlite3_prepare_v2(user.get(), tail, -1, &next, &tail);
    sqlite3_finalize(next);
    if (result != SQLITE_OK || next != nullptr) {
      return Fail(ErrorCode::kUsage, "query", "there is more than one statement in it", "send them one by one");
    }
    if (tail == before) break;
  }
  return OkStatus();
}

Status UserQuery::State::ReadNames() {
  for (int i = 0; i < sqlite3_column_count(statement.get()); ++i) {
    const char* name = sqlite3_column_name(statement.get(), i);
    if (name == nullptr) return Failure(SQLITE_NOMEM);
    names.push_back(ReadableText(name));
  }
  return OkStatus();
}

// The time of its work has a limit of its own; this is that of whoever reads.
Status UserQuery::State::CheckHold() {
  if (at_end) return OkStatus();
  const auto now = std::chrono::steady_clock::now();
  if (!first_row_at.has_value()) {
    first_row_at = now;
    return OkStatus();
  }
  const int64_t limit_ms = limits.LongestHoldMs();
  if (now - *first_row_at < std::chrono::milliseconds(limit_ms)) return OkStatus();
  return Fail(ErrorCode::kTimedOut, "query",
              "its rows were not all read within " + std::to_string(limit_ms) + " ms, and the catalog cannot be kept " +
                  "as it was for longer",
              "read faster, ask for fewer rows, or raise the time limit");
}

Result<std::optional<RowBatch>> UserQuery::State::ReadBatch() {
  RETURN_IF_ERROR(CheckHold());
  RowBatch batch;
  batch.columns.resize(names.size());
  int64_t batch_bytes = 0;
  while (!at_end && batch.rows < std::max<int64_t>(limits.batch_rows, 1) &&
         (batch.rows == 0 || batch_bytes < limits.batch_bytes)) {
    // A query of many short rows reaches SQLite's own clock reading seldom.
    if (budget.IsSpent()) return Failure(SQLITE_INTERRUPT);
    const int result = sqlite3_step(statement.get());
    if (result == SQLITE_ROW && rows < limits.row_limit) {
      RETURN_IF_ERROR(AppendRow(batch, batch_bytes));
      ++rows;
      continue;
    }
    if (result != SQLITE_ROW && result != SQLITE_DONE) return Failure(result);
    truncated = result == SQLITE_ROW;
    at_end = true;
    Close();
  }
  if (batch.rows == 0) return std::optional<RowBatch>();
  return std::optional<RowBatch>(std::move(batch));
}

Status UserQuery::State::AppendRow(RowBatch& batch, int64_t& batch_bytes) {
  sqlite3_stmt* row = statement.get();
  int64_t row_bytes = 0;
  for (size_t i = 0; i < names.size(); ++i) {
    const int column = static_cast<int>(i);
    SqlValue value;
    switch (sqlite3_column_type(row, column)) {
      case SQLITE_INTEGER:
        value = int64_t{sqlite3_column_int64(row, column)};
        break;
      case SQLITE_FLOAT:
        value = sqlite3_column_double(row, column);
        break;
      case SQLITE_TEXT: {
        const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(row, column));
        if (text == nullptr) return Failure(SQLITE_NOMEM);
        std::string readable = ReadableText({text, static_cast<size_t>(sqlite3_column_bytes(row, column))});
        row_bytes += static_cast<int64_t>(readable.size());
        value = std::move(readable);
        break;
      }
      case SQLITE_BLOB: {
        // SQLite gives a null pointer for an empty blob.
        const auto* bytes = static_cast<const char*>(sqlite3_column_blob(row, column));
        const auto size = static_cast<size_t>(sqlite3_column_bytes(row, column));
        if (bytes == nullptr && size > 0) return Failure(SQLITE_NOMEM);
        value = SqlBytes{bytes == nullptr ? std::string() : std::string(bytes, size)};
        row_bytes += static_cast<int64_t>(size);
        break;
      }
      default:
        break;
    }
    row_bytes += 8;
    if (row_bytes > limits.value_bytes) return Failure(SQLITE_TOOBIG);
    batch.columns[i].push_back(std::move(value));
  }
  batch_bytes += row_bytes;
  ++batch.rows;
  return OkStatus();
}

// Why it failed, the deepest cause first: SQLite's code may only be the echo of ours.
Status UserQuery::State::Failure(int result) {
  const std::string what = "query";
  if (budget.verdict() == WorkBudget::Verdict::kCancelled) return Fail(ErrorCode::kCancelled, what, "it was cancelled");
  if (budget.verdict() == WorkBudget::Verdict::kTimedOut) {
    return Fail(ErrorCode::kTimedOut, what,
                "it worked longer than its time limit of " + std::to_string(limits.timeout_ms) + " ms",
                "ask for less, or raise the limit");
  }
  if (budget.verdict() == WorkBudget::Verdict::kCrowded) {
    return Fail(ErrorCode::kQueueFull, what, "too many long queries are running", "try again in a moment");
  }
  if (!authorizer.refusal().ok()) return authorizer.refusal();
  switch (result & 0xff) {
    case SQLITE_NOMEM:
      if (memory.exceeded()) {
        return Fail(ErrorCode::kUsage, what,
                    "it needs more than " + std::to_string(limits.memory_bytes) + " bytes of memory",
                    "make it shorter, or its values smaller");
      }
      if (memory.crowded()) {
        return Fail(
            ErrorCode::kQueueFull, what,
            "all queries together need more than " + std::to_string(MemoryQuota::kAllQuotasBytes) + " bytes of memory",
            "try again in a moment");
      }
      return Fail(ErrorCode::kUsage, what, "it is too complex, or memory ran out", "make it shorter");
    case SQLITE_TOOBIG:
      return Fail(ErrorCode::kUsage, what,
                  "a value or a row has more than " + std::to_string(limits.value_bytes) + " bytes",
                  "select less of it, with substr() for example");
    case SQLITE_FULL:
      if (temp.exceeded()) {
        return Fail(ErrorCode::kStorageFull, what,
                    "it needs more than " + std::to_string(limits.temp_bytes) + " bytes of temporary space",
                    "sort or group fewer rows, or fewer columns of them");
      }
      return Fail(ErrorCode::kStorageFull, what, "no space for temporary files in " + temp.folder(),
                  "free space on that file system");
    default:
      break;
  }
  if (module != nullptr && !module->status().ok()) return module->status().In(what);
  if (guests != nullptr && !guests->status().ok()) return guests->status().In(what);
  switch (result & 0xff) {
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
      return Fail(ErrorCode::kStorageBroken, what,
                  "cannot use temporary files in " + temp.folder() + " (" + sqlite3_errstr(result) + ")",
                  "see that kprofd may write there");
    default:
      break;
  }
  // SQLite finds out that virtual tables cannot be changed before it asks the authorizer.
  const std::string_view words = sqlite3_errmsg(user.get());
  if (words.find(" may not be ") != std::string_view::npos || words.starts_with("cannot create trigger")) {
    return NotAllowed(kAllElse, guests.get());
  }
  return SqlError(user.get(), sql, guests.get());
}

Result<std::unique_ptr<UserQuery>> UserQuery::Open(const std::string& catalog_path, const Viewer& viewer,
                                                   const std::string& sql, const QueryLimits& limits,
                                                   std::stop_token stop, std::unique_ptr<GuestTables> guests) {
  RETURN_IF_ERROR(CheckText(sql, limits));
  if (!MemoryQuota::IsInstalled()) {
    return Fail(ErrorCode::kInternal, "query", "SQLite was set up before its memory could be bounded");
  }
  std::unique_ptr<UserQuery> query(
      new UserQuery(std::make_unique<State>(catalog_path, sql, limits, std::move(stop), std::move(guests))));
  State& state = *query->state_;
  MemoryQuota::Scope scope(state.memory);
  WorkBudget::Shift shift(state.budget);
  if (state.budget.IsSpent()) return state.Failure(SQLITE_INTERRUPT);
  Status status = state.OpenCatalog(catalog_path, viewer);
  if (status.ok()) status = state.OpenUser();
  if (!status.ok()) {
    return state.budget.IsSpent()     ? state.Failure(SQLITE_INTERRUPT)
           : status.what() == "query" ? status
                                      : status.In("query");
  }
  RETURN_IF_ERROR(state.Prepare());
  return query;
}

UserQuery::UserQuery(std::unique_ptr<State> state) : state_(std::move(state)) {}
UserQuery::~UserQuery() = default;

const std::vector<std::string>& UserQuery::column_names() const {
  return state_->names;
}

Result<std::optional<RowBatch>> UserQuery::NextBatch() {
  if (!state_->failure.ok()) return state_->failure;
  MemoryQuota::Scope scope(state_->memory);
  WorkBudget::Shift shift(state_->budget);
  Result<std::optional<RowBatch>> batch = state_->ReadBatch();
  if (!batch.ok()) {
    state_->failure = batch.status();
    state_->Close();
  }
  return batch;
}

int64_t UserQuery::rows() const {
  return state_->rows;
}
bool UserQuery::truncated() const {
  return state_->truncated;
}
double UserQuery::elapsed_ms() const {
  return state_->budget.elapsed_ms();
}

}  // namespace kprof
