#include "storage/sandbox/bounded_format.h"

#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

namespace kprof {
namespace {

// The original, for one connection of a query: made when it is first called.
class OriginalFormat {
 public:
  ~OriginalFormat() {
    for (const auto& [count, statement] : statements_) sqlite3_finalize(statement);
    sqlite3_close(db_);
  }

  // Sets the result of the call.
  void Call(sqlite3_context* context, int count, sqlite3_value** args) {
    sqlite3_stmt* statement = nullptr;
    int result = Prepare(sqlite3_context_db_handle(context), count, statement);
    for (int i = 0; i < count && result == SQLITE_OK; ++i) result = sqlite3_bind_value(statement, i + 1, args[i]);
    if (result == SQLITE_OK) result = sqlite3_step(statement);
    result == SQLITE_ROW ? sqlite3_result_value(context, sqlite3_column_value(statement, 0))
                         : sqlite3_result_error_code(context, result);
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
  }

 private:
  int Prepare(sqlite3* query, int count, sqlite3_stmt*& statement) {
    if (db_ == nullptr) {
      const int opened = sqlite3_open_v2(":memory:", &db_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
      if (opened != SQLITE_OK) return opened;
      sqlite3_limit(db_, SQLITE_LIMIT_LENGTH, sqlite3_limit(query, SQLITE_LIMIT_LENGTH, -1));
    }
    statement = statements_[count];
    if (statement != nullptr) return SQLITE_OK;
    std::string sql = "SELECT format(";
    for (int i = 0; i < count; ++i) sql += i == 0 ? "?" : ",?";
    const int prepared = sqlite3_prepare_v2(db_, (sql + ")").c_str(), -1, &statement, nullptr);
    statements_[count] = statement;
    return prepared;
  }

  sqlite3* db_ = nullptr;
  std::map<int, sqlite3_stmt*> statements_;  // by the number of arguments
};

// Walks a format as SQLite does, which takes one argument for each '*' and for each conversion but %% and %n.
class RepeatedCharacters {
 public:
  RepeatedCharacters(int count, sqlite3_value** args) : count_(count), args_(args) {}

  // How many characters all %c together repeat.
  int64_t Count(std::string_view format) {
    int64_t repeated = 0;
    for (size_t at = format.find('%'); at < format.size(); at = format.find('%', at)) {
      at = format.find_first_not_of("-+ #!0,", at + 1);
      TakeNumber(format, at);  // the width
      int64_t precision = 0;
      if (at < format.size() && format[at] == '.') precision = TakeNumber(format, ++at);
      at = format.find_first_not_of('l', at);
      if (at >= format.size()) break;
      const char conversion = format[at++];
      if (conversion == '%' || conversion == 'n') continue;
      if (kConversions.find(conversion) == std::string_view::npos) break;  // it formats no further either
      if (conversion == 'c') repeated += precision;
      ++next_;
    }
    return repeated;
  }

 private:
  static constexpr std::string_view kConversions = "dsgzqQwcouxXfeEGipr";

  int64_t TakeNumber(std::string_view format, size_t& at) {
    if (at < format.size() && format[at] == '*') {
      ++at;
      const int64_t number = next_ < count_ ? static_cast<int32_t>(sqlite3_value_int64(args_[next_])) : 0;
      ++next_;
      return number == INT32_MIN ? 0 : std::abs(number);  // as the original: none
    }
    int64_t number = 0;
    for (; at < format.size() && std::isdigit(static_cast<unsigned char>(format[at])) != 0; ++at) {
      number = (number * 10 + (format[at] - '0')) & 0xffffffff;
    }
    return number & 0x7fffffff;
  }

  const int count_;
  sqlite3_value** const args_;
  int next_ = 1;  // the first one is the format
};

void Format(sqlite3_context* context, int count, sqlite3_value** args) noexcept {
  if (count > 0) {
    const auto* format = reinterpret_cast<const char*>(sqlite3_value_text(args[0]));
    if (format == nullptr) return;  // NULL
    const int limit = sqlite3_limit(sqlite3_context_db_handle(context), SQLITE_LIMIT_LENGTH, -1);
    if (RepeatedCharacters(count, args).Count(format) > limit) return sqlite3_result_error_toobig(context);
  }
  static_cast<OriginalFormat*>(sqlite3_user_data(context))->Call(context, count, args);
}

}  // namespace

int RegisterBoundedFormat(sqlite3* db) {
  for (const char* name : {"printf", "format"}) {
    // SQLite deletes it, also when this fails.
    auto* original = new OriginalFormat;
    const int result = sqlite3_create_function_v2(db, name, -1, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
                                                  original, Format, nullptr, nullptr,
                                                  [](void* held) { delete static_cast<OriginalFormat*>(held); });
    if (result != SQLITE_OK) return result;
  }
  return SQLITE_OK;
}

}  // namespace kprof
