// How long compute kernels of each rank ran in each of its steps, so that steps compare across ranks.
//
// Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "daemon/analysis/functions/device_scope.h"
#include "daemon/analysis/operators/interval_sweep.h"

namespace kprof {

// The load of one device of a part, in each of the part's steps; without steps, in all of its time.
class StepLoads {
 public:
  struct Load {
    std::optional<int64_t> step;  // nothing: the part has no steps
    int64_t wall_ns = 0;
    int64_t compute_ns = 0;
    bool is_recorded = true;  // false: no compute and no communication; its work is not in the trace
  };

  StepLoads() = default;
  explicit StepLoads(std::vector<ProfilerStep> steps);

  // REQUIRES: none overlaps another, and they come in the order of time.
  void AddCompute(const Interval& piece);
  void AddCommunication(const Interval& call);

  std::vector<Load> loads() const;

 private:
  // The first step that may not be over when `piece` begins.
  size_t FirstStepOf(const Interval& piece) const;

  std::vector<ProfilerStep> steps_;  // by their begins
  std::vector<int64_t> ends_;        // the latest end up to each
  std::vector<int64_t> compute_ns_;
  std::vector<uint8_t> communicates_;
  int64_t all_ns_ = 0;
  int64_t first_ns_ = 0;
  int64_t last_ns_ = 0;
};

// The load of a rank in a step, of all of its parts.
struct RankLoad {
  size_t rank = 0;  // a place in the list of ranks
  int64_t compute_ns = 0;
  int64_t wall_ns = 0;
  bool is_recorded = false;
};

// By step: the loads of the ranks that have it, in their order. `ranks`: of each rank, those of its parts.
std::map<std::optional<int64_t>, std::vector<RankLoad>> LoadsOfSteps(std::span<const std::vector<StepLoads>> ranks);

}  // namespace kprof
