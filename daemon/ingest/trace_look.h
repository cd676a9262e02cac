// Looks at a source before it is imported, to learn of its job (source_facts.h). As for an import (trace_import.h),
// a kprof-ingest of its own takes the file apart, in its sandbox and with its limits; it ends as soon as the look does.
//
// Blocks, mostly for some milliseconds; for a second where the end of a large packed source is to be seen, and never
// for longer than ImportLimits::look_ms.
#pragma once

#include <optional>
#include <stop_token>

#include "daemon/ingest/source/source_facts.h"
#include "daemon/ingest/trace_import.h"
#include "storage/base/status.h"

namespace kprof {

struct SourceLook {
  std::optional<Status> no_trace;  // why the source is no trace at all; there are no facts then
  SourceFacts facts;
};

// The file of `source`, its name and its format count. No facts where the look took too long. Fails as ImportTrace
// does, for what the look sees.
Result<SourceLook> LookAtTrace(const ImportSource& source, const ImportLimits& limits, const std::stop_token& stop);

}  // namespace kprof
