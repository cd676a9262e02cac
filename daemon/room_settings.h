// What the configuration allows, and this node's disk, as those take it who keep to it.
#pragma once

#include "daemon/config/config.h"
#include "daemon/ingest/trace_import.h"
#include "daemon/runs/imports/source_spool.h"
#include "daemon/runs/retention/storage_limits.h"

namespace kprof {

// All but whose children its readers are, which is its caller's to say.
ImportLimits ImportLimitsOf(const Config& config);
SpoolLimits SpoolLimitsOf(const Config& config);
// Where it says nothing of what users may store, their fair share of the disk; its size not being known, no limit.
StorageLimits::Values StorageLimitsOf(const Config& config);

}  // namespace kprof
