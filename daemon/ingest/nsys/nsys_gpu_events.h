// The work and the samples of GPUs in an Nsight Systems export. Kernels, copies, memsets and synchronizations become
// slices on the tracks of their streams, under the categories and the names that Kineto gives them. So do launches of
// CUDA graphs that were traced as a whole, which Kineto does not know. Recorded CUDA events become instants there.
#pragma once

#include "daemon/ingest/nsys/nsys_cursor.h"

namespace kprof {

// GPU_METRICS become counters, named by TARGET_INFO_GPU_METRICS.
Status ReadNsysGpuMetrics(NsysSource& source, const NsysTable& table);
// GENERIC_EVENTS have data in JSON that their sources define. They become instants with that as an argument; each
// number in it becomes a sample of a counter, too.
Status ReadNsysGenericEvents(NsysSource& source, const NsysTable& table);

Status ReadNsysKernels(NsysSource& source, const NsysTable& table);
Status ReadNsysMemcpys(NsysSource& source, const NsysTable& table);
Status ReadNsysMemsets(NsysSource& source, const NsysTable& table);
// A graph that is traced node by node has kernels, copies and memsets instead.
Status ReadNsysGraphs(NsysSource& source, const NsysTable& table);
Status ReadNsysSynchronizations(NsysSource& source, const NsysTable& table);
// An event whose completion was not collected has no time: it becomes metadata.
Status ReadNsysCudaEvents(NsysSource& source, const NsysTable& table);

}  // namespace kprof
