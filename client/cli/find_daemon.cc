#include "client/cli/find_daemon.h"

#include <cstdlib>

namespace kprof::cli {

std::optional<std::string> GetProcessVariable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

Result<std::optional<NodeAddress>> ChooseNode(const GlobalOptions& options, const GetVariable& get) {
  if (!options.socket.empty() && !options.node.empty()) {
    return Fail(ErrorCode::kUsage, "find kprofd", "--socket and --node name two of them", "leave one of both out");
  }
  std::string text = options.node;
  const bool socket_named = !options.socket.empty() || get("KPROF_SOCKET").has_value();
  if (text.empty() && !socket_named) text = get("KPROF_NODE").value_or("");
  if (text.empty()) {
    if (options.ca.empty() && options.cert.empty() && options.key.empty()) return std::optional<NodeAddress>();
    return Fail(ErrorCode::kUsage, "find kprofd", "--ca, --cert and --key are for a daemon on another node",
                "name it with --node HOST:PORT");
  }
  NodeAddress address;
  RETURN_IF_ERROR(ParseNode(text, address));
  auto choose = [&](const std::string& option, const char* variable) {
    return option.empty() ? get(variable).value_or("") : option;
  };
  address.ca = choose(options.ca, "KPROF_CA");
  address.certificate = choose(options.cert, "KPROF_CERT");
  address.key = choose(options.key, "KPROF_KEY");
  return std::optional<NodeAddress>(std::move(address));
}

std::vector<std::string> SocketCandidates(const std::string& named, const GetVariable& get) {
  if (!named.empty()) return {named};
  if (std::optional<std::string> socket = get("KPROF_SOCKET")) return {*socket};
  std::vector<std::string> candidates;
  if (std::optional<std::string> runtime = get("XDG_RUNTIME_DIR"))
    candidates.push_back(*runtime + "/kprof/kprofd.sock");
  if (std::optional<std::string> state = get("XDG_STATE_HOME")) {
    candidates.push_back(*state + "/kprof/kprofd.sock");
  } else if (std::optional<std::string> home = get("HOME")) {
    candidates.push_back(*home + "/.local/state/kprof/kprofd.sock");
  }
  candidates.push_back("/run/kprofd/kprofd.sock");
  return candidates;
}

Result<std::unique_ptr<KprofClient>> ConnectToDaemon(const std::vector<std::string>& candidates) {
  if (candidates.size() == 1) return KprofClient::Connect(candidates.front());
  std::optional<Status> refused;  // a daemon is there, but not for us
  std::string places;
  for (const std::string& path : candidates) {
    Result<std::unique_ptr<KprofClient>> client = KprofClient::Connect(path);
    if (client.ok()) return client;
    if (client.status().code() == ErrorCode::kNotPermitted && !refused) refused = client.status();
    places += (places.empty() ? "" : ", ") + path;
  }
  if (refused) return *refused;
  return Fail(ErrorCode::kNoDaemon, "reach kprofd", "no daemon at " + places, "start one with 'kprofd --user'");
}

}  // namespace kprof::cli
