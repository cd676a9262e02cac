#include "client/cli/text/amounts_and_times.h"
#include "client/cli/verbs/verbs.h"
#include "client/cli/views/run_json.h"
#include "client/cli/views/run_outcome.h"
#include "client/cli/views/run_text.h"
#include "client/cli/waiting/find_run.h"
#include "client/cli/waiting/follow_run.h"

namespace kprof::cli {

Status RunVerb(const WaitArgs& args, const VerbContext& context) {
  // No daemon at all is told at once; only one that goes away later is waited for. The whole id, because @last moves
  // on.
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  FollowOptions options = {
      .act = "wait for run", .hold = false, .interrupt_cancels = false, .reconnect_ms = context.reconnect_ms};
  ASSIGN_OR_RETURN(v1::Run found, FindRun(*client, args.run, options.act));
  Interrupts interrupts(ExitStatusOf(ErrorCode::kCancelled));
  ASSIGN_OR_RETURN(v1::Run run, FollowRun(context.connect, found.id(), options, interrupts, context.output));
  context.output.Write(context.global.json ? RunJsonLine(run) : OneLineReport(run, NowUnixNs()) + "\n");
  return OutcomeOf(run);
}

}  // namespace kprof::cli
