#include "client/cli/verbs/run_summary.h"

#include <memory>

#include "client/cli/views/received_analysis.h"
#include "client/cli/views/run_text.h"
#include "client/cli/views/samples_screen.h"
#include "kprof/v1/analyses.pb.h"

namespace kprof::cli {
namespace {

constexpr int64_t kSummaryTimeoutMs = 10'000;

Result<std::string> AskForScreen(const std::string& kind, const std::string& run_id, const ScreenFit& fit,
                                 const VerbContext& context) {
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  v1::AnalyzeRequest request;
  request.set_kind(kind);
  request.add_runs(run_id);
  request.set_timeout_ms(kSummaryTimeoutMs);
  ReceivedAnalysis answer;
  RETURN_IF_ERROR(
      client->Analyze(request, [&answer](const v1::AnalyzeResponse& message) { return answer.Add(message); }));
  if (!answer.is_whole()) return Fail(ErrorCode::kInternal, "analyze", "kprofd ended the answer before its end");
  return "\n" + (kind == "samples" ? SamplesScreen(answer, fit) : SummaryScreen(answer, fit));
}

}  // namespace

std::string SummaryOfRun(const v1::Run& run, const ScreenFit& fit, const VerbContext& context) {
  const bool has_samples = run.tool() == "event" && run.has_trace();
  if (!has_samples && !HasReport(run)) return "";
  Result<std::string> screen = AskForScreen(has_samples ? "samples" : "summary", run.id(), fit, context);
  if (screen.ok()) return *std::move(screen);
  (void)context.output.Flush();
  context.output.Note("no summary: " + screen.status().ToString());
  return "";
}

}  // namespace kprof::cli
