#include "daemon/exports/json_bytes.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>

#include "storage/trace/format/event_args.h"

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

constexpr char kHex[] = "0123456789abcdef";

// Half of a surrogate pair, as an import keeps it: its three bytes. Nothing where there is none.
std::optional<unsigned> SurrogateAt(std::string_view text, size_t at) {
  if (at > text.size() || text.size() - at < 3 || text[at] != '\xed') return std::nullopt;
  const auto middle = static_cast<unsigned char>(text[at + 1]);
  const auto last = static_cast<unsigned char>(text[at + 2]);
  if (middle < 0xa0 || middle > 0xbf || (last & 0xc0) != 0x80) return std::nullopt;
  return 0xd000U | (middle & 0x3fU) << 6 | (last & 0x3fU);
}

// The two halves one behind the other would read back as one letter of four bytes.
bool IsOfPair(std::string_view text, size_t at, unsigned code) {
  const bool is_high = code < 0xdc00;
  const std::optional<unsigned> other =
      is_high ? SurrogateAt(text, at + 3) : SurrogateAt(text, at - std::min<size_t>(at, 3));
  return other && (*other < 0xdc00) != is_high && (is_high || at >= 3);
}

}  // namespace

void AppendJsonText(std::string& out, std::string_view text) {
  out += '"';
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\xed') {
      if (const std::optional<unsigned> code = SurrogateAt(text, i); code && !IsOfPair(text, i, *code)) {
        out += "\\u";
        for (int shift = 12; shift >= 0; shift -= 4) out += kHex[*code >> shift & 15];
        i += 2;
        continue;
      }
    }
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

void AppendSample(std::string& out, double value) {
  CounterTextBuffer buffer;
  const std::string_view number = CounterText(value, buffer);
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
