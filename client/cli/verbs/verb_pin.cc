#include "client/cli/text/terminal_text.h"
#include "client/cli/verbs/verbs.h"
#include "client/cli/views/run_json.h"

namespace kprof::cli {

Status RunVerb(const PinArgs& args, const VerbContext& context) {
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  ASSIGN_OR_RETURN(v1::Run run, args.pin ? client->PinRun(args.run) : client->UnpinRun(args.run));
  std::string done = (args.pin ? "pinned run " : "unpinned run ") + TerminalText(run.id()) + "\n";
  context.output.Write(context.global.json ? RunJsonLine(run) : done);
  return OkStatus();
}

}  // namespace kprof::cli
