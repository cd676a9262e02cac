#include "storage/trace/format/value_runs.h"

#include <algorithm>
#include <vector>

#include "storage/trace/format/bit_packing.h"
#include "storage/trace/format/codec_numbers.h"

namespace kprof {

std::string EncodeRuns(std::span<const int64_t> values, int64_t min) {
  std::vector<uint64_t> lengths;
  std::vector<uint64_t> offsets;
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0 && values[i] == values[i - 1]) {
      ++lengths.back();
    } else {
      lengths.push_back(0);
      offsets.push_back(Difference(values[i], min));
    }
  }
  std::string bytes;
  AppendNumber(lengths.size(), bytes);
  AppendPacked(lengths, bytes);
  AppendNumber(static_cast<uint64_t>(min), bytes);
  AppendPacked(offsets, bytes);
  return bytes;
}

bool DecodeRuns(std::string_view bytes, std::span<int64_t> out) {
  uint64_t runs = 0;
  if (!TakeNumber(bytes, runs) || runs > out.size()) return false;
  std::vector<uint64_t> lengths(runs);
  std::vector<uint64_t> offsets(runs);
  uint64_t min = 0;
  if (!TakePacked(bytes, lengths) || !TakeNumber(bytes, min) || !TakePacked(bytes, offsets)) return false;
  size_t at = 0;
  for (size_t run = 0; run < runs; ++run) {
    if (lengths[run] >= out.size() - at) return false;
    const size_t length = lengths[run] + 1;
    std::fill_n(out.begin() + static_cast<ptrdiff_t>(at), length, static_cast<int64_t>(min + offsets[run]));
    at += length;
  }
  return at == out.size() && bytes.empty();
}

}  // namespace kprof
