// The variables that every process of a run carries: by them whoever looks after the run finds what is left of it.
#pragma once

namespace kprof {

// Names the run that a process belongs to.
inline constexpr char kRunIdVariable[] = "KPROF_RUN_ID";
// And the state folder that the run belongs to (daemon/runs/state_marker.h).
inline constexpr char kStateVariable[] = "KPROF_STATE";

}  // namespace kprof
