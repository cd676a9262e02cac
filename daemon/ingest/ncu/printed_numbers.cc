#include "daemon/ingest/ncu/printed_numbers.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <string>

namespace kprof {
namespace {

constexpr size_t kMostNumberBytes = 64;
// Between thousands in some locales: apostrophes, and spaces of which no line breaks.
constexpr std::array<std::string_view, 5> kGroupMarks = {"'", " ", "\u00a0", "\u202f", "\u2019"};

bool IsPrintedDigit(char c) {
  return c >= '0' && c <= '9';
}

// The number without its sign, percent sign and group marks. Empty: it is none.
std::string DigitsOf(std::string_view text, bool& is_negative) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '%')) text.remove_suffix(1);
  is_negative = !text.empty() && text.front() == '-';
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
  std::string digits;
  if (text.empty() || text.size() > kMostNumberBytes) return digits;
  while (!text.empty()) {
    const auto mark = std::find_if(kGroupMarks.begin(), kGroupMarks.end(),
                                   [&](std::string_view each) { return text.starts_with(each); });
    if (mark != kGroupMarks.end()) {
      text.remove_prefix(mark->size());
      // It stands between digits.
      if (digits.empty() || !IsPrintedDigit(digits.back()) || text.empty() || !IsPrintedDigit(text.front())) return {};
      continue;
    }
    digits += text.front();
    text.remove_prefix(1);
  }
  return digits;
}

// Digits, points and commas, and perhaps an exponent.
bool IsNumberText(std::string_view digits) {
  const size_t exponent = digits.find_first_of("eE");
  const std::string_view mantissa = digits.substr(0, exponent);
  const auto is_of_number = [](char c) { return IsPrintedDigit(c) || c == '.' || c == ','; };
  if (!std::all_of(mantissa.begin(), mantissa.end(), is_of_number)) return false;
  if (std::none_of(mantissa.begin(), mantissa.end(), IsPrintedDigit)) return false;
  if (exponent == digits.npos) return true;
  std::string_view power = digits.substr(exponent + 1);
  if (!power.empty() && (power.front() == '-' || power.front() == '+')) power.remove_prefix(1);
  return !power.empty() && std::all_of(power.begin(), power.end(), IsPrintedDigit);
}

std::string LowerOf(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

// Most numbers are digits, points and commas alone. Nothing: it is another text, perhaps a number all the same.
std::optional<double> ParsePlainNumber(std::string_view text, char group_mark) {
  std::array<char, kMostNumberBytes> digits;
  if (text.size() > digits.size()) return std::nullopt;
  size_t size = 0;
  for (const char c : text) {
    if (c == group_mark) continue;
    if (!IsPrintedDigit(c) && c != '.' && c != ',') return std::nullopt;
    digits[size++] = c == ',' ? '.' : c;
  }
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + size, value);
  return error == std::errc() && end == digits.data() + size ? std::optional(value) : std::nullopt;
}

}  // namespace

std::optional<NumberStyle> StyleOfNumber(std::string_view text) {
  bool is_negative = false;
  const std::string digits = DigitsOf(text, is_negative);
  if (!IsNumberText(digits)) return std::nullopt;
  const size_t first = digits.find_first_of(".,");
  if (first == digits.npos) return std::nullopt;
  const size_t last = digits.find_last_of(".,");
  const auto style_of_decimals = [](char mark) { return mark == '.' ? NumberStyle::kPoint : NumberStyle::kComma; };
  const auto style_of_groups = [](char mark) { return mark == ',' ? NumberStyle::kPoint : NumberStyle::kComma; };
  if (digits[first] != digits[last]) return style_of_decimals(digits[last]);
  const size_t mantissa_end = std::min(digits.find_first_of("eE"), digits.size());
  const size_t behind = mantissa_end - last - 1;
  constexpr size_t kGroupDigits = 3;
  if (first != last) return behind == kGroupDigits ? std::optional(style_of_groups(digits[first])) : std::nullopt;
  const bool may_be_group = behind == kGroupDigits && first >= 1 && first <= kGroupDigits && digits[0] != '0';
  if (may_be_group) return std::nullopt;
  return style_of_decimals(digits[last]);
}

std::optional<double> ParsePrintedNumber(std::string_view text, NumberStyle style) {
  const char group_mark = style == NumberStyle::kPoint ? ',' : '.';
  if (const std::optional<double> plain = ParsePlainNumber(text, group_mark)) return plain;
  bool is_negative = false;
  std::string digits = DigitsOf(text, is_negative);
  if (digits.empty()) return std::nullopt;
  if (IsNumberText(digits)) {
    std::erase(digits, group_mark);
    std::replace(digits.begin(), digits.end(), ',', '.');
  } else {
    const std::string word = LowerOf(digits);
    if (word != "nan" && word != "inf" && word != "infinity" && !word.starts_with("nan(")) return std::nullopt;
    digits = word.starts_with("nan") ? "nan" : "inf";
  }
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return is_negative ? -value : value;
}

bool IsNoPrintedValue(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  const std::string word = LowerOf(text.substr(0, kMostNumberBytes));
  return word.empty() || word == "n/a" || word == "na" || word == "(!) n/a" || word == "-";
}

}  // namespace kprof
