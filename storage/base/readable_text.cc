#include "storage/base/readable_text.h"

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>

namespace kprof {
namespace {

// How long the character must be that starts with this byte; 0 for a byte that starts none.
size_t SizeByFirst(uint8_t first) {
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return 2;
  if (first >= 0xe0 && first <= 0xef) return 3;
  if (first >= 0xf0 && first <= 0xf4) return 4;
  return 0;
}

}  // namespace

Utf8Step NextUtf8(std::string_view bytes) {
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const Utf8Step invalid = {.valid = false, .code_point = 0, .size_bytes = 1};
  uint8_t first = static_cast<uint8_t>(bytes[0]);
  size_t size = SizeByFirst(first);
  if (size == 0 || bytes.size() < size) return invalid;
  if (size == 1) return {.valid = true, .code_point = first, .size_bytes = 1};
  uint32_t code_point = first & (0xffu >> (size + 1));
  for (size_t i = 1; i < size; ++i) {
    uint8_t next = static_cast<uint8_t>(bytes[i]);
    if ((next & 0xc0) != 0x80) return invalid;
    code_point = code_point << 6 | (next & 0x3fu);
  }
  bool surrogate = code_point >= 0xd800 && code_point <= 0xdfff;
  if (code_point < kLeast[size] || code_point > 0x10ffff || surrogate) return invalid;
  return {.valid = true, .code_point = code_point, .size_bytes = size};
}

size_t WholeUtf8Size(std::string_view bytes) {
  // Back to the start of the last character, at most three bytes.
  for (size_t back = 1; back <= 3 && back <= bytes.size(); ++back) {
    uint8_t byte = static_cast<uint8_t>(bytes[bytes.size() - back]);
    if ((byte & 0xc0) == 0x80) continue;
    bool cut = SizeByFirst(byte) > back;
    return cut ? bytes.size() - back : bytes.size();
  }
  return bytes.size();
}

std::string HexEscape(uint8_t byte) {
  constexpr char kDigits[] = "0123456789abcdef";
  return {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
}

namespace {

bool IsPlainInShell(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_-+=./,:@%").find(c) != std::string_view::npos;
}

bool IsControl(char c) {
  return static_cast<uint8_t>(c) < 0x20 || c == 0x7f;
}

std::string InDollarQuotes(std::string_view word) {
  std::string text;
  for (char c : word) {
    if (IsControl(c)) {
      text += HexEscape(static_cast<uint8_t>(c));
      continue;
    }
    if (c == '\'' || c == '\\') text += '\\';
    text += c;
  }
  return "$'" + ReadableText(text) + "'";
}

}  // namespace

std::string SingleQuoted(std::string_view word) {
  std::string text = "'";
  for (char c : word) {
    if (c == '\'') {
      text += "'\\''";
    } else {
      text += c;
    }
  }
  return text + "'";
}

std::string ShellWord(std::string_view word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), IsPlainInShell)) return std::string(word);
  if (std::any_of(word.begin(), word.end(), IsControl) || !IsUtf8(word)) return InDollarQuotes(word);
  return SingleQuoted(word);
}

std::string UtcText(int64_t unix_s) {
  const std::time_t time = unix_s;
  std::tm utc{};
  if (::gmtime_r(&time, &utc) == nullptr) return std::to_string(unix_s) + " s";  // no such year
  char text[40];
  return std::string(text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc));
}

std::string SignalName(int signal) {
  std::string text = "signal " + std::to_string(signal);
  const char* name = sigabbrev_np(signal);
  return name == nullptr ? text : text + " (SIG" + name + ")";
}

namespace {

bool Reorders(uint32_t code_point) {
  return (code_point >= 0x202a && code_point <= 0x202e) || (code_point >= 0x2066 && code_point <= 0x2069) ||
         code_point == 0x200e || code_point == 0x200f || code_point == 0x061c || code_point == 0x2028 ||
         code_point == 0x2029;
}

}  // namespace

bool IsUnsafeOnTerminal(uint32_t code_point) {
  return code_point < 0x20 || (code_point >= 0x7f && code_point < 0xa0) || Reorders(code_point);
}

namespace {

// How many of the first bytes are ASCII; less than all of them by up to seven. Most texts are ASCII altogether.
size_t AsciiSize(std::string_view bytes) {
  size_t size = 0;
  for (uint64_t eight = 0; size + sizeof(eight) <= bytes.size(); size += sizeof(eight)) {
    std::memcpy(&eight, bytes.data() + size, sizeof(eight));
    if ((eight & 0x8080808080808080u) != 0) break;
  }
  return size;
}

}  // namespace

bool IsUtf8(std::string_view bytes) {
  while (!bytes.empty()) {
    bytes.remove_prefix(AsciiSize(bytes));
    if (bytes.empty()) return true;
    const Utf8Step step = NextUtf8(bytes);
    if (!step.valid) return false;
    bytes.remove_prefix(step.size_bytes);
  }
  return true;
}

std::string ReadableText(std::string_view bytes) {
  if (IsUtf8(bytes)) return std::string(bytes);
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
