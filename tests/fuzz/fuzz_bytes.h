// A fuzzer's input, read from its front: what is not there is zero. Numbers little-endian, so that a dictionary and the
// comparisons that libFuzzer watches can hit them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace kprof {

class FuzzBytes {
 public:
  FuzzBytes(const uint8_t* data, size_t size) : rest_(reinterpret_cast<const char*>(data), size) {}

  uint8_t Byte() { return static_cast<uint8_t>(Number(1)); }
  uint64_t Number(size_t bytes = 8) {
    uint64_t value = 0;
    const std::string_view taken = Take(bytes);
    for (size_t i = 0; i < taken.size(); ++i) value |= uint64_t{static_cast<unsigned char>(taken[i])} << (8 * i);
    return value;
  }
  // At most so many.
  std::string_view Take(size_t bytes) {
    const std::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  std::string_view Rest() { return Take(rest_.size()); }

 private:
  std::string_view rest_;
};

}  // namespace kprof
