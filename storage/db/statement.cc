#include "storage/db/statement.h"

#include <cerrno>
#include <string>

namespace kprof {

Statement::Statement(Db& db, std::string_view sql) : db_(db.handle()), handle_(nullptr, GiveBack{db.statements()}) {
  if (db.statements() != nullptr) {
    handle_.reset(db.statements()->Take(sql).release());
    if (handle_ != nullptr) return;
  }
  sqlite3_stmt* statement = nullptr;
  const unsigned flags = db.statements() != nullptr ? SQLITE_PREPARE_PERSISTENT : 0;
  int result = sqlite3_prepare_v3(db_, sql.data(), static_cast<int>(sql.size()), flags, &statement, nullptr);
  handle_.reset(statement);
  if (result != SQLITE_OK) {
    status_ = FailSqlite(db_, result, "prepare SQL \"" + std::string(sql.substr(0, 60)) + "\"");
  }
}

// On a null statement, one that did not compile, SQLite's bind functions do nothing but return SQLITE_MISUSE; the first
// failure is the one kept.
Statement& Statement::Bind(int index, int64_t value) {
  Keep(sqlite3_bind_int64(handle_.get(), index, value), "bind");
  return *this;
}

Statement& Statement::Bind(int index, double value) {
  Keep(sqlite3_bind_double(handle_.get(), index, value), "bind");
  return *this;
}

Statement& Statement::BindText(int index, std::string_view value) {
  const char* data = value.data() != nullptr ? value.data() : "";  // null would bind NULL
  Keep(sqlite3_bind_text64(handle_.get(), index, data, value.size(), SQLITE_TRANSIENT, SQLITE_UTF8), "bind");
  return *this;
}

Statement& Statement::BindBytes(int index, std::string_view value) {
  const char* data = value.data() != nullptr ? value.data() : "";
  Keep(sqlite3_bind_blob64(handle_.get(), index, data, value.size(), SQLITE_TRANSIENT), "bind");
  return *this;
}

Statement& Statement::BindNull(int index) {
  Keep(sqlite3_bind_null(handle_.get(), index), "bind");
  return *this;
}

Statement& Statement::BindMaybe(int index, std::optional<int64_t> value) {
  return value.has_value() ? Bind(index, *value) : BindNull(index);
}

bool Statement::Next() {
  if (!status_.ok()) return false;
  errno = 0;  // see FailSqlite
  int result = sqlite3_step(handle_.get());
  if (result == SQLITE_ROW) return true;
  if (result != SQLITE_DONE) Keep(result, "run");
  sqlite3_reset(handle_.get());
  return false;
}

Status Statement::Run() {
  while (Next()) {
  }
  return status_;
}

std::string_view Statement::Text(int column) const {
  const unsigned char* text = sqlite3_column_text(handle_.get(), column);
  if (text == nullptr) return {};
  return {reinterpret_cast<const char*>(text), static_cast<size_t>(sqlite3_column_bytes(handle_.get(), column))};
}

std::string_view Statement::Bytes(int column) const {
  const void* bytes = sqlite3_column_blob(handle_.get(), column);
  if (bytes == nullptr) return {};
  return {static_cast<const char*>(bytes), static_cast<size_t>(sqlite3_column_bytes(handle_.get(), column))};
}

std::optional<int64_t> Statement::MaybeInteger(int column) const {
  if (IsNull(column)) return std::nullopt;
  return Integer(column);
}

void Statement::Keep(int result, const char* act) {
  if (result == SQLITE_OK || !status_.ok()) return;
  handle_.get_deleter().cache = nullptr;
  const char* sql = handle_ != nullptr ? sqlite3_sql(handle_.get()) : "";
  status_ = FailSqlite(db_, result, std::string(act) + " SQL \"" + std::string(sql).substr(0, 60) + "\"");
}

}  // namespace kprof
