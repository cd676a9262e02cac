// Writes the slices of trace parts as lines of RFC 4180, with a line of names above them:
//
//   rank, track, process, kind, device, stream, ts_ns, dur_ns, name, category, depth, correlation, args, beside
//
// Times count from the base of their part. An unknown value is empty. `args` and `beside` (the members beside the
// arguments) are JSON, empty if there are none.
//
// Blocks; one thread. Memory as chrome_export.h.
#pragma once

#include <span>

#include "daemon/exports/trace_export.h"
#include "storage/base/status.h"

namespace kprof {

// Fails as the parts do, as the sink does, and with kCancelled.
Status ExportCsv(std::span<const ExportPart> parts, const ExportSink& sink, const ExportWatch& watch);

}  // namespace kprof
