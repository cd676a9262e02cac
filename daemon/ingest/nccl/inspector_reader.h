// Reads logs of NCCL Inspector, a profiler plug-in of NCCL: JSON lines, an object for each finished operation of a
// process. Each becomes a slice on the track of its communicator. A log with event traces (NCCL_INSPECTOR_DUMP_VERBOSE)
// says when operations began. Another says how long they took alone: its slices stand one behind the other, and its
// fact `begin_times` is "unknown" (docs/trace_format.md#from-nccl-inspector).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "daemon/ingest/assemble/batch_sink.h"
#include "daemon/ingest/source/text_source.h"
#include "storage/base/status.h"

namespace kprof {

// Fails with kBadInput where not one object can be read. Lines that are none are left out, with a warning; so are
// objects of more than `most_bytes`.
Status ReadNcclInspector(TextSource& text, BatchSink& sink, int64_t most_bytes);

// True for an object that begins with the header of such a line.
bool LooksLikeNcclInspector(std::span<const char> first);

}  // namespace kprof
