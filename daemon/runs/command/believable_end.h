// What a supervisor says of a command's end, as far as it is possible. One that runs as its caller may say anything;
// what it says becomes metrics and trust of that caller's run, on which others' lists, sums and graphs are built.
#pragma once

#include <cstdint>

#include "daemon/launch/launch_protocol.h"

namespace kprof {

// `elapsed_ns`: since the launch, by our clock. Times lie within it, CPU times within it on all CPUs, memory within
// this machine's; counts are counts, an exit code is one. What was printed is not among it: that the daemon counts
// itself (output_intake.h). Any thread.
CommandEnded ClampReportedEnd(CommandEnded said, int64_t elapsed_ns);

}  // namespace kprof
