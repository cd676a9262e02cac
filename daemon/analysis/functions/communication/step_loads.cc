#include "daemon/analysis/functions/communication/step_loads.h"

#include <algorithm>
#include <utility>

#include "daemon/analysis/operators/trace_part.h"

namespace kprof {

StepLoads::StepLoads(std::vector<ProfilerStep> steps)
    : steps_(std::move(steps)), compute_ns_(steps_.size(), 0), communicates_(steps_.size(), 0) {
  std::sort(steps_.begin(), steps_.end(),
            [](const ProfilerStep& a, const ProfilerStep& b) { return a.begin_ns < b.begin_ns; });
  int64_t end = kFirstTimeNs;
  for (const ProfilerStep& step : steps_) ends_.push_back(end = std::max(end, step.end_ns));
}

void StepLoads::AddCompute(const Interval& piece) {
  if (all_ns_ == 0) first_ns_ = piece.begin_ns;
  last_ns_ = piece.end_ns;
  all_ns_ += piece.end_ns - piece.begin_ns;
  for (size_t at = FirstStepOf(piece); at < steps_.size() && steps_[at].begin_ns < piece.end_ns; ++at) {
    const int64_t begin = std::max(steps_[at].begin_ns, piece.begin_ns);
    compute_ns_[at] += std::max<int64_t>(std::min(steps_[at].end_ns, piece.end_ns) - begin, 0);
  }
}

void StepLoads::AddCommunication(const Interval& call) {
  for (size_t at = FirstStepOf(call); at < steps_.size() && steps_[at].begin_ns < call.end_ns; ++at) {
    communicates_[at] |= steps_[at].end_ns > call.begin_ns ? 1 : 0;
  }
}

std::vector<StepLoads::Load> StepLoads::loads() const {
  std::vector<Load> all;
  for (size_t i = 0; i < steps_.size(); ++i) {
    const bool is_recorded = compute_ns_[i] > 0 || communicates_[i] != 0;
    all.push_back({steps_[i].number, steps_[i].end_ns - steps_[i].begin_ns, compute_ns_[i], is_recorded});
  }
  if (steps_.empty() && all_ns_ > 0) all.push_back({std::nullopt, last_ns_ - first_ns_, all_ns_});
  return all;
}

size_t StepLoads::FirstStepOf(const Interval& piece) const {
  return static_cast<size_t>(std::upper_bound(ends_.begin(), ends_.end(), piece.begin_ns) - ends_.begin());
}

std::map<std::optional<int64_t>, std::vector<RankLoad>> LoadsOfSteps(std::span<const std::vector<StepLoads>> ranks) {
  std::map<std::optional<int64_t>, std::vector<RankLoad>> steps;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    for (const StepLoads& of_part : ranks[rank]) {
      for (const StepLoads::Load& load : of_part.loads()) {
        std::vector<RankLoad>& of_step = steps[load.step];
        if (of_step.empty() || of_step.back().rank != rank) of_step.push_back({.rank = rank});
        RankLoad& sum = of_step.back();
        sum.compute_ns = SaturatingSum(sum.compute_ns, load.compute_ns);
        sum.wall_ns = SaturatingSum(sum.wall_ns, load.wall_ns);
        sum.is_recorded |= load.is_recorded;
      }
    }
  }
  return steps;
}

}  // namespace kprof
