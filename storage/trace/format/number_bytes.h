// 64-bit numbers as the eight bytes that codecs write, the lowest first.
//
// Pure; any thread.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace kprof {

static_assert(std::endian::native == std::endian::little);

inline void AppendNumber(uint64_t number, std::string& out) {
  char bytes[sizeof(number)];
  std::memcpy(bytes, &number, sizeof(number));
  out.append(bytes, sizeof(number));
}

// Off the front; false, with nothing taken, where there are too few bytes.
inline bool TakeNumber(std::string_view& bytes, uint64_t& number) {
  if (bytes.size() < sizeof(number)) return false;
  std::memcpy(&number, bytes.data(), sizeof(number));
  bytes.remove_prefix(sizeof(number));
  return true;
}

}  // namespace kprof
