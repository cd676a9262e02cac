// The events of threads in an Nsight Systems export: calls of CUDA and of the operating system, accesses to files, the
// overhead of profiling, samples and switches.
#pragma once

#include "daemon/ingest/nsys/nsys_cursor.h"

namespace kprof {

// Calls of the CUDA runtime and driver become slices on their threads' tracks.
Status ReadNsysApiCalls(NsysSource& source, const NsysTable& table);
// PROFILER_OVERHEAD and CUPTI_ACTIVITY_KIND_OVERHEAD become slices on tracks beside the threads.
Status ReadNsysOverhead(NsysSource& source, const NsysTable& table);

// A name without the version at its end: cudaLaunchKernel_v7000 is cudaLaunchKernel.
std::string_view WithoutApiVersion(std::string_view name);

// Calls of the operating system's libraries and accesses to files become slices on tracks beside the threads: they may
// cross the threads' own slices.
Status ReadNsysOsCalls(NsysSource& source, const NsysTable& table);
Status ReadNsysFileAccesses(NsysSource& source, const NsysTable& table);
// COMPOSITE_EVENTS become instants on the threads, with the call chain of each.
Status ReadNsysSamples(NsysSource& source, const NsysTable& table);
// A row says that a thread came onto a processor or left it, and becomes an instant. A slice for the time on a
// processor would need two rows, all rows in order, and an end that no row tells where the capture was cut.
Status ReadNsysSwitches(NsysSource& source, const NsysTable& table);

}  // namespace kprof
