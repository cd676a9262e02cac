// The table that comes with kprofd: peaks.csv beside this file, which the build puts into the program
// (embed_text.cmake).
#pragma once

#include "daemon/devices/peaks/peak_table.h"
#include "storage/base/status.h"

namespace kprof {

// Takes about a millisecond. Fails, with kBadInput, only where peaks.csv has a mistake, which a unit test finds.
Result<PeakTable> LoadBuiltInPeaks();

}  // namespace kprof
