#include "client/cli/grammar/command_line.h"
#include "client/cli/verbs/completion.h"
#include "client/cli/verbs/verbs.h"

namespace kprof::cli {

Status RunVerb(const CompletionArgs& args, const VerbContext& context) {
  ASSIGN_OR_RETURN(std::string script, CompletionScript(args.shell, DescribeCommandLine()));
  context.output.Write(script);
  return OkStatus();
}

}  // namespace kprof::cli
