// Two sides of a comparison that are event runs: the samples of their commands, process by process. They were not
// measured in turns: what changed on the node between them counts as a difference of theirs. So only a difference of
// more than 5 % is called one, and the reason `not_interleaved` is always there; `capture event --against` measures
// both in turns, and finds 1 %.
//
// One thread, that of the readers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/comparison/compared_sides.h"
#include "daemon/analysis/verdict/verdict.h"
#include "storage/base/status.h"

namespace kprof {

struct ComparedCase {
  std::string name;             // empty: the one unnamed case, or the whole process
  OfSides<double> median_ns{};  // 0: that side does not have it
  OfSides<int64_t> processes{};
};

struct EventComparison {
  Verdict verdict;  // of all cases together, and of those that both sides have
  std::vector<ComparedCase> cases;
};

// Nothing: not both sides are event runs. Fails as reading does.
Result<std::optional<EventComparison>> CompareEvents(const OfSides<ComparedSide>& sides, const StopSignal& stop);

}  // namespace kprof
