// Files that a run's caller gave with the request: what a JSON option says (capture/tools.h) is kept as an artifact,
// params.json or stages.json, however the run ends.
//
// params.json also names what was measured: `tool`, and `kernel` and `version` where the run has these labels. What
// the caller's own object says under these names counts.
//
// Blocks: from a worker.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "daemon/capture/tool.h"
#include "storage/base/files.h"
#include "storage/base/status.h"
#include "storage/catalog/run_row.h"
#include "storage/db/layout.h"

namespace kprof {

// Writes them into the run's folder. REQUIRES: the options passed CheckToolRequest.
Status WriteGivenFiles(Files& files, const Layout& layout, const std::string& run_id, const Tool& tool,
                       const std::vector<std::string>& options, const std::map<std::string, std::string>& labels);

// Those that lie in the run's folder, as artifacts.
Result<std::vector<ArtifactRow>> FindGivenFiles(Files& files, const Layout& layout, const std::string& run_id);

}  // namespace kprof
