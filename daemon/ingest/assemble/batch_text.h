// How a batch's strings say what they are: as readers of JSON find them, they are taken apart only where they are new
// to all readers.
#pragma once

#include <string>
#include <string_view>

#include "daemon/ingest/text/json_text.h"

namespace kprof {

// The first character of a batch's string; the empty string has none.
constexpr char kPlainText = '=';     // what it is
constexpr char kEscapedText = '\\';  // what stood between the quotes of a JSON string that has escapes
constexpr char kJsonText = '{';      // a list or an object, with the space that it was written with

inline std::string TextOfBatch(std::string_view text) {
  if (text.empty()) return {};
  const std::string_view rest = text.substr(1);
  if (text.front() == kEscapedText) return UnescapeJson(rest);
  if (text.front() == kJsonText) return CompactJson(rest);
  return std::string(rest);
}

}  // namespace kprof
