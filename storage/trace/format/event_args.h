// A sample of a counter as text, where nothing else is kept of what its source wrote: as short as reads back as the
// same double; whole numbers and such that are neither large nor small without an exponent.
//
// Pure; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "storage/trace/format/arg_decimal.h"

namespace kprof {

using CounterTextBuffer = std::array<char, 40>;

// In the buffer. "nan", "-inf" and the like of what is no number.
std::string_view CounterText(double value, CounterTextBuffer& buffer);

constexpr int64_t kMostWholeInDouble = int64_t{1} << 53;
// Whether the double nearest to a decimal number has it as its text, seen without making that; false where that is not
// sure. Digits that end in 0 behind the point it does not.
constexpr bool IsCounterText(ArgDecimal decimal) {
  constexpr int64_t kMostDigits = 1'000'000'000'000'000;  // which a double tells apart
  constexpr int kMostSurePlaces = 15;
  if (decimal.digits < 0) decimal.digits = -decimal.digits;
  if (decimal.places == 0) return decimal.digits <= kMostWholeInDouble;
  if (decimal.digits % 10 == 0 || decimal.digits >= kMostDigits || decimal.places > kMostSurePlaces) return false;
  int64_t least = 1;  // no smaller than 0.0001
  for (int place = 4; place < decimal.places; ++place) least *= 10;
  return decimal.digits >= least;
}

}  // namespace kprof
