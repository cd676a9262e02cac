// What was sampled of GPUs, of an Nsight Systems export: GPU_METRICS as counters, named by TARGET_INFO_GPU_METRICS; and
// GENERIC_EVENTS, whose data is JSON that their sources define, as instants with that as an argument, and what is a
// number in it as counters.
#pragma once

#include "daemon/ingest/nsys/nsys_source.h"

namespace kprof {

Status ReadNsysGpuMetrics(NsysSource& source, const NsysTable& table);
Status ReadNsysGenericEvents(NsysSource& source, const NsysTable& table);

}  // namespace kprof
