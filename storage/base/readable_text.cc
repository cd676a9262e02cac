#include "storage/base/readable_text.h"

#include <cstdio>

#include "storage/base/utf8.h"

namespace kprof {
namespace {

bool Reorders(uint32_t code_point) {
  return (code_point >= 0x202a && code_point <= 0x202e) || (code_point >= 0x2066 && code_point <= 0x2069) ||
         code_point == 0x200e || code_point == 0x200f || code_point == 0x061c || code_point == 0x2028 ||
         code_point == 0x2029;
}

}  // namespace

bool IsUtf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const Utf8Step step = NextUtf8(bytes);
    if (!step.valid) return false;
    bytes.remove_prefix(step.size_bytes);
  }
  return true;
}

std::string ReadableText(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const Utf8Step step = NextUtf8(bytes);
    if (step.valid) {
      text += bytes.substr(0, step.size_bytes);
    } else {
      text += HexEscape(static_cast<uint8_t>(bytes[0]));
    }
    bytes.remove_prefix(step.size_bytes);
  }
  return text;
}

std::string TerminalText(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    Utf8Step step = NextUtf8(bytes);
    uint8_t first = static_cast<uint8_t>(bytes[0]);
    if (!step.valid) {
      text += HexEscape(first);
    } else if (first == '\n') {
      text += "\\n";
    } else if (first == '\t') {
      text += "\\t";
    } else if (step.code_point < 0x20 || (step.code_point >= 0x7f && step.code_point < 0xa0)) {
      text += HexEscape(static_cast<uint8_t>(step.code_point));
    } else if (Reorders(step.code_point)) {
      char escaped[16];
      std::snprintf(escaped, sizeof(escaped), "\\u{%x}", step.code_point);
      text += escaped;
    } else {
      text += bytes.substr(0, step.size_bytes);
    }
    bytes.remove_prefix(step.size_bytes);
  }
  return text;
}

std::string ClippedText(std::string_view bytes, size_t limit_bytes) {
  if (bytes.size() <= limit_bytes) return ReadableText(bytes);
  const std::string_view kept = bytes.substr(0, limit_bytes);
  return ReadableText(kept.substr(0, WholeUtf8Size(kept))) + "...";
}

}  // namespace kprof
