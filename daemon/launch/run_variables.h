// The variables that every process of a run carries. By the first two whoever looks after the run finds what is left of
// it.
#pragma once

namespace kprof {

// Names the run that a process belongs to.
inline constexpr char kRunIdVariable[] = "KPROF_RUN_ID";
// And the state folder that the run belongs to (state_marker.h).
inline constexpr char kStateVariable[] = "KPROF_STATE";
// Where to write metrics of the run, a JSON object a line: the path of a pipe of its supervisor's
// (metric_pipe.h).
inline constexpr char kMetricsVariable[] = "KPROF_METRICS";

}  // namespace kprof
