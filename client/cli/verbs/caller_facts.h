// What a command inherits from the shell that asked for it: environment, working directory, umask, resource limits. The
// daemon starts the command with exactly these.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "kprof/v1/runs.pb.h"
#include "storage/base/status.h"

namespace kprof::cli {

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

}  // namespace kprof::cli
