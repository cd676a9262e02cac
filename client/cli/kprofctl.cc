#include "client/cli/kprofctl.h"

#include <variant>

#include "client/cli/command_line.h"
#include "client/cli/find_daemon.h"
#include "client/cli/verbs.h"

namespace kprof::cli {

Status RunVerb(const PrintText& args, const VerbContext& context) {
  context.output.Write(args.text);
  return OkStatus();
}

int RunKprofctl(const std::vector<std::string>& args, Output& output, int64_t reconnect_ms) {
  Result<CommandLine> line = ParseCommandLine(args);
  if (!line.ok()) {
    output.ReportError(line.status(), WantsJson(args));
    return ExitStatusOf(line.status().code());
  }
  VerbContext context{
      line->global, output,
      [candidates = SocketCandidates(line->global.socket, GetProcessVariable)] { return ConnectToDaemon(candidates); },
      reconnect_ms};
  Status status = std::visit([&](const auto& verb_args) { return RunVerb(verb_args, context); }, line->verb);
  Status flushed = output.Flush();
  if (status.ok()) status = flushed;
  if (status.ok()) return 0;
  output.ReportError(status, line->global.json);
  return ExitStatusOf(status.code());
}

}  // namespace kprof::cli
