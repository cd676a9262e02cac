#include "client/cli/verbs/run_summary.h"

#include <memory>

#include "client/cli/views/received_analysis.h"
#include "client/cli/views/run_text.h"
#include "kprof/v1/analyses.pb.h"

namespace kprof::cli {
namespace {

constexpr int64_t kSummaryTimeoutMs = 10'000;

Result<std::string> AskForSummary(const std::string& run_id, const ScreenFit& fit, const VerbContext& context) {
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  v1::AnalyzeRequest request;
  request.set_kind("summary");
  request.add_runs(run_id);
  request.set_timeout_ms(kSummaryTimeoutMs);
  ReceivedAnalysis answer;
  RETURN_IF_ERROR(
      client->Analyze(request, [&answer](const v1::AnalyzeResponse& message) { return answer.Add(message); }));
  if (!answer.is_whole()) return Fail(ErrorCode::kInternal, "analyze", "kprofd ended the answer before its end");
  return "\n" + SummaryScreen(answer, fit);
}

}  // namespace

std::string SummaryOfRun(const v1::Run& run, const ScreenFit& fit, const VerbContext& context) {
  if (!HasReport(run)) return "";
  Result<std::string> screen = AskForSummary(run.id(), fit, context);
  if (screen.ok()) return *std::move(screen);
  (void)context.output.Flush();
  context.output.Note("no summary: " + screen.status().ToString());
  return "";
}

}  // namespace kprof::cli
