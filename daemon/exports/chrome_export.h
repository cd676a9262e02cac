// Writes trace parts as a Chrome trace (JSON, the object form). A single part becomes a text that reads back as the
// same rows and the same facts. docs/exports.md says what is kept, and how several parts go into one file.
//
// Blocks; one thread. Memory: the columns of a segment, and some MiB.
#pragma once

#include <span>

#include "daemon/exports/trace_export.h"
#include "storage/base/status.h"

namespace kprof {

// Fails as the parts do, as the sink does, and with kCancelled.
Status ExportChrome(std::span<const ExportPart> parts, const ExportSink& sink, const ExportWatch& watch);

}  // namespace kprof
