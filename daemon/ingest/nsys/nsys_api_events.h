// What threads called and what profiling cost them, of an Nsight Systems export: calls of the CUDA runtime and driver
// as slices on their threads' tracks; overhead as slices on tracks beside them.
#pragma once

#include "daemon/ingest/nsys/nsys_source.h"

namespace kprof {

Status ReadNsysApiCalls(NsysSource& source, const NsysTable& table);
// Of PROFILER_OVERHEAD and CUPTI_ACTIVITY_KIND_OVERHEAD.
Status ReadNsysOverhead(NsysSource& source, const NsysTable& table);

// Without the version at its end: cudaLaunchKernel_v7000 is cudaLaunchKernel.
std::string_view WithoutApiVersion(std::string_view name);

}  // namespace kprof
