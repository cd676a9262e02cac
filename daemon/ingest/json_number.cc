#include "daemon/ingest/json_number.h"

#include <algorithm>

namespace kprof {
namespace {

constexpr size_t kMostDigits = 18;
constexpr int kMostExponent = 400;
constexpr int kNanoPlaces = 3;  // of a microsecond

bool IsDigit(char c) {
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
  while (count < text.size() && IsDigit(text[count])) ++count;
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

}  // namespace

std::optional<JsonNumber> ParseJsonNumber(std::string_view text) {
  JsonNumber number;
  size_t at = text.starts_with('-') ? 1 : 0;
  const bool negative = at == 1;
  const size_t first = at;
  size_t point = text.size();
  for (; at < text.size(); ++at) {
    if (IsDigit(text[at])) {
      if (at - first - (point < text.size() ? 1 : 0) >= kMostDigits) return std::nullopt;
      number.digits = number.digits * 10 + (text[at] - '0');
    } else if (text[at] == '.' && point == text.size() && at > first) {
      point = at;
    } else {
      return std::nullopt;
    }
  }
  if (at == first || point + 1 == text.size()) return std::nullopt;
  number.is_integer = point == text.size();
  number.places = number.is_integer ? 0 : static_cast<int>(text.size() - point - 1);
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

}  // namespace kprof
