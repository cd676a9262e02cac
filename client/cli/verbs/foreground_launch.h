// Starts kprof-launch for a capture that this kprofctl follows: so the command stays where its caller is, in the same
// cgroup, namespaces, container, job allocation and limits. What it supervises, kprof-launch ends by itself when the
// daemon closes the channel; its guard ends what a killed kprof-launch leaves.
//
// What comes over the channel is kprofd's, and need not be what was asked for here: so kprof-launch is given the sum of
// that, and starts nothing else. A kprofd that was taken over runs nothing of its own as whoever captures here.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kprof/v1/runs.pb.h"
#include "storage/base/descriptors.h"
#include "storage/base/status.h"

namespace kprof::cli {

// What a command inherits from the shell that asked for it: environment, working directory, umask, resource limits. The
// daemon starts the command with exactly these.
struct CallerFacts {
  std::map<std::string, std::string> environment;
  std::string cwd;  // absolute; empty: it is gone or may not be read
  uint32_t umask = 022;
  std::vector<v1::ResourceLimit> limits;
};

// For a command on another node, where nothing of this shell holds: the folder /, a umask of 022, the node's own
// limits, and of variables the usual PATH alone. `settings` as for ApplyEnvironment, of which `--env K` takes the value
// here. kUsage for a `--cwd` that is not absolute: it would be of this node's folders.
Result<CallerFacts> FactsForNode(const std::vector<std::string>& settings, const std::string& chosen_cwd,
                                 const CallerFacts& here);

// Of this process. Changes the umask for a moment: call it before there are threads.
CallerFacts ReadCallerFacts();

// `--env K=V` sets, `--env K` insists on the caller's value. Fails with kUsage for a name that is empty or not set.
Status ApplyEnvironment(const std::vector<std::string>& settings, std::map<std::string, std::string>& environment);

// The folder that `--cwd` names, absolute; `chosen` empty: the caller's. kUsage when that is not known.
Result<std::string> ResolveCwd(const std::string& chosen, const CallerFacts& caller);

// Where kprof-launch is: beside this program, else in ../libexec/kprof, else what KPROF_LAUNCH names. kSpawnFailed.
Result<std::string> FindSupervisor(const std::string& own_folder, const std::optional<std::string>& named);

// The folder of this program.
std::string OwnFolder();

// The sum (launch_request.h) of what is asked for.
std::string DigestOf(const v1::RunSpec& spec);

// What the supervisor is told, and from whom it hears.
struct ForegroundLaunch {
  std::string run_id;
  std::string digest;
  UniqueFd channel;
};

// Any thread. Costs one vfork and exec. The child is reaped by whoever comes after us, or by init.
Status StartSupervisor(const std::string& program, ForegroundLaunch launch);

}  // namespace kprof::cli
