// Whoever binds the flow points of a part (flow_rules.h) goes along its slices group by group, and reads the points of
// a stretch of time before each group. Which stretches: together they are all of time, and the points that begin at the
// very time of a group's last slice are there before it, since they may touch it.
//
// Pure; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace kprof {

// Both times are in it; of first > last it is empty.
struct TimeWindow {
  int64_t first_ns = 0;
  int64_t last_ns = 0;
  bool Has(int64_t time_ns) const { return time_ns >= first_ns && time_ns <= last_ns; }
};

// `groups`: the begins of the slices of each, first to last; each group begins when the one before has begun its last
// slice, or later. One window each; where there are none, one of all time.
std::vector<TimeWindow> FlowWindowsOf(std::span<const TimeWindow> groups);

}  // namespace kprof
