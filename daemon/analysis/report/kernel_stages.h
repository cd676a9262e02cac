// The stages of a run whose kernels a profiler measured: those that the caller named, else NVTX ranges, then kernels,
// each with its numbers, its verdict and its place under the device's roof.
//
// One thread, that of the parts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/report/report.h"
#include "daemon/analysis/report/reported_run.h"
#include "storage/base/status.h"

namespace kprof {

// The kernel that a stage is, or the longest of those that it is made of, as answers of analyses name it.
struct StageKernel {
  std::string name;
  std::optional<double> rank;
  std::optional<double> device;
  bool is_any = false;  // whichever rank and device it ran on

  bool Is(const std::string& kernel, std::optional<double> of_rank, std::optional<double> of_device) const {
    return kernel == name && (is_any || (of_rank == rank && of_device == device));
  }
};

// Fills `device`, `policy`, `stages`, `measured_ns` and `roof`, and adds notes. One kernel for each of the stages is
// returned. Fails as the analyses do.
Result<std::vector<StageKernel>> AddKernelStages(const ReportedRun& of, const StopSignal& stop, Report& report);

}  // namespace kprof
