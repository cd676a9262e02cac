// Starts kprof-launch for a capture that this kprofctl follows: so the command stays where its caller is, in the same
// cgroup, namespaces, container, job allocation and limits. When the daemon closes the channel, kprof-launch ends the
// processes that it supervises; its guard ends those that a killed kprof-launch leaves.
//
// The request comes over the channel from kprofd and may differ from the one made here. So kprof-launch is given the
// sum of ours and starts nothing else: a kprofd that was taken over cannot run commands of its own as this user.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "client/cli/waiting/direct_output.h"
#include "kprof/v1/runs.pb.h"
#include "storage/base/descriptors.h"
#include "storage/base/status.h"

namespace kprof::cli {

// The facts that a command inherits from its caller's shell: environment, working directory, umask, resource limits.
// The daemon starts the command with exactly these.
struct CallerFacts {
  std::map<std::string, std::string> environment;
  std::string cwd;  // absolute; empty: it is gone or may not be read
  uint32_t umask = 022;
  std::vector<v1::ResourceLimit> limits;
};

// The facts for a command on another node, which inherits nothing of this shell. They are: the folder `chosen_cwd`, or
// / when it is empty; umask 022; the node's own limits; and as environment the usual PATH and the `settings`.
// `settings` as for ApplyEnvironment; `--env K` takes its value from `here`. Fails with kUsage when `chosen_cwd` is not
// absolute: it would be relative to a folder of this node.
Result<CallerFacts> FactsForNode(const std::vector<std::string>& settings, const std::string& chosen_cwd,
                                 const CallerFacts& here);

// Reads the facts of this process. Changes the umask for a moment: call it before there are threads.
CallerFacts ReadCallerFacts();

// Applies the values of --env: K=V sets a variable, K insists that it is set. Fails with kUsage for a name that is
// empty or not set.
Status ApplyEnvironment(const std::vector<std::string>& settings, std::map<std::string, std::string>& environment);

// The folder that --cwd names (`chosen`), absolute; empty: the caller's. Fails with kUsage when the caller's folder is
// needed and not known.
Result<std::string> ResolveCwd(const std::string& chosen, const CallerFacts& caller);

// The path of kprof-launch: beside this program, else in ../libexec/kprof, else `named` (KPROF_LAUNCH). Fails with
// kSpawnFailed.
Result<std::string> FindSupervisor(const std::string& own_folder, const std::optional<std::string>& named);

// The folder of this program.
std::string OwnFolder();

// The sum (launch_request.h) of a request for `spec`.
std::string DigestOf(const v1::RunSpec& spec);

// The run to supervise, the sum of its request, the channel from kprofd, and sockets for the output
// (launch_protocol.h); invalid ones: it is not wanted.
struct ForegroundLaunch {
  std::string run_id;
  std::string digest;
  UniqueFd channel;
  SupervisorEnds output = {};
};

// Any thread. Costs one vfork and exec. Does not reap the child: a subreaper or init does, after our end.
Status StartSupervisor(const std::string& program, ForegroundLaunch launch);

}  // namespace kprof::cli
