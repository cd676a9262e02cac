#include "daemon/analysis/functions/neuron/device_idle_time.h"

#include <algorithm>
#include <map>
#include <queue>
#include <string_view>
#include <tuple>
#include <utility>

#include "daemon/analysis/functions/neuron/neuron_executions.h"
#include "daemon/analysis/operators/trace_part.h"

namespace kprof {
namespace {

// The innermost event first: the one that began last; of several that began at once, the one that ends first.
struct IsOuter {
  bool operator()(const CategorisedEvent* a, const CategorisedEvent* b) const {
    return std::tuple(a->start_ns, b->end_ns, a->category) < std::tuple(b->start_ns, a->end_ns, b->category);
  }
};

// Goes along time, and knows the innermost event at each.
class InnermostEvents {
 public:
  explicit InnermostEvents(const std::vector<CategorisedEvent>& in_order) : events_(in_order) {}

  // Adds the time of [begin, end) by category. REQUIRES: it begins no earlier than the last one ended.
  void AddTimes(const Interval& time, IdleNs& ns) {
    int64_t at_ns = time.begin_ns;
    while (at_ns < time.end_ns) {
      for (; next_ < events_.size() && events_[next_].start_ns <= at_ns; ++next_) open_.push(&events_[next_]);
      while (!open_.empty() && open_.top()->end_ns <= at_ns) open_.pop();
      int64_t until_ns = next_ < events_.size() ? std::min(time.end_ns, events_[next_].start_ns) : time.end_ns;
      IdleCategory category = IdleCategory::kUnattributed;
      if (!open_.empty()) {
        category = open_.top()->category;
        until_ns = std::min(until_ns, open_.top()->end_ns);
      }
      ns[static_cast<size_t>(category)] += until_ns - at_ns;
      at_ns = until_ns;
    }
  }

 private:
  const std::vector<CategorisedEvent>& events_;
  size_t next_ = 0;
  std::priority_queue<const CategorisedEvent*, std::vector<const CategorisedEvent*>, IsOuter> open_;
};

// `busy`: disjoint, in order. `events`: in the order of their begins.
DeviceIdleTime IdleTimeOf(const Interval& whole, const std::vector<Interval>& busy,
                          const std::vector<CategorisedEvent>& events) {
  DeviceIdleTime idle{.whole = whole};
  InnermostEvents innermost(events);
  int64_t at_ns = whole.begin_ns;
  const auto add_gap = [&](int64_t until_ns, DeviceGap::Place place) {
    if (until_ns <= at_ns) return;
    DeviceGap gap{.time = {at_ns, until_ns}, .place = place};
    innermost.AddTimes(gap.time, gap.ns);
    idle.idle_ns += until_ns - at_ns;
    for (size_t i = 0; i < kIdleCategories; ++i) idle.ns[i] += gap.ns[i];
    idle.gaps.push_back(gap);
  };
  bool has_run = false;
  for (const Interval& piece : busy) {
    const Interval within{std::clamp(piece.begin_ns, whole.begin_ns, whole.end_ns),
                          std::clamp(piece.end_ns, whole.begin_ns, whole.end_ns)};
    idle.outside_ns += (piece.end_ns - piece.begin_ns) - (within.end_ns - within.begin_ns);
    if (within.end_ns <= within.begin_ns) continue;
    add_gap(within.begin_ns, has_run ? DeviceGap::Place::kBetween : DeviceGap::Place::kBefore);
    idle.busy_ns += within.end_ns - within.begin_ns;
    at_ns = within.end_ns;
    has_run = true;
  }
  add_gap(whole.end_ns, has_run ? DeviceGap::Place::kAfter : DeviceGap::Place::kAll);
  return idle;
}

// An event that does not tell its core is of all cores of its process; the same holds for workers.
bool Explains(const NeuronCoreKey& event, const NeuronCoreKey& core) {
  const auto may_be = [](int64_t told, int64_t of) { return told < 0 || of < 0 || told == of; };
  return event.process == core.process && may_be(event.nc, core.nc) && may_be(event.worker, core.worker);
}

bool IsChosen(const NeuronCoreKey& core, const NeuronEvents& events, const CoreChoice& choice) {
  const NeuronProcess& process = events.processes[core.process];
  return (!choice.nc || *choice.nc == core.nc) && (!choice.process || *choice.process == process.process) &&
         (!choice.instance || *choice.instance == process.instance);
}

// The time of a core that is looked at.
Interval WholeOf(const NeuronCoreKey& core, const NeuronEvents& events, const Interval& wall,
                 const CoreChoice& choice) {
  Interval whole = wall;
  const NeuronProcess& process = events.processes[core.process];
  const bool is_measured = events.wall && *events.wall == wall;
  if (!is_measured && process.first_ns) whole = {*process.first_ns, *process.last_ns};
  if (choice.from_ns) whole.begin_ns = std::max(whole.begin_ns, SafeTime(*choice.from_ns));
  if (choice.to_ns) whole.end_ns = std::min(whole.end_ns, SafeTime(*choice.to_ns));
  whole.end_ns = std::max(whole.begin_ns, whole.end_ns);
  return whole;
}

}  // namespace

Result<std::vector<CoreIdleTime>> CoreIdleTimesOf(NeuronEvents& events, const Interval& wall, const CoreChoice& choice,
                                                  MemoryCharge& charge) {
  const auto bytes = events.core_rows.size() * (2 * sizeof(Interval) + sizeof(DeviceGap)) +
                     events.categorised.size() * sizeof(CategorisedEvent);
  RETURN_IF_ERROR(charge.Grow(static_cast<int64_t>(bytes)));
  std::sort(events.categorised.begin(), events.categorised.end(),
            [](const CategorisedEvent& a, const CategorisedEvent& b) { return a.start_ns < b.start_ns; });
  std::map<NeuronCoreKey, CoreIdleTime> found;
  std::map<NeuronCoreKey, int64_t> placed;
  for (const NeuronCoreRow& row : events.core_rows) {
    CoreIdleTime& core = found[row.of];
    core.of = row.of;
    ++(row.start_ns == kNoValue || row.end_ns == kNoValue ? core.unplaced : placed[row.of]);
  }
  const std::map<NeuronCoreKey, std::vector<Interval>> busy = NeuronBusyOf(events);
  std::vector<CoreIdleTime> cores;
  std::vector<bool> explains(events.cores.size());
  std::vector<CategorisedEvent> explaining;
  for (auto& [key, core] : found) {
    if (!IsChosen(key, events, choice)) continue;
    if (placed[key] > 0) {
      for (size_t i = 0; i < events.cores.size(); ++i) explains[i] = Explains(events.cores[i], key);
      explaining.clear();
      for (const CategorisedEvent& event : events.categorised) {
        if (explains[event.of]) explaining.push_back(event);
      }
      core.idle = IdleTimeOf(WholeOf(key, events, wall, choice), busy.at(key), explaining);
    }
    cores.push_back(std::move(core));
  }
  // By host and process: numbers of processes are texts, and the shorter one is the smaller number.
  const auto place_of = [&events](const CoreIdleTime& core) {
    const NeuronProcess& process = events.processes[core.of.process];
    return std::tuple<std::string_view, size_t, std::string_view, NeuronCoreKey>(
        process.instance, process.process.size(), process.process, core.of);
  };
  std::sort(cores.begin(), cores.end(),
            [&](const CoreIdleTime& a, const CoreIdleTime& b) { return place_of(a) < place_of(b); });
  return cores;
}

void CoreIdleSums::Add(const DeviceIdleTime& of) {
  ++cores;
  wall_ns = SaturatingSum(wall_ns, of.whole.end_ns - of.whole.begin_ns);
  busy_ns = SaturatingSum(busy_ns, of.busy_ns);
  idle_ns = SaturatingSum(idle_ns, of.idle_ns);
  for (size_t i = 0; i < kIdleCategories; ++i) ns[i] = SaturatingSum(ns[i], of.ns[i]);
}

CoreIdleSums SumsOf(std::span<const CoreIdleTime> cores) {
  CoreIdleSums sums;
  for (const CoreIdleTime& core : cores) {
    if (core.idle) sums.Add(*core.idle);
  }
  return sums;
}

}  // namespace kprof
