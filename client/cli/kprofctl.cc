#include "client/cli/kprofctl.h"

#include <variant>

#include "client/cli/find_daemon.h"
#include "client/cli/grammar/command_line.h"
#include "client/cli/verbs/verbs.h"

namespace kprof::cli {

Status RunVerb(const PrintText& args, const VerbContext& context) {
  context.output.Write(args.text);
  return OkStatus();
}

namespace {

RunFollower::Connect ConnectTo(const std::optional<NodeAddress>& node, const GlobalOptions& options) {
  if (node) return [node = *node] { return KprofClient::ConnectToNode(node); };
  return [candidates = SocketCandidates(options.socket, GetProcessVariable)] { return ConnectToDaemon(candidates); };
}

}  // namespace

int RunKprofctl(const std::vector<std::string>& args, Output& output, int64_t reconnect_ms) {
  Result<CommandLine> line = ParseCommandLine(args);
  if (!line.ok()) {
    output.ReportError(line.status(), WantsJson(args));
    return ExitStatusOf(line.status().code());
  }
  Result<std::optional<NodeAddress>> node = ChooseNode(line->global, GetProcessVariable);
  if (!node.ok()) {
    output.ReportError(node.status(), line->global.json);
    return ExitStatusOf(node.status().code());
  }
  int own_exit_status = 0;
  VerbContext context{line->global, output,           ConnectTo(*node, line->global),
                      reconnect_ms, &own_exit_status, node->has_value()};
  Status status = std::visit([&](const auto& verb_args) { return RunVerb(verb_args, context); }, line->verb);
  Status flushed = output.Flush();
  if (status.ok()) status = flushed;
  if (status.ok()) return 0;
  output.ReportError(status, line->global.json);
  return own_exit_status != 0 ? own_exit_status : ExitStatusOf(status.code());
}

}  // namespace kprof::cli
