// Which daemon to talk to: the socket or the node that was named, else the first place where one listens.
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

// A variable of the environment, or nothing when it is not set or empty.
using GetVariable = std::function<std::optional<std::string>(const char* name)>;
std::optional<std::string> GetProcessVariable(const char* name);

// The daemon on another node that was named: by --node, or by KPROF_NODE unless a socket is named; with --ca, --cert
// and
// --key, or KPROF_CA, KPROF_CERT and KPROF_KEY. Nothing when none was. kUsage for what makes no sense together.
Result<std::optional<NodeAddress>> ChooseNode(const GlobalOptions& options, const GetVariable& get);

// Where a daemon may listen, best first. One that was named (`named`, from --socket, or KPROF_SOCKET) is the only one;
// else the user's own: $XDG_RUNTIME_DIR/kprof, then the state folder ($XDG_STATE_HOME/kprof, else
// ~/.local/state/kprof); then the system's, /run/kprofd.
std::vector<std::string> SocketCandidates(const std::string& named, const GetVariable& get);

// Connects to the first that answers. Fails with kNoDaemon, naming all of them, when none does.
Result<std::unique_ptr<KprofClient>> ConnectToDaemon(const std::vector<std::string>& candidates);

}  // namespace kprof::cli
