// The launches of a report that a stage is made of. A stage is found by its name: as one of the NVTX ranges around
// launches, else as a kernel's bare name, else as a text in kernels' names. Pure; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/analysis/functions/kernel_reports/kernel_reports.h"
#include "daemon/launch/given/stage_costs.h"

namespace kprof {

// The launches of a stage in one run and rank.
struct StageLaunches {
  std::string run;
  std::optional<int64_t> rank;
  const ReportKernel* longest = nullptr;  // of its kernels
  std::vector<size_t> launches;
  size_t kernels = 0;
  std::string_view found_by;  // range, function, name
  double ns = 0;              // of all launches
  double times = 0;           // the stage was executed so often: as often as the rarest of its kernels
};
std::vector<StageLaunches> FindStage(const KernelReports& reports, const StageCost& stage);

}  // namespace kprof
