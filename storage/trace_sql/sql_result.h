// Values of ours as results of SQLite's.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <optional>
#include <string>

#include "storage/base/status.h"
#include "storage/trace/format/flow_id.h"
#include "storage/trace/format/trace_model.h"
#include "storage/trace_sql/parts/open_part.h"

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
inline Status ResultFlowId(OpenPart& part, int64_t flow_id, sqlite3_context* out) {
  if (IsNumberedFlow(flow_id)) {
    ResultCopied(out, NumberedFlowText(flow_id));
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const PartText text, part.ReadText(flow_id));
  ResultText(out, text);
  return OkStatus();
}

}  // namespace kprof
