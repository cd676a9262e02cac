// The time in which a Neuron device runs nothing, and what it waits for. Each nanosecond of it belongs to one category:
// that of the innermost event of the runtime around it, which of those that are open began last; or to none
// (unattributed). So categories add up to the idle time, exactly.
//
// Pure. O(n log n).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "daemon/analysis/functions/neuron/neuron_events.h"
#include "daemon/analysis/operators/interval_sweep.h"

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
  std::vector<DeviceGap> gaps;  // in the order of time
};

// `busy`: disjoint, in order. `events` in any order.
DeviceIdleTime IdleTimeOf(const Interval& whole, const std::vector<Interval>& busy,
                          std::vector<CategorisedEvent> events);

}  // namespace kprof
