#include "client/cli/find_daemon.h"

#include <cstdlib>

namespace kprof::cli {

std::optional<std::string> GetProcessVariable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
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
