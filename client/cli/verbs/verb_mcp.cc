#include <unistd.h>

#include "client/cli/mcp/mcp_server.h"
#include "client/cli/verbs/verbs.h"
#include "client/cli/waiting/interrupts.h"

namespace kprof::cli {

Status RunVerb(const McpArgs&, const VerbContext& context) {
  Interrupts interrupts(ExitStatusOf(ErrorCode::kCancelled));
  if (::isatty(STDIN_FILENO) == 1) {
    context.output.Note("a client of the Model Context Protocol writes to standard input; see docs/mcp.md");
  }
  McpServer(context.global, context.output, interrupts).Serve(STDIN_FILENO);
  return OkStatus();
}

}  // namespace kprof::cli
