// The arguments of an event come in shapes: the same keys with values of the same types, in the same order, a million
// times over. A shape is kept once; the values of all events of one shape are columns, like the others of a segment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

namespace kprof {

// On disk: a number is never used again for something else.
enum class ArgType : uint8_t {
  kNull = 1,
  kFalse = 2,
  kTrue = 3,
  kInteger = 4,
  kDecimal = 5,      // digits and places: arg_decimal.h
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

}  // namespace kprof
