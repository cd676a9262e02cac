// Finds the daemon to talk to: the socket or the node that was named, else the first place where one listens.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/cli/grammar/verb_args.h"
#include "client/cpp/kprof_client.h"
#include "storage/base/status.h"

namespace kprof::cli {

// Reads a variable of the environment; nothing when it is not set or empty.
using GetVariable = std::function<std::optional<std::string>(const char* name)>;
std::optional<std::string> GetProcessVariable(const char* name);

// The daemon on another node that --node names, or KPROF_NODE unless a socket is named. Its files come from --ca,
// --cert and --key, or from KPROF_CA, KPROF_CERT and KPROF_KEY. Nothing: no node is named. Fails with kUsage for
// options that contradict each other, and for a node that is not HOST:PORT.
Result<std::optional<NodeAddress>> ChooseNode(const GlobalOptions& options, const GetVariable& get);

// Paths of the sockets where a daemon may listen, best first. A socket that was named (`named`, from --socket, or
// KPROF_SOCKET) is the only one. Else they are in the user's folders, $XDG_RUNTIME_DIR/kprof and the state folder
// ($XDG_STATE_HOME/kprof, else ~/.local/state/kprof), then in the system's, /run/kprofd.
std::vector<std::string> SocketCandidates(const std::string& named, const GetVariable& get);

// Connects to the first socket that answers. When none does, fails with kNotPermitted if one of them is not for us,
// else with kNoDaemon; kNoDaemon names all of them.
Result<std::unique_ptr<KprofClient>> ConnectToDaemon(const std::vector<std::string>& candidates);

}  // namespace kprof::cli
