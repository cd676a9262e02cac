// What `flood` prints: a byte is a function of its offset, so that a reader can check any piece by itself. Offsets a
// power of two apart differ, so that a ring read at the wrong place shows.
#pragma once

#include <cstdint>

inline char FloodByte(int64_t offset) {
  auto n = static_cast<uint64_t>(offset);
  return static_cast<char>(n ^ n >> 8 ^ n >> 16 ^ n >> 24 ^ n >> 32);
}
