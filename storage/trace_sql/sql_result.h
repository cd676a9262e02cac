// Values of ours as results of SQLite's.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <optional>
#include <string>

#include "storage/trace/event_kind.h"
#include "storage/trace_sql/open_part.h"

namespace kprof {

inline void ResultInteger(sqlite3_context* out, int64_t value) {
  if (value != kNoValue) sqlite3_result_int64(out, value);
}
inline void ResultInteger(sqlite3_context* out, std::optional<int64_t> value) {
  if (value) sqlite3_result_int64(out, *value);
}
// Of what lives as long as the connection.
inline void ResultKept(sqlite3_context* out, const std::string& text) {
  sqlite3_result_text64(out, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8);
}
inline void ResultCopied(sqlite3_context* out, const std::string& text) {
  sqlite3_result_text64(out, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}
inline void ResultText(sqlite3_context* out, const PartText& text) {
  sqlite3_result_text64(out, text.bytes, text.size, text.kept ? SQLITE_STATIC : SQLITE_TRANSIENT, SQLITE_UTF8);
}

}  // namespace kprof
