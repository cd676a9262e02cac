// What the operating system did for threads, of an Nsight Systems export: calls of its libraries and files' accesses as
// slices on tracks beside the threads, whose own slices they may cross; samples and switches of threads as instants on
// the threads.
#pragma once

#include "daemon/ingest/nsys/nsys_cursor.h"

namespace kprof {

// What threads called and what profiling cost them, of an Nsight Systems export: calls of the CUDA runtime and driver
// as slices on their threads' tracks; overhead as slices on tracks beside them.
Status ReadNsysApiCalls(NsysSource& source, const NsysTable& table);
// Of PROFILER_OVERHEAD and CUPTI_ACTIVITY_KIND_OVERHEAD.
Status ReadNsysOverhead(NsysSource& source, const NsysTable& table);

// Without the version at its end: cudaLaunchKernel_v7000 is cudaLaunchKernel.
std::string_view WithoutApiVersion(std::string_view name);

Status ReadNsysOsCalls(NsysSource& source, const NsysTable& table);
Status ReadNsysFileAccesses(NsysSource& source, const NsysTable& table);
// COMPOSITE_EVENTS, with the call chain of each.
Status ReadNsysSamples(NsysSource& source, const NsysTable& table);
// A row says that a thread came onto a processor or left it, and stays that: an instant. To make of two rows the time
// that it ran would take all of them in order, and ends that no row tells where the capture cut them.
Status ReadNsysSwitches(NsysSource& source, const NsysTable& table);

}  // namespace kprof
