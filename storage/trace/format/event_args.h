// A sample of a counter as text, where nothing else is kept of what its source wrote: as short as reads back as the
// same double; whole numbers and such that are neither large nor small without an exponent.
//
// Pure; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

namespace kprof {

// The arguments of an event come in shapes: the same keys with values of the same types, in the same order, a million
// times over. A shape is kept once; the values of all events of one shape are columns, like the others of a segment.

// On disk: a number is never used again for something else.
enum class ArgType : uint8_t {
  kNull = 1,
  kFalse = 2,
  kTrue = 3,
  kInteger = 4,
  kDecimal = 5,      // digits and places: event_args.h
  kNumber = 6,       // one that is neither: its text, a string's number
  kString = 7,       // a string's number
  kJson = 8,         // a list or an object: its text without needless space, a string's number
  kCorrelation = 9,  // an integer that stands in the event's correlation
};
constexpr size_t kArgTypes = 9;

constexpr bool HasColumn(ArgType type) {
  return type != ArgType::kNull && type != ArgType::kFalse && type != ArgType::kTrue && type != ArgType::kCorrelation;
}
constexpr bool IsStringNumber(ArgType type) {
  return type == ArgType::kNumber || type == ArgType::kString || type == ArgType::kJson;
}

struct ArgSlot {
  uint32_t key = 0;  // a string's number
  ArgType type = ArgType::kNull;
  bool of_event = false;  // stood beside the arguments, in the event itself

  bool operator<(const ArgSlot& other) const {
    return std::tie(key, type, of_event) < std::tie(other.key, other.type, other.of_event);
  }
};

using ArgShape = std::vector<ArgSlot>;

// Shapes have numbers; 0 is the one without slots.
constexpr uint32_t kNoArgs = 0;

// A decimal number as one of a column: its digits, and how many of them stand behind the point, in the lowest four
// bits.
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
