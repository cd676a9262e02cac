// Unsigned integers as planes of bytes under zstd: first the lowest byte of each, then the next, as many as the largest
// of them needs. Bytes of one plane are alike, which is what zstd looks for.
//
// Any thread, each its own object: it keeps zstd's memory from one column to the next.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace kprof {

class BytePlanes {
 public:
  BytePlanes();
  ~BytePlanes();
  BytePlanes(const BytePlanes&) = delete;
  BytePlanes& operator=(const BytePlanes&) = delete;

  // Appends a byte with how many planes there are (1 to 8), and a zstd frame that knows its size.
  void Append(std::span<const uint64_t> values, std::string& out);

  // All of `bytes` into all of `out`; false where that is not what they are.
  bool Read(std::string_view bytes, std::span<uint64_t> out);

 private:
  struct Memory;
  std::unique_ptr<Memory> memory_;
};

}  // namespace kprof
