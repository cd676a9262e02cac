// The table of peaks that this process holds kernels against, in every analysis: the built-in one, or the one that
// kprofd installs at its start, which has the file of [devices] peaks over it. The table is part of the program as the
// built-in one is: it never changes while questions are asked, and has no owner that they could outlive.
#pragma once

#include "daemon/devices/peaks/peak_table.h"
#include "storage/base/status.h"

namespace kprof {

// REQUIRES: called once at most, before any thread asks for PeaksInUse.
void InstallPeaks(PeakTable table);

// Lives as long as the program. Any thread. The first call may take a millisecond. Fails as LoadBuiltInPeaks does.
Result<const PeakTable*> PeaksInUse();

}  // namespace kprof
