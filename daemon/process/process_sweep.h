// Finds and ends processes that nobody supervises any more: what a killed supervisor left. Two ways to know them:
// they carry a run's marker (KPROF_RUN_ID=<id>) in their environment, or they were handed to this process as
// subreaper without being children it started.
//
// Reads /proc (another root for tests). Blocking, a few ms per thousand processes: from a worker, or at start-up.
#pragma once

#include <sys/types.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace kprof {

// Processes whose environment carries KPROF_RUN_ID with an id that `is_stale` says is nobody's.
// Only processes of this uid can be read, so only those are found.
std::vector<pid_t> FindMarkedProcesses(const std::function<bool(const std::string&)>& is_stale,
                                       const std::string& proc_root = "/proc");

// All descendants of the children of `parent` that are not in `known`, deepest first, the children included.
std::vector<pid_t> FindOrphans(pid_t parent, const std::set<pid_t>& known, const std::string& proc_root = "/proc");

// All descendants of `ancestor` itself, deepest first.
std::vector<pid_t> FindDescendants(pid_t ancestor, const std::string& proc_root = "/proc");

// Stops, then kills, and reaps those that are our children. Repeats `find` until it finds none or rounds run out.
// Returns how many were killed.
int KillAll(const std::function<std::vector<pid_t>()>& find, int rounds = 50);

}  // namespace kprof
