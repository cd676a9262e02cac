#include "daemon/analysis/functions/steps/step_times.h"

#include <algorithm>
#include <span>

#include "daemon/analysis/functions/host/host_calls.h"
#include "daemon/analysis/operators/part_filter.h"
#include "daemon/analysis/operators/row_indexes.h"

namespace kprof {
namespace {

constexpr int64_t kLooksBetweenStops = 1 << 16;

// The first step that ends behind that time.
size_t StepAt(const std::vector<StepRange>& steps, int64_t time_ns) {
  const auto found =
      std::partition_point(steps.begin(), steps.end(), [&](const StepRange& step) { return step.end_ns <= time_ns; });
  return static_cast<size_t>(found - steps.begin());
}

// The self times of calls on the steps' own thread, by the step in which they begin.
class HostShares : public HostCallVisitor {
 public:
  HostShares(const std::vector<StepRange>& steps, std::vector<StepTimes>& times, const std::vector<uint8_t>& is_asked)
      : steps_(steps), times_(times), is_asked_(is_asked) {}

  Status SeeSegments(std::span<const Segment>) override { return OkStatus(); }
  void SeeTrack(uint32_t) override {}

  void Begin(const std::vector<HostCall>& calls) override {
    const HostCall& call = calls.back();
    if (!covered_.empty()) Cover(covered_.back(), call);
    covered_.push_back({0, call.begin_ns});
  }

  void End(const std::vector<HostCall>& calls) override {
    const HostCall& call = calls.back();
    const Covered covered = covered_.back();
    covered_.pop_back();
    const size_t step = StepAt(steps_, call.begin_ns);
    if (step == steps_.size() || call.begin_ns < steps_[step].begin_ns || is_asked_[step] == 0) return;
    const bool is_step = call.begin_ns == steps_[step].begin_ns && call.end_ns == steps_[step].end_ns;
    if (is_step || call.role == CallRole::kStep || call.end_ns > steps_[step].end_ns) return;
    StepShare& share = times_[step].of_host[call.name];
    share.ns = SaturatingSum(share.ns, std::max<int64_t>(call.end_ns - call.begin_ns - covered.ns, 0));
    ++share.count;
  }

 private:
  struct Covered {
    int64_t ns = 0;
    int64_t to_ns = 0;
  };

  static void Cover(Covered& of, const HostCall& call) {
    const int64_t from = std::max(call.begin_ns, of.to_ns);
    if (call.end_ns <= from) return;
    of.ns += call.end_ns - from;
    of.to_ns = call.end_ns;
  }

  const std::vector<StepRange>& steps_;
  std::vector<StepTimes>& times_;
  const std::vector<uint8_t>& is_asked_;
  std::vector<Covered> covered_;
};

}  // namespace

Status AddDeviceTimes(const TracePart& part, EventFilter filter, const std::vector<StepRange>& steps,
                      const StopSignal& stop, MemoryCharge& charge, std::vector<StepTimes>& times) {
  filter.from_ns = steps.front().begin_ns;
  filter.to_ns = steps.back().end_ns;
  if (*filter.from_ns >= *filter.to_ns) return OkStatus();
  ASSIGN_OR_RETURN(const PartFilter bound, PartFilter::Bind(filter, part, EventKind::kSlice));
  if (bound.never()) return OkStatus();
  struct Work {
    int64_t begin_ns = 0;
    int64_t end_ns = 0;
    int64_t name = 0;
  };
  std::vector<Work> work;
  std::vector<int64_t> begins;
  std::vector<int64_t> durations;
  std::vector<int64_t> names;
  PartReader& reader = *part.reader;
  RETURN_IF_ERROR(bound.ForEach(stop, [&](const Segment& segment, const RowSelection& selection) -> Status {
    RETURN_IF_ERROR(GatherValues(reader, segment, EventColumn::kTime, selection, begins));
    RETURN_IF_ERROR(GatherValues(reader, segment, EventColumn::kDuration, selection, durations));
    RETURN_IF_ERROR(GatherValues(reader, segment, EventColumn::kName, selection, names));
    RETURN_IF_ERROR(charge.Grow(static_cast<int64_t>(begins.size() * sizeof(Work))));
    for (size_t i = 0; i < begins.size(); ++i) {
      const int64_t begin = SafeTime(begins[i]);
      work.push_back({begin, SafeEndOf(begin, durations[i]), names[i]});
    }
    return OkStatus();
  }));
  std::sort(work.begin(), work.end(), [](const Work& a, const Work& b) { return a.begin_ns < b.begin_ns; });
  int64_t looked_at = 0;
  for (const Work& slice : work) {
    for (size_t i = StepAt(steps, slice.begin_ns); i < steps.size() && steps[i].begin_ns <= slice.end_ns; ++i) {
      if (++looked_at % kLooksBetweenStops == 0) RETURN_IF_ERROR(StillWanted(stop));
      StepTimes& of = times[i];
      const int64_t begin = std::max(slice.begin_ns, steps[i].begin_ns);
      const int64_t end = std::min(slice.end_ns, steps[i].end_ns);
      if (begin > end || (begin == end && slice.begin_ns != slice.end_ns)) continue;
      ++of.kernels;
      const auto [share, is_new] = of.of_kernels.try_emplace(slice.name);
      if (is_new) RETURN_IF_ERROR(charge.Grow(sizeof(StepShare) + 48));
      share->second.ns = SaturatingSum(share->second.ns, end - begin);
      ++share->second.count;
      const int64_t from = std::max(begin, of.busy_to_ns);
      if (end > from) of.busy_ns += end - from;
      of.busy_to_ns = std::max(of.busy_to_ns, end);
    }
  }
  return OkStatus();
}

Status AddHostTimes(const TracePart& part, const std::vector<StepRange>& steps, const std::vector<uint8_t>& is_asked,
                    const StopSignal& stop, std::vector<StepTimes>& times) {
  std::vector<uint8_t> tracks(part.reader->tracks().size(), 0);
  tracks[steps.front().track] = 1;
  HostShares host(steps, times, is_asked);
  return VisitHostCalls({part.reader, part.rank, &tracks}, stop, host);
}

}  // namespace kprof
