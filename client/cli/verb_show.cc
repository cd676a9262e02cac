#include "client/cli/durations.h"
#include "client/cli/run_json.h"
#include "client/cli/run_report.h"
#include "client/cli/verbs.h"

namespace kprof::cli {

Status RunVerb(const ShowArgs& args, const VerbContext& context) {
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  ASSIGN_OR_RETURN(v1::Run run, client->GetRun(args.run));
  context.output.Write(context.global.json ? RunJsonLine(run) : FullReport(run, NowUnixNs()));
  return OkStatus();
}

}  // namespace kprof::cli
