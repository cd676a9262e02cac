// The encodings of values in Parquet's pages, as Arrow and others write them: RLE and bit packing, the delta encodings,
// byte stream split. Hostile bytes make no more values than were asked for, and never read beyond the page.
//
// Values; any thread. `bytes` must outlive what is made of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "daemon/ingest/parquet/parquet_file.h"

namespace kprof {

// Runs of one value and of bit-packed ones: levels, booleans, indexes of dictionaries.
class RunDecoder {
 public:
  RunDecoder() = default;
  RunDecoder(std::span<const char> bytes, int bits) : bytes_(bytes), bits_(bits) {}

  // Fills all of `out`. False: the bytes end before, or say nonsense.
  bool Read(std::span<uint32_t> out);

 private:
  bool StartRun();

  std::span<const char> bytes_;
  int bits_ = 0;
  size_t at_ = 0;
  uint64_t left_ = 0;  // of the run
  bool is_packed_ = false;
  uint32_t value_ = 0;   // of a run of one
  uint64_t bit_at_ = 0;  // of a packed run: the next bit, from at_ on
  uint64_t bits_end_ = 0;
};

// Numbers of DELTA_BINARY_PACKED, at most `most_values` of them. `taken`: the bytes that they took. False: damaged.
bool ReadDeltas(std::span<const char> bytes, bool is_32_bits, size_t most_values, std::vector<int64_t>& values,
                size_t& taken);

// Texts one behind the other, each with its length before it (PLAIN). False: damaged.
bool ReadPlainTexts(std::span<const char> bytes, size_t count, std::vector<std::string_view>& texts);
// The same for DELTA_LENGTH_BYTE_ARRAY.
bool ReadDeltaLengthTexts(std::span<const char> bytes, size_t count, std::vector<std::string_view>& texts);
// The same for DELTA_BYTE_ARRAY: a text begins as the one before it. The texts stand in `storage`, which grows to
// `most_bytes` at most.
bool ReadDeltaTexts(std::span<const char> bytes, size_t count, size_t most_bytes, std::vector<char>& storage,
                    std::vector<std::string_view>& texts);

// The bytes of values that were split, put together: value by value. False: another number of bytes.
bool JoinSplitBytes(std::span<const char> bytes, size_t width, size_t count, std::vector<char>& joined);

// The smallest number of bits that hold `most`.
int BitsFor(uint32_t most);

}  // namespace kprof
