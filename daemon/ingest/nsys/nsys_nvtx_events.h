// The marks that programs set themselves, in an Nsight Systems export: NVTX_EVENTS. Ranges that were pushed and popped
// become slices on their threads' tracks. Ranges that were started and ended may cross: they become slices on one track
// for each process and domain. Marks become instants; names of domains, categories, threads and devices become
// metadata.
#pragma once

#include "daemon/ingest/nsys/nsys_cursor.h"

namespace kprof {

Status ReadNsysNvtx(NsysSource& source, const NsysTable& table);

}  // namespace kprof
