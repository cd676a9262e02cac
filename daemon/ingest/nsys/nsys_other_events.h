// Tables of an Nsight Systems export that nobody here knows, but that have the times of events: all of a row is kept,
// under the table's name, on a track that its columns tell (a stream, a thread, a process). And what the tool says of
// its own work.
#pragma once

#include "daemon/ingest/nsys/nsys_source.h"

namespace kprof {

Status ReadNsysDiagnostics(NsysSource& source, const NsysTable& table);

// With a start, a timestamp or the like, and maybe an end.
bool HasNsysTimes(const NsysTable& table);
// REQUIRES: HasNsysTimes(table).
Status ReadNsysOtherEvents(NsysSource& source, const NsysTable& table);

}  // namespace kprof
