// A decimal number as one of a column: its digits, and how many of them stand behind the point, in the lowest four
// bits.
#pragma once

#include <cstdint>
#include <optional>

namespace kprof {

constexpr int kMostPlaces = 15;

struct ArgDecimal {
  int64_t digits = 0;
  int places = 0;
};

// Nothing where it has too many of either.
constexpr std::optional<int64_t> PackDecimal(ArgDecimal decimal) {
  constexpr int64_t kMost = int64_t{1} << 59;
  if (decimal.places > kMostPlaces || decimal.digits >= kMost || decimal.digits < -kMost) return std::nullopt;
  return decimal.digits * 16 + decimal.places;
}

constexpr ArgDecimal UnpackDecimal(int64_t packed) {
  return {packed >> 4, static_cast<int>(packed & 15)};
}

}  // namespace kprof
