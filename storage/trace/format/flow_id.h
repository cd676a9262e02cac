// The id of a flow as the column has it. One that is a whole number, as millions of a trace are, is in the value
// itself: so it takes no string. It keeps how it was written: 17, or 0x11. All others are a string's number.
//
// Pure; any thread.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kprof {

// Below 0 is a number: all bits turned over, the lowest says whether it is written as a hexadecimal one.
constexpr bool IsNumberedFlow(int64_t flow_id) {
  return flow_id < 0;
}

// Nothing for what is no number, or would not read back as it is written: with needless zeros, capitals, a sign, or
// 2^61 and more.
inline std::optional<int64_t> NumberedFlowId(std::string_view text) {
  constexpr int64_t kNumbers = int64_t{1} << 61;
  const bool is_hexadecimal = text.starts_with("0x");
  if (is_hexadecimal) text.remove_prefix(2);
  if (text.empty() || (text[0] == '0' && text.size() > 1)) return std::nullopt;
  for (const char c : text) {
    const bool is_digit = (c >= '0' && c <= '9') || (is_hexadecimal && c >= 'a' && c <= 'f');
    if (!is_digit) return std::nullopt;
  }
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, is_hexadecimal ? 16 : 10);
  if (error != std::errc() || number >= kNumbers) return std::nullopt;
  return ~(number * 2 + (is_hexadecimal ? 1 : 0));
}

// REQUIRES: IsNumberedFlow(flow_id).
inline std::string NumberedFlowText(int64_t flow_id) {
  const auto bits = static_cast<uint64_t>(~flow_id);
  const bool is_hexadecimal = (bits & 1) != 0;
  char digits[24];
  const char* end = std::to_chars(digits, digits + sizeof digits, bits >> 1, is_hexadecimal ? 16 : 10).ptr;
  return (is_hexadecimal ? "0x" : "") + std::string(digits, static_cast<size_t>(end - digits));
}

}  // namespace kprof
