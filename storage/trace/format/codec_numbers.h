// Numbers for the codecs: a value as its difference to the value before, or to the least value. These are small numbers
// without a sign, for codecs that give small numbers few bits. Also numbers as bytes.
//
// Pure; any thread.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kprof {

// 64-bit numbers as the eight bytes that codecs write, the lowest first.
static_assert(std::endian::native == std::endian::little);

inline void AppendNumber(uint64_t number, std::string& out) {
  char bytes[sizeof(number)];
  std::memcpy(bytes, &number, sizeof(number));
  out.append(bytes, sizeof(number));
}

// Takes a number off the front; false, with nothing taken, when there are too few bytes.
inline bool TakeNumber(std::string_view& bytes, uint64_t& number) {
  if (bytes.size() < sizeof(number)) return false;
  std::memcpy(&number, bytes.data(), sizeof(number));
  bytes.remove_prefix(sizeof(number));
  return true;
}

// Differences wrap around, so that any two values have one.
constexpr uint64_t Difference(int64_t a, int64_t b) {
  return static_cast<uint64_t>(a) - static_cast<uint64_t>(b);
}

// Folds the sign in: a difference near 0 becomes a small number, whatever its sign.
constexpr uint64_t ZigZag(uint64_t difference) {
  return (difference << 1) ^ (uint64_t{0} - (difference >> 63));
}

constexpr uint64_t UnZigZag(uint64_t folded) {
  return (folded >> 1) ^ (uint64_t{0} - (folded & 1));
}

// The first delta is 0.
inline std::vector<uint64_t> Deltas(std::span<const int64_t> values) {
  std::vector<uint64_t> deltas(values.size());
  for (size_t i = 1; i < values.size(); ++i) deltas[i] = ZigZag(Difference(values[i], values[i - 1]));
  return deltas;
}

inline std::vector<uint64_t> Offsets(std::span<const int64_t> values, int64_t min) {
  std::vector<uint64_t> offsets(values.size());
  for (size_t i = 0; i < values.size(); ++i) offsets[i] = Difference(values[i], min);
  return offsets;
}

}  // namespace kprof
