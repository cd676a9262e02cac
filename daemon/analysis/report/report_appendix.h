// The end of a verbose report: what the caller's command left beside it, the device and the session. One thread, that
// of the parts.
#pragma once

#include <string>
#include <vector>

#include "daemon/analysis/functions/kernel_reports/measured_metrics.h"
#include "daemon/analysis/report/reported_run.h"
#include "storage/base/status.h"

namespace kprof {

// `metrics`: of a kernel; those of its device stand in where the report has no table of devices. Fails as reading does.
Result<std::string> ReportAppendix(const ReportedRun& of, const std::vector<MeasuredMetric>& metrics,
                                   const StopSignal& stop);

}  // namespace kprof
