// Random numbers that are the same on every machine for one seed: xoshiro256**, seeded by splitmix64. The standard
// library's distributions differ between libraries, so a stored seed would not bring back an interval.
//
// A value; any thread, one at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace kprof {

class RandomDraws {
 public:
  explicit RandomDraws(uint64_t seed) {
    for (uint64_t& word : words_) {
      seed += 0x9e3779b97f4a7c15;
      uint64_t mixed = seed;
      mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
      mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
      word = mixed ^ (mixed >> 31);
    }
  }

  uint64_t Bits() {
    const uint64_t bits = Turned(words_[1] * 5, 7) * 9;
    const uint64_t shifted = words_[1] << 17;
    words_[2] ^= words_[0];
    words_[3] ^= words_[1];
    words_[1] ^= words_[2];
    words_[0] ^= words_[3];
    words_[2] ^= shifted;
    words_[3] = Turned(words_[3], 45);
    return bits;
  }

  // From 0 to below 1.
  double Unit() { return static_cast<double>(Bits() >> 11) * 0x1p-53; }

  // From 0 to below `count`. REQUIRES: 0 < count < 2^32. Its bias is less than count / 2^32.
  size_t Below(size_t count) { return ((Bits() >> 32) * count) >> 32; }

 private:
  static uint64_t Turned(uint64_t word, int places) { return (word << places) | (word >> (64 - places)); }

  std::array<uint64_t, 4> words_{};
};

}  // namespace kprof
