#include "daemon/ingest/text/json_text.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>

namespace kprof {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr size_t kMostDigits = 18;
constexpr std::array<uint64_t, kMostDigits + 1> kPowersOfTen = [] {
  std::array<uint64_t, kMostDigits + 1> powers{1};
  for (size_t i = 1; i < powers.size(); ++i) powers[i] = powers[i - 1] * 10;
  return powers;
}();
constexpr int kMostExponent = 400;
constexpr int kNanoPlaces = 3;  // of a microsecond

bool IsJsonDigit(char c) {
  return c >= '0' && c <= '9';
}

struct Decimal {
  bool negative = false;
  std::string_view whole;
  std::string_view fraction;
  bool has_point = false;
  int exponent = 0;
};

std::string_view TakeDigits(std::string_view& text) {
  size_t count = 0;
  while (count < text.size() && IsJsonDigit(text[count])) ++count;
  const std::string_view digits = text.substr(0, count);
  text.remove_prefix(count);
  return digits;
}

std::optional<Decimal> Split(std::string_view text) {
  Decimal decimal;
  decimal.negative = text.starts_with('-');
  if (decimal.negative) text.remove_prefix(1);
  decimal.whole = TakeDigits(text);
  if (decimal.whole.empty()) return std::nullopt;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    decimal.has_point = true;
    decimal.fraction = TakeDigits(text);
    if (decimal.fraction.empty()) return std::nullopt;
  }
  if (text.starts_with('e') || text.starts_with('E')) {
    text.remove_prefix(1);
    const bool negative = text.starts_with('-');
    if (negative || text.starts_with('+')) text.remove_prefix(1);
    const std::string_view digits = TakeDigits(text);
    if (digits.empty()) return std::nullopt;
    for (const char digit : digits) decimal.exponent = std::min(decimal.exponent * 10 + (digit - '0'), kMostExponent);
    if (negative) decimal.exponent = -decimal.exponent;
  }
  if (!text.empty()) return std::nullopt;
  return decimal;
}

struct Digits {
  size_t end = 0;
  size_t count = 0;
  uint64_t value = 0;  // where there are no more than kMostDigits
};

// Of eight digits, the first one lowest.
uint64_t ValueOfEight(uint64_t digits) {
  digits = digits * 10 + (digits >> 8);  // pairs
  return ((digits & 0x0000'00ff'0000'00ff) * (100 + (uint64_t{1'000'000} << 32)) +
          ((digits >> 16) & 0x0000'00ff'0000'00ff) * (1 + (uint64_t{10'000} << 32))) >>
         32;
}

// Eight at a time.
Digits TakeDigitsAt(std::string_view text, size_t at) {
  Digits taken{.end = at};
  while (taken.end < text.size() && taken.count <= kMostDigits) {
    uint64_t digits = 0;
    std::memcpy(&digits, text.data() + taken.end, sizeof(digits));
    digits ^= 0x3030'3030'3030'3030;
    // The high bit of the first byte that is more than 9, and maybe of some behind it.
    const uint64_t others = ((digits + 0x7676'7676'7676'7676) | digits) & 0x8080'8080'8080'8080;
    const size_t count = std::min(static_cast<size_t>(std::countr_zero(others)) / 8, text.size() - taken.end);
    if (count == 0) break;
    taken.value = taken.value * kPowersOfTen[count] + ValueOfEight(digits << 8 * (8 - count));
    taken.count += count;
    taken.end += count;
    if (count < 8) break;
  }
  return taken;
}

}  // namespace

std::optional<JsonNumber> ParseJsonNumber(std::string_view text) {
  JsonNumber number;
  const bool negative = text.starts_with('-');
  Digits whole = TakeDigitsAt(text, negative ? 1 : 0);
  if (whole.count == 0 || whole.count > kMostDigits) return std::nullopt;
  number.is_integer = whole.end == text.size();
  if (!number.is_integer) {
    if (text[whole.end] != '.') return std::nullopt;
    const Digits fraction = TakeDigitsAt(text, whole.end + 1);
    if (fraction.count == 0 || fraction.end != text.size()) return std::nullopt;
    if (whole.count + fraction.count > kMostDigits) return std::nullopt;
    whole.value = whole.value * kPowersOfTen[fraction.count] + fraction.value;
    number.places = static_cast<int>(fraction.count);
  }
  if (negative && whole.value == 0) return std::nullopt;  // a double tells it from 0
  number.digits = static_cast<int64_t>(whole.value);
  if (negative) number.digits = -number.digits;
  return number;
}

std::optional<int64_t> ParseWhole(std::string_view text) {
  std::optional<JsonNumber> number = ParseJsonNumber(text);
  if (!number) return std::nullopt;
  for (; number->places > 0; --number->places, number->digits /= 10) {
    if (number->digits % 10 != 0) return std::nullopt;
  }
  return number->digits;
}

std::optional<int64_t> ParseMicros(std::string_view text) {
  // As nearly all are.
  if (const std::optional<JsonNumber> number = ParseJsonNumber(text); number && number->places <= kNanoPlaces) {
    int64_t nanos = number->digits;
    for (int places = number->places; places < kNanoPlaces; ++places) {
      if (__builtin_mul_overflow(nanos, 10, &nanos)) return std::nullopt;
    }
    return nanos;
  }
  const std::optional<Decimal> decimal = Split(text);
  if (!decimal) return std::nullopt;
  // The digits up to nanoseconds; how many of them stand before the point, once the exponent has moved it.
  const int64_t point = static_cast<int64_t>(decimal->whole.size()) + decimal->exponent + kNanoPlaces;
  const int64_t digits = static_cast<int64_t>(decimal->whole.size() + decimal->fraction.size());
  auto digit_at = [&](int64_t index) -> int {
    if (index < 0 || index >= digits) return 0;
    const auto at = static_cast<size_t>(index);
    return (at < decimal->whole.size() ? decimal->whole[at] : decimal->fraction[at - decimal->whole.size()]) - '0';
  };
  int64_t nanos = 0;
  for (int64_t index = 0; index < point; ++index) {
    if (__builtin_mul_overflow(nanos, 10, &nanos) || __builtin_add_overflow(nanos, digit_at(index), &nanos)) {
      return std::nullopt;
    }
  }
  if (digit_at(point) >= 5 && point >= 0 && __builtin_add_overflow(nanos, 1, &nanos)) return std::nullopt;
  return decimal->negative ? -nanos : nanos;
}

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
