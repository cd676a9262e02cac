// What programs say of themselves, of an Nsight Systems export: NVTX_EVENTS. Ranges that were pushed and popped are
// slices on their threads' tracks; those started and ended, which may cross, on one track for each process and domain;
// marks are instants; what names domains, categories, threads and devices is metadata.
#pragma once

#include "daemon/ingest/nsys/nsys_cursor.h"

namespace kprof {

Status ReadNsysNvtx(NsysSource& source, const NsysTable& table);

}  // namespace kprof
