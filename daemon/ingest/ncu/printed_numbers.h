// Numbers as Nsight Compute prints them, which depends on the locale: 1,234.5 or 1.234,5 or 1 234,5.
//
// Pure; any thread.
#pragma once

#include <optional>
#include <string_view>

namespace kprof {

enum class NumberStyle {
  kPoint,  // a point before the decimals, commas between thousands
  kComma,  // the other way round
};

// The style that a number is written in. Nothing: it reads as either (1.234, 17), or is no number.
std::optional<NumberStyle> StyleOfNumber(std::string_view text);

// Reads a number with its thousands separators, a percent sign at its end, or an exponent. NaN and infinities are read
// as such. Nothing for a text that is no number.
std::optional<double> ParsePrintedNumber(std::string_view text, NumberStyle style);

// True for the words that stand where there is no value: "n/a", "".
bool IsNoPrintedValue(std::string_view text);

}  // namespace kprof
