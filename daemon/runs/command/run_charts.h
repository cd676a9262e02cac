// The charts of a run that a profiler of kernels measured: drawn once its parts are stored, by what analyses know, and
// kept as artifacts beside them. The run does not wait for anything else that a chart could show: its report is made
// when it is asked for.
//
// Blocks: from a thread of a pool.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "storage/base/files.h"
#include "storage/base/status.h"
#include "storage/catalog/run_row.h"
#include "storage/db/layout.h"

namespace kprof {

struct RunChart {
  std::string name;  // of the artifact
  std::string bytes;
};

// Draws the charts of a run whose parts and artifacts lie in its folder. `run`: as it is about to be stored.
using DrawRunCharts = std::function<Result<std::vector<RunChart>>(const RunRow& run, const std::stop_token& stop)>;

// Writes them into the run's folder, beside `taken`; one whose name is taken is left out. Durable when it succeeds.
Result<std::vector<ArtifactRow>> KeepRunCharts(const std::vector<RunChart>& charts, Files& files, const Layout& layout,
                                               const std::string& run_id, const std::vector<ArtifactRow>& taken);

}  // namespace kprof
