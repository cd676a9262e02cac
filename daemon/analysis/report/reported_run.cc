#include "daemon/analysis/report/reported_run.h"

#include <utility>

#include "daemon/launch/given/json_text.h"
#include "daemon/launch/given/stage_costs.h"

namespace kprof {
namespace {

// Empty where the run has no artifact of that name.
Result<std::string> ReadGivenFile(const RunRow& run, const char* name, Files& files, const Layout& layout) {
  const ArtifactRow* artifact = FindArtifact(run, name);
  constexpr auto kMostBytes = static_cast<int64_t>(kMostJsonBytes);
  if (artifact == nullptr || artifact->size_bytes > kMostBytes) return std::string();
  return ReadWholeFile(files, layout.ArtifactPath(run.id, name), kMostBytes);
}

}  // namespace

Result<ReportedRun> ReadReportedRun(const RunRow& run, AnalysisTraces traces, Files& files, const Layout& layout) {
  ASSIGN_OR_RETURN(std::string params, ReadGivenFile(run, "params.json", files, layout));
  ASSIGN_OR_RETURN(std::string stages, ReadGivenFile(run, "stages.json", files, layout));
  ReportedRun reported{run, std::move(traces), std::move(params), {}};
  Result<std::string> text = GivenStagesText(stages, reported.params);
  const Status checked = !text.ok() || text->empty() ? text.status() : ReadStageCosts(*text, "stages").status();
  if (checked.ok()) {
    reported.stages = *std::move(text);
  } else {
    reported.stages_fault = checked.ToString();  // a run of long ago, or whose tool checks no stages
  }
  return reported;
}

}  // namespace kprof
