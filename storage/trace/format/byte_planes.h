// Unsigned integers as planes of bytes under zstd: first the lowest byte of each, then the next, as many as the largest
// of them needs. Bytes of one plane are alike, so zstd packs them well.
//
// Any thread, each with its own object, which keeps zstd's memory from one column to the next.
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

  // Appends a byte with the number of planes (1 to 8), and a zstd frame that knows its size.
  void Append(std::span<const uint64_t> values, std::string& out);

  // Reads all of `bytes` into all of `out`; false when the bytes are no such planes.
  bool Read(std::string_view bytes, std::span<uint64_t> out);

 private:
  struct Memory;
  std::unique_ptr<Memory> memory_;
};

}  // namespace kprof
