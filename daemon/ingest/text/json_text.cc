#include "daemon/ingest/text/json_text.h"

#include <array>
#include <charconv>
#include <cstdint>

namespace kprof {
namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The four digits at `at`; false where there are not four.
bool TakeHex(std::string_view text, size_t at, uint32_t& code) {
  if (text.size() < at + 4) return false;
  code = 0;
  for (size_t i = at; i < at + 4; ++i) {
    const int digit = HexDigit(text[i]);
    if (digit < 0) return false;
    code = code << 4 | static_cast<uint32_t>(digit);
  }
  return true;
}

void AppendUtf8(uint32_t code, std::string& out) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 0x3f))};
  } else if (code < 0x10000) {
    out += {static_cast<char>(0xe0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 0x3f)),
            static_cast<char>(0x80 | (code & 0x3f))};
  } else {
    out += {static_cast<char>(0xf0 | code >> 18), static_cast<char>(0x80 | (code >> 12 & 0x3f)),
            static_cast<char>(0x80 | (code >> 6 & 0x3f)), static_cast<char>(0x80 | (code & 0x3f))};
  }
}

// Behind the digits of a \u whose first digit stands at `at`, a second one that belongs to it included.
size_t AppendEscapedCode(std::string_view text, size_t at, uint32_t code, std::string& out) {
  at += 4;
  uint32_t low = 0;
  const bool is_high = code >= 0xd800 && code < 0xdc00;
  if (is_high && text.substr(at, 2) == "\\u" && TakeHex(text, at + 2, low) && low >= 0xdc00 && low < 0xe000) {
    AppendUtf8(0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00), out);
    return at + 6;
  }
  AppendUtf8(code, out);
  return at;
}

bool IsControl(char c) {
  return static_cast<unsigned char>(c) < 0x20;
}

void AppendControl(char c, std::string& out) {
  constexpr char kHex[] = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  out += {'\\', 'u', '0', '0', kHex[byte >> 4], kHex[byte & 15]};
}

// Of a string in JSON, which tools write with control characters as they are.
void AppendInString(char c, std::string& out) {
  if (IsControl(c)) {
    AppendControl(c, out);
  } else {
    out += c;
  }
}

}  // namespace

std::string UnescapeJson(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    if (text[at] != '\\' || at + 1 == text.size()) {
      out += text[at++];
      continue;
    }
    const char escaped = text[at + 1];
    uint32_t code = 0;
    if (escaped == 'u' && TakeHex(text, at + 2, code)) {
      at = AppendEscapedCode(text, at + 2, code, out);
      continue;
    }
    constexpr std::string_view kLetters = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    const size_t letter = kLetters.find(escaped);
    if (letter == kLetters.npos) {
      out += '\\';
      out += escaped;
    } else {
      out += kMeanings[letter];
    }
    at += 2;
  }
  return out;
}

std::string CompactJson(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == ' ' || c == '\n' || c == '\r' || c == '\t') continue;
    out += c;
    if (c != '"') continue;
    for (++at; at < text.size(); ++at) {
      AppendInString(text[at], out);
      if (text[at] == '"') break;
      if (text[at] != '\\' || at + 1 == text.size()) continue;
      if (IsControl(text[++at])) out += '\\';  // it escapes nothing
      AppendInString(text[at], out);
    }
  }
  return out;
}

void AppendJsonString(std::string& json, std::string_view text) {
  json += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      json += {'\\', c};
    } else if (c == '\n') {
      json += "\\n";
    } else {
      AppendInString(c, json);
    }
  }
  json += '"';
}

std::string ShortestNumber(double value) {
  std::array<char, 40> text;
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), end};
}

bool ForEachMember(const char* at, const char* end, const std::function<bool(std::string_view, std::string_view)>& see,
                   int most_nesting) {
  if (at >= end || *at != '{') return false;
  at = SkipSpace(at + 1);
  if (at < end && *at == '}') return true;
  while (at < end && *at == '"') {
    const char* key_end = FindStringEnd(at + 1, end);
    if (key_end == nullptr) return false;
    const std::string_view key(at + 1, static_cast<size_t>(key_end - at - 1));
    at = SkipSpace(key_end + 1);
    if (at >= end || *at != ':') return false;
    at = SkipSpace(at + 1);
    const char* value_end = at < end ? FindValueEnd(at, end, most_nesting) : nullptr;
    if (value_end == nullptr) return false;
    if (!see(key, {at, static_cast<size_t>(value_end - at)})) return true;
    at = SkipSpace(value_end);
    if (at >= end) return false;
    if (*at == '}') return true;
    if (*at != ',') return false;
    at = SkipSpace(at + 1);
  }
  return false;
}

}  // namespace kprof
