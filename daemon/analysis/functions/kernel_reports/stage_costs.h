// The work of stages as their maker tells it: FLOP and bytes of one execution, which no counter has to measure.
//
//   {"attention": {"flops": 8.6e9, "bytes": 2.1e8, "dtype": "bf16"}, "combine": {"bytes": 4e6}}
//
// A stage is found in a report by its name: as one of the NVTX ranges around launches, else as a kernel's bare name,
// else as a text in kernels' names. Pure; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/analysis/functions/kernel_reports/kernel_reports.h"
#include "storage/base/status.h"

namespace kprof {

struct StageCost {
  std::string stage;
  std::optional<double> flops;
  std::optional<double> bytes;
  std::string dtype;            // of the table of peaks: "bf16"; empty: not told
  std::optional<double> times;  // how often the report has it executed; nothing: told by its kernels
};

// In the order in which they stand. Fails with kUsage for a text that is not of that form, naming the place, and for
// more than 256 stages or 64 KiB.
Result<std::vector<StageCost>> ReadStageCosts(std::string_view text);

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
