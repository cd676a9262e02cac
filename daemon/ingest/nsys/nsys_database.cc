#include "daemon/ingest/nsys/nsys_database.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace kprof {
namespace {

struct KnownTarget {
  std::string_view table;  // empty: any
  std::string_view column;
  std::string_view target;
};

constexpr KnownTarget kKnown[] = {
    {"", "demangledName", "StringIds"},
    {"", "shortName", "StringIds"},
    {"", "mangledName", "StringIds"},
    {"", "nameId", "StringIds"},
    {"", "textId", "StringIds"},
    {"", "jsonTextId", "StringIds"},  // no comment says so
    {"", "apiCallId", "StringIds"},
    {"", "symbol", "StringIds"},
    {"", "module", "StringIds"},
    {"", "launchType", "ENUM_CUDA_KERNEL_LAUNCH_TYPE"},
    {"", "cacheConfig", "ENUM_CUDA_FUNC_CACHE_CONFIG"},
    {"", "sharedMemoryLimitConfig", "ENUM_CUDA_SHARED_MEM_LIMIT_CONFIG"},
    {"", "copyKind", "ENUM_CUDA_MEMCPY_OPER"},
    {"", "srcKind", "ENUM_CUDA_MEM_KIND"},
    {"", "dstKind", "ENUM_CUDA_MEM_KIND"},
    {"", "memKind", "ENUM_CUDA_MEM_KIND"},
    {"", "migrationCause", "ENUM_CUDA_UNIF_MEM_MIGRATION"},
    {"", "syncType", "ENUM_CUPTI_SYNC_TYPE"},
    {"", "deprecatedSyncType", "ENUM_CUPTI_SYNC_TYPE"},
    {"", "overheadType", "ENUM_CUPTI_OVERHEAD_TYPE"},
    {"", "eventClass", "ENUM_NSYS_EVENT_CLASS"},
    {"", "threadState", "ENUM_SAMPLING_THREAD_STATE"},
    {"", "threadBlock", "ENUM_SCHEDULING_THREAD_BLOCK"},
    {"", "unwindMethod", "ENUM_STACK_UNWIND_METHOD"},
    {"NVTX_EVENTS", "eventType", "ENUM_NSYS_EVENT_TYPE"},
    {"OSRT_FILE_ACCESS_EVENTS", "eventType", "ENUM_OSRT_FILE_ACCESS_EVENT_TYPE"},
    {"DIAGNOSTIC_EVENT", "timestampType", "ENUM_DIAGNOSTIC_TIMESTAMP_SOURCE"},
    {"DIAGNOSTIC_EVENT", "source", "ENUM_DIAGNOSTIC_SOURCE_TYPE"},
    {"DIAGNOSTIC_EVENT", "severity", "ENUM_DIAGNOSTIC_SEVERITY_LEVEL"},
    {"TARGET_INFO_CUDA_STREAM", "flag", "ENUM_CUPTI_STREAM_TYPE"},
    {"CUPTI_ACTIVITY_KIND_RUNTIME", "callchainId", "CUDA_CALLCHAINS"},
    {"OSRT_API", "callchainId", "OSRT_CALLCHAINS"},
};

bool IsNameByte(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

std::string_view TakeName(std::string_view text) {
  size_t size = 0;
  while (size < text.size() && IsNameByte(text[size])) ++size;
  return text.substr(0, size);
}

bool IsTarget(std::string_view name) {
  return name == kStringTable || name.starts_with(kEnumPrefix) || name.ends_with(kCallchainEnding);
}

}  // namespace

ColumnTargets::ColumnTargets(std::string_view table, std::string_view sql) : table_(table) {
  constexpr std::string_view kReferences = "REFERENCES ";
  // One column a line, as the tool writes them.
  while (!sql.empty()) {
    const size_t line_size = sql.find('\n');
    std::string_view line = sql.substr(0, line_size);
    sql.remove_prefix(line_size == sql.npos ? sql.size() : line_size + 1);
    const size_t begin = line.find_first_not_of(" \t\"`[");
    const size_t comment = line.find("--");
    const size_t reference = comment == line.npos ? line.npos : line.find(kReferences, comment);
    if (reference == line.npos || begin >= comment) continue;
    const std::string_view target = TakeName(line.substr(reference + kReferences.size()));
    if (IsTarget(target)) of_comments_.emplace(TakeName(line.substr(begin)), target);
  }
}

std::string ColumnTargets::Of(std::string_view column) const {
  const auto found = of_comments_.find(column);
  if (found != of_comments_.end()) return found->second;
  for (const KnownTarget& known : kKnown) {
    if (known.column == column && (known.table.empty() || known.table == table_)) return std::string(known.target);
  }
  return {};
}

namespace {

constexpr int kMostValueBytes = 16 << 20;
constexpr size_t kMostTables = 1000;
constexpr size_t kMostNameBytes = 100;
constexpr size_t kMostColumns = 250;
// A row of a table is at least a cell of so many bytes and its pointer.
constexpr int64_t kLeastRowBytes = 5;

struct Limit {
  int what;
  int most;
};
constexpr Limit kLimits[] = {
    {SQLITE_LIMIT_LENGTH, kMostValueBytes}, {SQLITE_LIMIT_SQL_LENGTH, 1 << 18}, {SQLITE_LIMIT_COLUMN, 1000},
    {SQLITE_LIMIT_EXPR_DEPTH, 20},          {SQLITE_LIMIT_COMPOUND_SELECT, 2},  {SQLITE_LIMIT_VDBE_OP, 20000},
    {SQLITE_LIMIT_FUNCTION_ARG, 8},         {SQLITE_LIMIT_ATTACHED, 0},         {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 100},
    {SQLITE_LIMIT_VARIABLE_NUMBER, 8},      {SQLITE_LIMIT_TRIGGER_DEPTH, 1},    {SQLITE_LIMIT_WORKER_THREADS, 0},
};

struct Switch {
  int what;
  int on;
};
constexpr Switch kSwitches[] = {
    {SQLITE_DBCONFIG_DEFENSIVE, 1},      {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
    {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0}, {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
    {SQLITE_DBCONFIG_DQS_DDL, 0},        {SQLITE_DBCONFIG_DQS_DML, 0},
    {SQLITE_DBCONFIG_ENABLE_FKEY, 0},    {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
};

// Before SQLite has looked into the file.
constexpr const char* kPragmas[] = {
    "PRAGMA mmap_size = 0",   "PRAGMA temp_store = MEMORY", "PRAGMA cell_size_check = ON",
    "PRAGMA query_only = ON", "PRAGMA cache_size = -4096",
};

// What can stand in a warning as it is.
bool IsPlainName(std::string_view name) {
  return !name.empty() && name.size() <= kMostNameBytes &&
         std::all_of(name.begin(), name.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

bool IsOrdinary(std::string_view sql) {
  constexpr std::string_view kBegin = "CREATE TABLE ";  // a virtual one has a word between the two
  return sql.starts_with(kBegin);
}

}  // namespace

std::string QuotedName(std::string_view name) {
  std::string quoted = "\"";
  for (const char c : name) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + "\"";
}

int NsysTable::Find(std::string_view column) const {
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].name == column) return static_cast<int>(i);
  }
  return -1;
}

NsysQuery::NsysQuery(sqlite3* db, const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  result_ = sqlite3_prepare_v2(db, sql.c_str(), static_cast<int>(sql.size()), &statement, nullptr);
  handle_.reset(statement);
}

void NsysQuery::Restart(int64_t argument) {
  if (handle_ == nullptr) return;
  sqlite3_reset(handle_.get());
  result_ = sqlite3_bind_int64(handle_.get(), 1, argument);
}

bool NsysQuery::Next() {
  if (result_ != SQLITE_OK && result_ != SQLITE_ROW) return false;
  result_ = sqlite3_step(handle_.get());
  return result_ == SQLITE_ROW;
}

std::string_view NsysQuery::Text(int column) const {
  const unsigned char* text = sqlite3_column_text(handle_.get(), column);
  if (text == nullptr) return {};
  return {reinterpret_cast<const char*>(text), static_cast<size_t>(sqlite3_column_bytes(handle_.get(), column))};
}

std::string_view NsysQuery::Bytes(int column) const {
  const void* bytes = sqlite3_column_blob(handle_.get(), column);
  if (bytes == nullptr) return {};
  return {static_cast<const char*>(bytes), static_cast<size_t>(sqlite3_column_bytes(handle_.get(), column))};
}

NsysDatabase::NsysDatabase(const SourceFile& source)
    : source_(source), vfs_(source), most_rows_(source.size_bytes() / kLeastRowBytes) {}

Result<std::unique_ptr<NsysDatabase>> NsysDatabase::Open(const SourceFile& source) {
  std::unique_ptr<NsysDatabase> database(new NsysDatabase(source));
  RETURN_IF_ERROR(database->Connect());
  RETURN_IF_ERROR(database->ListTables());
  return database;
}

Status NsysDatabase::Connect() {
  sqlite3* handle = nullptr;
  constexpr int kFlags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
  const int result = sqlite3_open_v2(kSourceUri, &handle, kFlags, vfs_.name());
  db_.reset(handle);
  if (result != SQLITE_OK) return Fail(ErrorCode::kInternal, "open " + source_.name(), WhyOf(result));
  for (const Limit& limit : kLimits) sqlite3_limit(handle, limit.what, limit.most);
  for (const Switch& each : kSwitches) {
    const int set = sqlite3_db_config(handle, each.what, each.on, nullptr);
    if (set != SQLITE_OK) return Fail(ErrorCode::kInternal, "open " + source_.name(), WhyOf(set));
  }
  for (const char* pragma : kPragmas) {
    const int run = sqlite3_exec(handle, pragma, nullptr, nullptr, nullptr);
    if (run != SQLITE_OK) return CannotList(run);
  }
  sqlite3_set_authorizer(handle, Authorize, nullptr);
  return OkStatus();
}

// Reading tables, and asking for their columns; no function at all.
int NsysDatabase::Authorize(void*, int action, const char* first, const char*, const char*, const char*) noexcept {
  if (action == SQLITE_SELECT || action == SQLITE_READ) return SQLITE_OK;
  if (action == SQLITE_PRAGMA && first != nullptr && std::string_view(first) == "table_info") return SQLITE_OK;
  return SQLITE_DENY;
}

Status NsysDatabase::ListTables() {
  std::vector<std::pair<std::string, std::string>> found;
  NsysQuery list = Query("SELECT type, name, sql FROM sqlite_master");
  size_t more = 0;
  size_t odd = 0;
  while (list.Next()) {
    if (list.Text(0) != "table" || !IsOrdinary(list.Text(2)) || list.Text(1).starts_with("sqlite_")) continue;
    if (!IsPlainName(list.Text(1))) {
      ++odd;
    } else if (found.size() < kMostTables) {
      found.emplace_back(list.Text(1), list.Text(2));
    } else {
      ++more;
    }
  }
  if (more > 0) {
    left_out_.push_back("it has more than " + std::to_string(kMostTables) + " tables: the last " +
                        std::to_string(more) + " were not read");
  }
  if (odd > 0) {
    left_out_.push_back(std::to_string(odd) + " tables were not read: their names are longer than " +
                        std::to_string(kMostNameBytes) + " letters, or have others than ASCII's");
  }
  if (list.result() != SQLITE_DONE && list.result() != SQLITE_ROW) {
    if (!file_status().ok()) return file_status();
    return CannotList(list.result());
  }
  for (const auto& [name, sql] : found) DescribeTable(name, sql);
  return OkStatus();
}

void NsysDatabase::DescribeTable(const std::string& name, const std::string& sql) {
  NsysTable table;
  table.name = name;
  const ColumnTargets targets(name, sql);
  NsysQuery info = Query("PRAGMA table_info(" + QuotedName(name) + ")");  // without generated columns
  size_t more = 0;
  while (info.Next()) {
    if (table.columns.size() == kMostColumns) {
      ++more;
      continue;
    }
    const std::string column(info.Text(1));
    if (info.Integer(5) == 1) table.first_key = column;
    table.columns.push_back({column, targets.Of(column)});
  }
  if (table.columns.empty()) return;
  if (more > 0) {
    left_out_.push_back(name + ": it has more than " + std::to_string(kMostColumns) + " columns: the last " +
                        std::to_string(more) + " were not read");
  }
  info.Stop();
  NsysQuery last = Query("SELECT rowid FROM " + QuotedName(name) + " ORDER BY rowid DESC LIMIT 1");
  if (last.Next()) table.last_row = std::clamp<int64_t>(last.Integer(0), 1, std::max<int64_t>(most_rows_, 1));
  tables_.push_back(std::move(table));
}

const NsysTable* NsysDatabase::Find(std::string_view name) const {
  for (const NsysTable& table : tables_) {
    if (table.name == name) return &table;
  }
  return nullptr;
}

NsysQuery NsysDatabase::Scan(const NsysTable& table) {
  std::string sql = "SELECT ";
  for (size_t i = 0; i < table.columns.size(); ++i) sql += (i == 0 ? "" : ", ") + QuotedName(table.columns[i].name);
  // An index could be made to say something else than the table.
  return Query(sql + " FROM " + QuotedName(table.name) + " NOT INDEXED");
}

Status NsysDatabase::CannotList(int result) const {
  return Fail(ErrorCode::kBadInput, "read " + source_.name(), "its list of tables cannot be read: " + WhyOf(result),
              "export it again with nsys export --type sqlite; what is left of it sqlite3's .recover may save");
}

std::string NsysDatabase::WhyOf(int result) const {
  const bool is_latest = db_ != nullptr && (sqlite3_errcode(db_.get()) & 0xff) == (result & 0xff);
  return is_latest ? sqlite3_errmsg(db_.get()) : sqlite3_errstr(result);
}

}  // namespace kprof
