// The two sides of a comparison: which runs are the baseline, which runs are compared with it, and the parts of both,
// of the ranks that both have.
//
// Values; any thread. Reads no slices: only what parts say of themselves.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "daemon/analysis/analysis_kind.h"
#include "storage/base/status.h"

namespace kprof {

enum Side : size_t { kBefore, kAfter, kSides };
template <typename T>
using OfSides = std::array<T, kSides>;

struct ComparedSide {
  AnalysisTraces traces;    // the parts that are compared
  AnalysisOptions options;  // for these parts: the baseline's device may have another number
  int64_t runs = 1;
  std::string ranks;               // as text: all that its runs have, also those that the other side lacks
  bool has_reports_alone = false;  // kernel profilers measured its runs, and nothing in them has a place in time
};

// Chooses by the options `baseline`, `baseline-device` and `device`. Without a baseline, of two runs the older one is
// it. A note says each choice that nobody made. Nothing: there is nothing to compare with. Fails with kUsage for a
// baseline that is not among the runs of `traces`.
Result<std::optional<OfSides<ComparedSide>>> ChooseSides(const AnalysisTraces& traces, const AnalysisOptions& options,
                                                         AnalysisAnswer& answer);

}  // namespace kprof
