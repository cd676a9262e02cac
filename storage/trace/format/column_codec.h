// A column of a segment as bytes, and back. What the values mean (times, ids of strings, numbers of tracks) is not
// known here; which codec fits is chosen by the values alone. The bytes are described in docs/trace_format.md.
//
// Pure; any thread. Decoding takes untrusted bytes: it fails with kStorageBroken, never reads past them, and writes as
// many values as it was asked for or none that count.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "storage/base/status.h"

namespace kprof {

constexpr size_t kMaxSegmentRows = 65'536;

// On disk: a number is never used again for something else.
enum class ColumnCodec : uint8_t {
  kConstant = 1,     // all are the same
  kRuns = 2,         // few changes from one to the next
  kPacked = 3,       // less the least, bit by bit
  kDeltaPacked = 4,  // what each adds to the one before, bit by bit
  kPlanes = 5,       // less the least, byte planes under zstd
  kDeltaPlanes = 6,  // what each adds to the one before, byte planes under zstd
};

struct EncodedColumn {
  ColumnCodec codec = ColumnCodec::kConstant;
  int64_t min = 0;  // of all values
  int64_t max = 0;
  std::string bytes;
};

// REQUIRES: 1 to kMaxSegmentRows values.
EncodedColumn EncodeColumn(std::span<const int64_t> values);

// Into all of `out`: as many values as the column was made of.
Status DecodeColumn(ColumnCodec codec, std::string_view bytes, std::span<int64_t> out);

}  // namespace kprof
