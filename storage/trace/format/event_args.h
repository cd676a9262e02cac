// The arguments of events: their types and shapes, decimal numbers as values of a column, and the text of a counter's
// value.
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

// The type of an argument. On disk: a number is never used again for something else.
enum class ArgType : uint8_t {
  kNull = 1,
  kFalse = 2,
  kTrue = 3,
  kInteger = 4,
  kDecimal = 5,      // digits and places: ArgDecimal
  kNumber = 6,       // any other number: its text, a string's number
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

// The arguments of events come in shapes: the same keys with values of the same types, in the same order, a million
// times over. A shape is kept once. The values of all events of one shape are columns, like the others of a segment.
using ArgShape = std::vector<ArgSlot>;

// Shapes have numbers; 0 is the one without slots.
constexpr uint32_t kNoArgs = 0;

// A decimal number as a value of a column: its digits, and in the lowest four bits the number of digits behind the
// point.
constexpr int kMostPlaces = 15;

struct ArgDecimal {
  int64_t digits = 0;
  int places = 0;
};

// Nothing when it has too many digits or places.
constexpr std::optional<int64_t> PackDecimal(ArgDecimal decimal) {
  constexpr int64_t kMost = int64_t{1} << 59;
  if (decimal.places > kMostPlaces || decimal.digits >= kMost || decimal.digits < -kMost) return std::nullopt;
  return decimal.digits * 16 + decimal.places;
}

constexpr ArgDecimal UnpackDecimal(int64_t packed) {
  return {packed >> 4, static_cast<int>(packed & 15)};
}

using CounterTextBuffer = std::array<char, 40>;

// The text of a counter's value, for values of which the source's text is not kept: the shortest that reads back as the
// same double. Numbers that are neither large nor small have no exponent. "nan", "-inf" and the like for values that
// are no number. The text is in `buffer`.
std::string_view CounterText(double value, CounterTextBuffer& buffer);

constexpr int64_t kMostWholeInDouble = int64_t{1} << 53;
// True if CounterText of the double nearest to `decimal` is the text of `decimal`; makes no text to see it. False when
// that is not sure, and for digits behind the point that end in 0.
constexpr bool IsCounterText(ArgDecimal decimal) {
  constexpr int64_t kMostDigits = 1'000'000'000'000'000;  // a double tells these apart
  constexpr int kMostSurePlaces = 15;
  if (decimal.digits < 0) decimal.digits = -decimal.digits;
  if (decimal.places == 0) return decimal.digits <= kMostWholeInDouble;
  if (decimal.digits % 10 == 0 || decimal.digits >= kMostDigits || decimal.places > kMostSurePlaces) return false;
  int64_t least = 1;  // no smaller than 0.0001
  for (int place = 4; place < decimal.places; ++place) least *= 10;
  return decimal.digits >= least;
}

}  // namespace kprof
