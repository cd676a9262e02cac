#include "client/cli/text/terminal_text.h"
#include "client/cli/verbs/verbs.h"
#include "client/cli/views/run_json.h"

namespace kprof::cli {

Status RunVerb(const CancelArgs& args, const VerbContext& context) {
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  v1::CancelRunRequest request;
  request.set_id(args.run);
  ASSIGN_OR_RETURN(v1::Run run, client->CancelRun(request));
  context.output.Write(context.global.json ? RunJsonLine(run) : "cancelling run " + TerminalText(run.id()) + "\n");
  return OkStatus();
}

}  // namespace kprof::cli
