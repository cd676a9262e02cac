#include "daemon/exports/json_bytes.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

#include "storage/trace/arg_decimal.h"

namespace kprof {
namespace {

constexpr size_t kMostIntegerDigits = 18;

uint64_t Magnitude(int64_t value) {
  return value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
}

// `places` of the digits behind a point.
void AppendWithPoint(std::string& out, int64_t digits, size_t places) {
  if (digits < 0) out += '-';
  std::array<char, 24> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), Magnitude(digits)).ptr;
  const std::string_view all(text.data(), static_cast<size_t>(end - text.data()));
  if (places == 0) {
    out += all;
    return;
  }
  const size_t whole = all.size() > places ? all.size() - places : 0;
  out += whole == 0 ? std::string_view("0") : all.substr(0, whole);
  out += '.';
  if (whole == 0) out.append(places - all.size(), '0');
  out += all.substr(whole);
}

}  // namespace

void AppendJsonText(std::string& out, std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += "\\u00";
      out += {kHex[static_cast<unsigned char>(c) >> 4], kHex[c & 15]};
    } else {
      out += c;
    }
  }
  out += '"';
}

void AppendInteger(std::string& out, int64_t value) {
  AppendWithPoint(out, value, 0);
}

void AppendMicros(std::string& out, int64_t nanos) {
  size_t places = 3;
  for (; places > 0 && nanos % 10 == 0; --places) nanos /= 10;
  AppendWithPoint(out, nanos, places);
}

void AppendDecimal(std::string& out, int64_t packed) {
  const ArgDecimal decimal = UnpackDecimal(packed);
  AppendWithPoint(out, decimal.digits, static_cast<size_t>(decimal.places));
}

void AppendDouble(std::string& out, double value) {
  std::array<char, 40> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  const std::string_view number(text.data(), static_cast<size_t>(end - text.data()));
  if (std::isfinite(value)) {
    out += number;
  } else {
    AppendJsonText(out, number);
  }
}

bool IsPlainInteger(std::string_view text) {
  if (text == "0") return true;
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && text.size() <= kMostIntegerDigits && text.front() >= '1' && text.front() <= '9' &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

void AppendNumberOrText(std::string& out, std::string_view text) {
  if (IsPlainInteger(text)) {
    out += text;
  } else {
    AppendJsonText(out, text);
  }
}

void AppendRawJson(std::string& out, std::string_view text) {
  const bool is_nested =
      text.size() > 1 && ((text.front() == '{' && text.back() == '}') || (text.front() == '[' && text.back() == ']'));
  const bool is_word = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '+' || c == '-' || c == '.';
  });
  if (is_nested || is_word) {
    out += text;
  } else {
    AppendJsonText(out, text);
  }
}

}  // namespace kprof
