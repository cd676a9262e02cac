// The steps of a part's training or serving loop, whatever a framework calls them: PyTorch's ProfilerStep#N, a range
// that is called a step, the time between two ends of an optimizer, else the ranges of one name that cover half of the
// trace.
//
// On the reader's thread. Costs a pass over the names of segments that may have such ranges, and one over their times,
// for each rule that is tried. Memory, which the traces' take_memory is asked for while they are sought: that of the
// ranges and their names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "storage/base/status.h"

namespace kprof {

struct StepRange {
  std::string name;
  std::optional<int64_t> number;  // nothing: its name has none
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  uint32_t track = 0;

  int64_t length_ns() const { return end_ns - begin_ns; }
};

struct FoundSteps {
  std::string series;            // what they are called; empty: there are none
  std::vector<StepRange> steps;  // in the order of time; none overlaps another
};

// `pattern`: ranges of this name are the steps, * and ? match any; empty: by the rules above. Fails as reading does.
Result<FoundSteps> FindSteps(const AnalysisTraces& traces, size_t part, const std::string& pattern,
                             const StopSignal& stop);

}  // namespace kprof
