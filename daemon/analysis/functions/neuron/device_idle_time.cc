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

// The time in which any core of a process runs an execution, or nrt_execute waits for it.
class ProcessTime {
 public:
  void Add(const Interval& time) { pieces_.push_back(time); }
  void Finish() {
    std::sort(pieces_.begin(), pieces_.end(),
              [](const Interval& a, const Interval& b) { return a.begin_ns < b.begin_ns; });
    std::vector<Interval> merged;
    for (const Interval& piece : pieces_) AppendInterval(piece.begin_ns, piece.end_ns, merged);
    pieces_ = std::move(merged);
    before_ns_.reserve(pieces_.size());
    int64_t before_ns = 0;
    for (const Interval& piece : pieces_) {
      before_ns_.push_back(before_ns);
      before_ns += piece.end_ns - piece.begin_ns;
    }
  }
  // How much of it lies within. REQUIRES: it is finished.
  int64_t Within(const Interval& time) const { return Before(time.end_ns) - Before(time.begin_ns); }

 private:
  int64_t Before(int64_t time_ns) const {
    const auto behind = std::upper_bound(pieces_.begin(), pieces_.end(), time_ns,
                                         [](int64_t at_ns, const Interval& piece) { return at_ns < piece.begin_ns; });
    if (behind == pieces_.begin()) return 0;
    const auto at = static_cast<size_t>(behind - pieces_.begin()) - 1;
    return before_ns_[at] + std::min(time_ns, pieces_[at].end_ns) - pieces_[at].begin_ns;
  }

  std::vector<Interval> pieces_;    // disjoint, in order
  std::vector<int64_t> before_ns_;  // of all before each
};

// Time of a core that is not attributed is not its own execution's or call's: it is another core's.
std::map<uint32_t, ProcessTime> ProcessTimes(const NeuronEvents& events,
                                             const std::map<NeuronCoreKey, std::vector<Interval>>& busy) {
  std::map<uint32_t, ProcessTime> times;
  for (const auto& [core, pieces] : busy) {
    for (const Interval& piece : pieces) times[core.process].Add(piece);
  }
  for (const NeuronHostCall& call : events.host_calls) {
    if (!call.is_async && call.duration_ns()) times[call.of.process].Add({call.start_ns, call.end_ns});
  }
  for (auto& [process, time] : times) time.Finish();
  return times;
}

// Goes along time, and knows the innermost event at each.
class InnermostEvents {
 public:
  InnermostEvents(const std::vector<CategorisedEvent>& in_order, const ProcessTime& process)
      : events_(in_order), process_(process) {}

  // Adds the time of [begin, end) by category, and of what has none that in which another core of the process ran.
  // REQUIRES: it begins no earlier than the last one ended.
  void AddTimes(const Interval& time, IdleNs& ns, int64_t& other_core_ns) {
    int64_t at_ns = time.begin_ns;
    while (at_ns < time.end_ns) {
      for (; next_ < events_.size() && events_[next_].start_ns <= at_ns; ++next_) open_.push(&events_[next_]);
      while (!open_.empty() && open_.top()->end_ns <= at_ns) open_.pop();
      int64_t until_ns = next_ < events_.size() ? std::min(time.end_ns, events_[next_].start_ns) : time.end_ns;
      IdleCategory category = IdleCategory::kUnattributed;
      if (!open_.empty()) {
        category = open_.top()->category;
        until_ns = std::min(until_ns, open_.top()->end_ns);
      } else {
        other_core_ns += process_.Within({at_ns, until_ns});
      }
      ns[static_cast<size_t>(category)] += until_ns - at_ns;
      at_ns = until_ns;
    }
  }

 private:
  const std::vector<CategorisedEvent>& events_;
  const ProcessTime& process_;
  size_t next_ = 0;
  std::priority_queue<const CategorisedEvent*, std::vector<const CategorisedEvent*>, IsOuter> open_;
};

// `busy`: disjoint, in order. `events`: in the order of their begins.
DeviceIdleTime IdleTimeOf(const Interval& whole, const std::vector<Interval>& busy,
                          const std::vector<CategorisedEvent>& events, const ProcessTime& process) {
  DeviceIdleTime idle{.whole = whole};
  InnermostEvents innermost(events, process);
  int64_t at_ns = whole.begin_ns;
  const auto add_gap = [&](int64_t until_ns, DeviceGap::Place place) {
    if (until_ns <= at_ns) return;
    DeviceGap gap{.time = {at_ns, until_ns}, .place = place};
    innermost.AddTimes(gap.time, gap.ns, idle.other_core_ns);
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

// Events of the runtime by the NeuronCore that they tell.
class EventsByCore {
 public:
  explicit EventsByCore(NeuronEvents& events) : events_(events) {
    std::sort(events.categorised.begin(), events.categorised.end(),
              [](const CategorisedEvent& a, const CategorisedEvent& b) {
                return std::tie(a.of, a.start_ns) < std::tie(b.of, b.start_ns);
              });
    first_.resize(events.cores.size() + 1);
    for (const CategorisedEvent& event : events.categorised) ++first_[event.of + 1];
    for (size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
    for (size_t i = 0; i < events.cores.size(); ++i) {
      places_[{events.cores[i].process, std::max<int64_t>(events.cores[i].nc, kNoCore)}].push_back(i);
    }
  }

  // Those that explain idle time of a core, in the order of their begins: its own, and those that tell no core; all of
  // its process where it tells no number itself. One without a worker is of all workers.
  void Find(const NeuronCoreKey& core, std::vector<CategorisedEvent>& found) const {
    found.clear();
    size_t lists = 0;
    const auto add = [&](const std::vector<size_t>& places) {
      for (const size_t place : places) {
        const int64_t worker = events_.cores[place].worker;
        if (worker >= 0 && core.worker >= 0 && worker != core.worker) continue;
        found.insert(found.end(), events_.categorised.begin() + first_[place],
                     events_.categorised.begin() + first_[place + 1]);
        ++lists;
      }
    };
    if (core.nc >= 0) {
      for (const int64_t nc : {kNoCore, core.nc}) {
        const auto at = places_.find({core.process, nc});
        if (at != places_.end()) add(at->second);
      }
    } else {
      auto at = places_.lower_bound({core.process, kNoCore});
      for (; at != places_.end() && at->first.first == core.process; ++at) add(at->second);
    }
    if (lists < 2) return;
    std::sort(found.begin(), found.end(),
              [](const CategorisedEvent& a, const CategorisedEvent& b) { return a.start_ns < b.start_ns; });
  }

 private:
  static constexpr int64_t kNoCore = -1;

  const NeuronEvents& events_;
  std::vector<int64_t> first_;                                          // of each core's, and the end
  std::map<std::pair<uint32_t, int64_t>, std::vector<size_t>> places_;  // by process and number
};

bool IsChosen(const NeuronCoreKey& core, const NeuronEvents& events, const CoreChoice& choice) {
  const RuntimeProcess& process = events.processes[core.process];
  return (!choice.nc || *choice.nc == core.nc) && (!choice.process || *choice.process == process.process) &&
         (!choice.instance || *choice.instance == process.instance);
}

// The time of a core that is looked at.
Interval WholeOf(const NeuronCoreKey& core, const NeuronEvents& events, const Interval& wall,
                 const CoreChoice& choice) {
  Interval whole = wall;
  const RuntimeProcess& process = events.processes[core.process];
  const bool is_measured = events.wall && *events.wall == wall;
  if (!is_measured && process.first_ns) whole = {*process.first_ns, *process.last_ns};
  if (choice.from_ns) whole.begin_ns = std::max(whole.begin_ns, SafeTime(*choice.from_ns));
  if (choice.to_ns) whole.end_ns = std::min(whole.end_ns, SafeTime(*choice.to_ns));
  whole.end_ns = std::max(whole.begin_ns, whole.end_ns);
  return whole;
}

// The cores that are chosen, by host and process: numbers of processes are texts, and the shorter one is the smaller
// number.
CoreIdleTimes ChosenCores(const NeuronEvents& events, const CoreChoice& choice) {
  std::map<NeuronCoreKey, int64_t> unplaced;
  for (const NeuronCoreRow& row : events.core_rows) {
    unplaced[row.of] += row.start_ns == kNoValue || row.end_ns == kNoValue ? 1 : 0;
  }
  CoreIdleTimes chosen;
  for (const auto& [key, count] : unplaced) {
    if (IsChosen(key, events, choice)) chosen.cores.push_back({.of = key, .unplaced = count, .idle = {}});
  }
  const auto place_of = [&events](const CoreIdleTime& core) {
    const RuntimeProcess& process = events.processes[core.of.process];
    return std::tuple<std::string_view, size_t, std::string_view, NeuronCoreKey>(
        process.instance, process.process.size(), process.process, core.of);
  };
  std::sort(chosen.cores.begin(), chosen.cores.end(),
            [&](const CoreIdleTime& a, const CoreIdleTime& b) { return place_of(a) < place_of(b); });
  if (chosen.cores.size() > kMostIdleCores) {
    chosen.left_out = static_cast<int64_t>(chosen.cores.size() - kMostIdleCores);
    chosen.cores.resize(kMostIdleCores);
  }
  return chosen;
}

}  // namespace

Result<CoreIdleTimes> CoreIdleTimesOf(NeuronEvents& events, const Interval& wall, const CoreChoice& choice,
                                      MemoryCharge& charge, const StopSignal& stop) {
  const auto bytes = events.core_rows.size() * (2 * sizeof(Interval) + sizeof(DeviceGap)) +
                     events.categorised.size() * sizeof(CategorisedEvent) +
                     (events.core_rows.size() + events.host_calls.size()) * (2 * sizeof(Interval) + sizeof(int64_t));
  RETURN_IF_ERROR(charge.Grow(static_cast<int64_t>(bytes)));
  CoreIdleTimes times = ChosenCores(events, choice);
  const EventsByCore by_core(events);
  const std::map<NeuronCoreKey, std::vector<Interval>> busy = NeuronBusyOf(events);
  const std::map<uint32_t, ProcessTime> processes = ProcessTimes(events, busy);
  std::map<NeuronCoreKey, int64_t> rows;
  for (const NeuronCoreRow& row : events.core_rows) ++rows[row.of];
  std::vector<CategorisedEvent> explaining;
  for (CoreIdleTime& core : times.cores) {
    RETURN_IF_ERROR(StillWanted(stop));
    if (rows.at(core.of) == core.unplaced) continue;
    by_core.Find(core.of, explaining);
    core.idle =
        IdleTimeOf(WholeOf(core.of, events, wall, choice), busy.at(core.of), explaining, processes.at(core.of.process));
  }
  return times;
}

void CoreIdleSums::Add(const DeviceIdleTime& of) {
  ++cores;
  wall_ns = SaturatingSum(wall_ns, of.whole.end_ns - of.whole.begin_ns);
  busy_ns = SaturatingSum(busy_ns, of.busy_ns);
  idle_ns = SaturatingSum(idle_ns, of.idle_ns);
  other_core_ns = SaturatingSum(other_core_ns, of.other_core_ns);
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
