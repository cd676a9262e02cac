// Finds and ends processes that nobody supervises any more: what a killed supervisor left. Two ways to know them:
// they carry a run's marker (KPROF_RUN_ID=<id>) in their environment, or they were handed to this process as
// subreaper without being children it started. The supervisor ends its own tree with the same means.
//
// Reads /proc (another root for tests). Blocking, a few ms per thousand processes: from a worker, or at start-up.
#pragma once

#include <sys/types.h>

#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "daemon/launch/process_table.h"

namespace kprof {

// Whether a supervisor that works is left alone while something lives below it: it keeps what has no marker where it
// can be found. One that is stopped, or hangs, keeps nothing. Known by its name, which anybody may take: spare them for
// a moment only.
enum class Supervisors { kSpared, kFound };

// Processes whose environment carries KPROF_RUN_ID with an id that `is_stale` says is nobody's, and all below them, in
// no order. Never this process, and what is below it only where it carries the marker itself or is below one that does.
// Only processes of this uid can be read, so only those are found; by root, whoever `may_be_of_it`: nobody else's
// environment is opened. With `also` ("NAME=value"): only those that carry that variable, too.
std::vector<pid_t> FindMarkedProcesses(const std::function<bool(const std::string&)>& is_stale,
                                       const std::string& also = "", Supervisors supervisors = Supervisors::kFound,
                                       const std::string& proc_root = "/proc",
                                       const std::function<bool(pid_t)>& may_be_of_it = nullptr);

// All descendants of the children of `parent` that `is_own` does not claim, deepest first, the children included;
// living ones only. `is_own` is asked after /proc has been read: a child that is entered before it can run is never
// missed.
std::vector<pid_t> FindOrphans(pid_t parent, const std::function<bool(const ProcessRow&)>& is_own,
                               const std::string& proc_root = "/proc");

// All descendants of `ancestor` itself, deepest first; living ones only.
std::vector<pid_t> FindDescendants(pid_t ancestor, const std::string& proc_root = "/proc");

// What a round of signals came to.
struct SignalledProcesses {
  std::vector<pid_t> reached;
  std::vector<pid_t> refused;  // not ours to signal: they have changed identity (setuid)
};

using FindProcesses = std::function<std::vector<pid_t>()>;

// Sends the signals, in this order, to all that `find` finds and `skip` does not hold back. Each is found twice with a
// pidfd opened in between, so that a pid that is used anew is never hit.
SignalledProcesses SignalAll(const FindProcesses& find, std::initializer_list<int> signals,
                             const std::function<bool(pid_t)>& skip = nullptr);

// One round of killing: stops all that `find` finds until it finds no new ones, so that nothing forks away, then kills
// them. Does not wait for them to be gone.
SignalledProcesses FreezeAndKill(const FindProcesses& find);

// What killing at sight came to.
struct KilledChildren {
  std::vector<pid_t> hit;
  bool none_left = false;  // known, where the kernel tells exactly (process_table.h)
};

// Kills children of this process that `is_own` does not claim, each the moment it is seen, the newest first. For those
// that fork and end faster than FreezeAndKill can look twice: they are ours by then, and as nobody else reaps them
// their pids cannot be used anew. Looks until all are dead and nobody has come since: what the last one left would have
// become ours. Gives up at once on those that refuse, and after 200 ms on those that hang in the kernel.
KilledChildren KillChildrenAtSight(const std::function<bool(const ProcessRow&)>& is_own);

// Freezes, kills, waits, and reaps those that are our children. Repeats until `find` finds none, or only what refuses,
// or rounds run out; a round waits at most 200 ms. Returns how many were killed.
int KillAll(const FindProcesses& find, int rounds = 50);

// Takes note of the ended children of this process that `is_own` does not claim, so that they do not stay as zombies.
void ReapOrphans(const std::function<bool(const ProcessRow&)>& is_own);

}  // namespace kprof
