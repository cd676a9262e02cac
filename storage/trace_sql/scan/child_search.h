// Where the children of slices are, for who asks by parent_id: on the track of a parent, within its time, one level
// below it; those of several on their tracks, within the time of all of them.
#pragma once

#include "storage/base/status.h"
#include "storage/trace_sql/scan/scan_filter.h"
#include "storage/trace_sql/trace_set.h"

namespace kprof {

// Narrows the filter to that, where it names few parents; they are still to be compared.
Status NarrowToChildren(TraceSet& set, EventKind kind, ScanFilter& filter);

}  // namespace kprof
