// What GPUs did, of an Nsight Systems export: kernels, copies, memsets and synchronizations as slices on the tracks of
// their streams, under the categories and the names that Kineto gives them; so are launches of CUDA graphs that were
// traced as a whole, which Kineto does not know. Recorded CUDA events are instants there.
#pragma once

#include "daemon/ingest/nsys/nsys_source.h"

namespace kprof {

Status ReadNsysKernels(NsysSource& source, const NsysTable& table);
Status ReadNsysMemcpys(NsysSource& source, const NsysTable& table);
Status ReadNsysMemsets(NsysSource& source, const NsysTable& table);
// Of a graph that is traced node by node there are kernels, copies and memsets instead.
Status ReadNsysGraphs(NsysSource& source, const NsysTable& table);
Status ReadNsysSynchronizations(NsysSource& source, const NsysTable& table);
// One whose completion was not collected has no time: it is metadata.
Status ReadNsysCudaEvents(NsysSource& source, const NsysTable& table);

}  // namespace kprof
