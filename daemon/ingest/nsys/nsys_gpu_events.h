// What GPUs did, of an Nsight Systems export: kernels, copies, memsets and synchronizations as slices on the tracks of
// their streams, under the categories and the names that Kineto gives them; so are launches of CUDA graphs that were
// traced as a whole, which Kineto does not know. Recorded CUDA events are instants there.
#pragma once

#include "daemon/ingest/nsys/nsys_cursor.h"

namespace kprof {

// What was sampled of GPUs, of an Nsight Systems export: GPU_METRICS as counters, named by TARGET_INFO_GPU_METRICS; and
// GENERIC_EVENTS, whose data is JSON that their sources define, as instants with that as an argument, and what is a
// number in it as counters.
Status ReadNsysGpuMetrics(NsysSource& source, const NsysTable& table);
Status ReadNsysGenericEvents(NsysSource& source, const NsysTable& table);

Status ReadNsysKernels(NsysSource& source, const NsysTable& table);
Status ReadNsysMemcpys(NsysSource& source, const NsysTable& table);
Status ReadNsysMemsets(NsysSource& source, const NsysTable& table);
// Of a graph that is traced node by node there are kernels, copies and memsets instead.
Status ReadNsysGraphs(NsysSource& source, const NsysTable& table);
Status ReadNsysSynchronizations(NsysSource& source, const NsysTable& table);
// One whose completion was not collected has no time: it is metadata.
Status ReadNsysCudaEvents(NsysSource& source, const NsysTable& table);

}  // namespace kprof
