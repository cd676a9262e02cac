// Numbers in JSON text as what they say in decimal, never by way of a double: a Unix time in microseconds with its
// decimals has more digits than a double holds.
//
// Pure; any thread. Reads up to eight bytes behind a text, which must be there.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace kprof {

// `digits` without their point, which stands before the last `places` of them: -12.50 is -1250 with 2.
struct JsonNumber {
  int64_t digits = 0;
  int places = 0;
  bool is_integer = false;  // written without a point: 3, not 3.0
};

// Nothing for what is no number, has an exponent, more than 18 digits, or is -0: that is kept as the text it is.
std::optional<JsonNumber> ParseJsonNumber(std::string_view text);

// A number without a fraction, however it is written: 5, 5.0. Nothing for any other.
std::optional<int64_t> ParseWhole(std::string_view text);

// Microseconds in ns, what is less than one rounded to the nearest. Exponents are understood. Nothing for what is no
// number or does not fit.
std::optional<int64_t> ParseMicros(std::string_view text);

}  // namespace kprof
