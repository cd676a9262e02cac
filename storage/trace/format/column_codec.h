// A column of a segment as bytes, and back. Does not know the meaning of the values (times, ids of strings, numbers of
// tracks) and chooses the codec by the values alone. The bytes are described in docs/trace_format.md.
//
// Pure; any thread. Decoding takes untrusted bytes: it fails with kStorageBroken and never reads past them. After a
// failure the values in `out` do not count.
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
  kPacked = 3,       // the difference to the least value, bit by bit
  kDeltaPacked = 4,  // the difference to the value before, bit by bit
  kPlanes = 5,       // the difference to the least value, byte planes under zstd
  kDeltaPlanes = 6,  // the difference to the value before, byte planes under zstd
};

struct EncodedColumn {
  ColumnCodec codec = ColumnCodec::kConstant;
  int64_t min = 0;  // of all values
  int64_t max = 0;
  std::string bytes;
};

// REQUIRES: 1 to kMaxSegmentRows values.
EncodedColumn EncodeColumn(std::span<const int64_t> values);

// Decodes into all of `out`, which has as many values as the column.
Status DecodeColumn(ColumnCodec codec, std::string_view bytes, std::span<int64_t> out);

}  // namespace kprof
