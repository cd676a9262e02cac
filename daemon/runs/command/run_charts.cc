#include "daemon/runs/command/run_charts.h"

#include <algorithm>

#include "storage/crypto/sha256.h"

namespace kprof {

Result<std::vector<ArtifactRow>> KeepRunCharts(const std::vector<RunChart>& charts, Files& files, const Layout& layout,
                                               const std::string& run_id, const std::vector<ArtifactRow>& taken) {
  std::vector<ArtifactRow> kept;
  for (const RunChart& chart : charts) {
    const bool is_taken = std::any_of(taken.begin(), taken.end(),
                                      [&chart](const ArtifactRow& artifact) { return artifact.name == chart.name; });
    if (is_taken) continue;
    ASSIGN_OR_RETURN(const std::unique_ptr<File> file, files.Create(layout.ArtifactPath(run_id, chart.name)));
    RETURN_IF_ERROR(file->Append(chart.bytes));
    RETURN_IF_ERROR(file->Sync());
    kept.push_back({chart.name, static_cast<int64_t>(chart.bytes.size()), Sha256Of(chart.bytes)});
  }
  if (!kept.empty()) RETURN_IF_ERROR(files.SyncFolder(layout.RunFolder(run_id)));
  return kept;
}

}  // namespace kprof
