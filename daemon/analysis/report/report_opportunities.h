// The advice of a report: the findings on its run, each cause once, the largest gain first; what each of its
// stages suffers from most; and which rules could not be asked.
//
// One thread, that of the parts.
#pragma once

#include <span>
#include <string>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/report/kernel_stages.h"
#include "daemon/analysis/report/report.h"
#include "daemon/analysis/report/reported_run.h"
#include "storage/base/status.h"

namespace kprof {

// Fills `opportunities`, `unasked` and the stages' `issue`. `kernels`: of the stages, one each. `are_measured`: a
// profiler of kernels measured them. Returns what a rule says of the first stage; empty: none does. Fails as the
// analysis does.
Result<std::string> AddOpportunities(const ReportedRun& of, std::span<const StageKernel> kernels, bool are_measured,
                                     const StopSignal& stop, Report& report);

}  // namespace kprof
