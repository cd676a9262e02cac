// The time in which a logical NeuronCore runs nothing, and what it waits for. Each nanosecond of it belongs to one
// category: that of the innermost event of the runtime around it, which of those that are open began last; or to none
// (unattributed). So categories add up to the idle time, exactly. Events that are of another process, or of another
// NeuronCore, explain nothing of it. What is left is told apart by whether the process was at another of its cores.
//
// Pure. O(n log n); events that tell no core are gone through for each core of their process.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "daemon/analysis/functions/neuron/neuron_events.h"
#include "daemon/analysis/operators/interval_sweep.h"
#include "storage/base/memory_charge.h"
#include "storage/base/status.h"

namespace kprof {

using IdleNs = std::array<int64_t, kIdleCategories>;

struct DeviceGap {
  enum class Place : uint8_t { kBefore, kBetween, kAfter, kAll };
  Interval time;
  Place place = Place::kBetween;
  IdleNs ns{};
};

struct DeviceIdleTime {
  Interval whole;
  int64_t busy_ns = 0;     // within the whole
  int64_t outside_ns = 0;  // of executions, outside of it
  int64_t idle_ns = 0;
  IdleNs ns{};
  int64_t other_core_ns = 0;  // of what is unattributed: another core of the process ran, or nrt_execute waited for it
  std::vector<DeviceGap> gaps;  // in the order of time
};

struct CoreIdleTime {
  NeuronCoreKey of;
  int64_t unplaced = 0;                // executions on its physical cores without a begin or an end on the host's clock
  std::optional<DeviceIdleTime> idle;  // nothing: none has both
};

// The cores that are looked at, and when.
struct CoreChoice {
  std::optional<int64_t> nc;
  std::optional<std::string> process;
  std::optional<std::string> instance;
  std::optional<int64_t> from_ns;
  std::optional<int64_t> to_ns;
};

struct CoreIdleTimes {
  std::vector<CoreIdleTime> cores;
  int64_t left_out = 0;  // more than kMostIdleCores
};
constexpr size_t kMostIdleCores = 4096;

// The idle time of each core that runs something, in the order of hosts, processes and cores. The whole time of one is
// `wall` where its profiler measured it (NeuronWallOf), else that from the first event of its process to the last one.
// Sorts the events. Fails as `charge` does, and where nobody wants it any more.
Result<CoreIdleTimes> CoreIdleTimesOf(NeuronEvents& events, const Interval& wall, const CoreChoice& choice,
                                      MemoryCharge& charge, const StopSignal& stop);

// Sums over cores whose idle time is known.
struct CoreIdleSums {
  int64_t cores = 0;
  int64_t wall_ns = 0;
  int64_t busy_ns = 0;
  int64_t idle_ns = 0;
  IdleNs ns{};
  int64_t other_core_ns = 0;

  void Add(const DeviceIdleTime& of);
};
CoreIdleSums SumsOf(std::span<const CoreIdleTime> cores);

}  // namespace kprof
