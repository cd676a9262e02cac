// Sequences of kernels that follow each other again and again on a stream: candidates for fusion, and for a graph.
//
// Pure; any thread. Costs a few passes over the slices for each length, as long as sequences of that length are
// frequent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "daemon/analysis/operators/trace_part.h"
#include "storage/base/status.h"

namespace kprof {

struct SequenceSlice {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  int64_t name = 0;
};

struct KernelSequence {
  size_t first = 0;  // of the stream's slices: where it occurs first
  size_t length = 0;
  int64_t count = 0;  // occurrences do not overlap each other: they are taken as they come
  int64_t kernel_ns = 0;
  int64_t gap_ns = 0;
  bool is_cut = false;  // most often it is a piece of a longer one, which the bounds leave out

  int64_t covered_ns() const { return SaturatingSum(kernel_ns, gap_ns); }
};

struct SequenceBounds {
  size_t least_length = 2;
  size_t most_length = 64;
  int64_t least_count = 3;
};

// Memory for each slice, which the caller asks for.
constexpr size_t kBytesOfSequenceSlice = 128;

struct FoundSequences {
  // Those with the most kernel time first, at most 20. Half of the occurrences of each, or more, are in none before it.
  std::vector<KernelSequence> sequences;
  int64_t sum_ns = 0;  // of all slices
};

// REQUIRES: `slices` are of one stream, in the order of time. Fails with kCancelled.
Result<FoundSequences> FindSequences(std::span<const SequenceSlice> slices, const SequenceBounds& bounds,
                                     const StopSignal& stop);

}  // namespace kprof
