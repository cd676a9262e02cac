// The kernels of both sides of a comparison, those that are the same one together: first by their names, then by what
// is the same however it is spelled, then by their templates. See comparable_names.h.
//
// Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/analysis/functions/comparison/compared_sides.h"
#include "daemon/analysis/functions/comparison/side_facts.h"

namespace kprof {

// Kernels of both sides under one name; or of one side alone.
struct MatchedKernel {
  std::string matched_by;  // name, spelling, template; empty: one side alone has it
  OfSides<SideSum> sums;
  OfSides<std::vector<std::string>> names;  // the one with the most time first

  int64_t delta_ns() const { return sums[kAfter].ns - sums[kBefore].ns; }
};

// The largest change first.
std::vector<MatchedKernel> MatchKernels(const OfSides<SideFacts>& sides);

// How often kernels that both sides have ran: the measure of how much of the same work is in each.
struct SharedWork {
  OfSides<int64_t> calls{};
  std::optional<double> ratio;  // of the calls now to those before: the median, each kernel with the weight of its time
};

SharedWork WorkInBoth(const std::vector<MatchedKernel>& kernels);

}  // namespace kprof
