// Finds and ends processes that nobody supervises any more, left by a killed supervisor. There are two ways to know
// them: they carry a run's marker (KPROF_RUN_ID=<id>) in their environment, or this process got them as subreaper and
// did not start them. The supervisor ends its own tree with the same functions.
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

// kSpared leaves out a working supervisor that has living processes below it, as it keeps those without a marker where
// they can be found. A supervisor that is stopped, or hangs, keeps nothing and is not spared. Supervisors are known by
// their name, which any program may take: spare them for a moment only.
enum class Supervisors { kSpared, kFound };

// Finds processes whose KPROF_RUN_ID `is_stale` accepts, and all processes below them, in no order. Never finds this
// process. Finds processes below it only if they carry the marker or are below one that does. A user can read, and so
// finds, only processes of its own uid. Root can read all: `may_be_of_it` (null: all) says whose environments are
// opened. With `also` ("NAME=value"), the marker counts only beside this variable.
std::vector<pid_t> FindMarkedProcesses(const std::function<bool(const std::string&)>& is_stale,
                                       const std::string& also = "", Supervisors supervisors = Supervisors::kFound,
                                       const std::string& proc_root = "/proc",
                                       const std::function<bool(pid_t)>& may_be_of_it = nullptr);

// The children of `parent` that `is_own` does not claim, and all processes below them, deepest first; living ones only.
// `is_own` is asked after /proc has been read, so an own child that is registered before it can run is always claimed.
std::vector<pid_t> FindOrphans(pid_t parent, const std::function<bool(const ProcessRow&)>& is_own,
                               const std::string& proc_root = "/proc");

// All processes below `ancestor`, deepest first; living ones only.
std::vector<pid_t> FindDescendants(pid_t ancestor, const std::string& proc_root = "/proc");

// The result of a round of signals.
struct SignalledProcesses {
  std::vector<pid_t> reached;
  std::vector<pid_t> refused;  // not ours to signal: they have changed identity (setuid)
};

using FindProcesses = std::function<std::vector<pid_t>()>;

// Sends the signals, in this order, to all processes that `find` finds, except those that `skip` accepts. Each is found
// twice with a pidfd opened in between, so a reused pid is never hit.
SignalledProcesses SignalAll(const FindProcesses& find, std::initializer_list<int> signals,
                             const std::function<bool(pid_t)>& skip = nullptr);

// One round of killing: stops the processes of `find` until it finds no new ones, so nothing forks away, then kills
// them. Does not wait until they are gone.
SignalledProcesses FreezeAndKill(const FindProcesses& find);

// The result of KillChildrenAtSight.
struct KilledChildren {
  std::vector<pid_t> hit;
  bool none_left = false;  // known, where the kernel tells exactly (process_table.h)
};

// Kills the children of this process that `is_own` does not claim, each the moment it is seen, the newest first. Made
// for processes that fork and end faster than FreezeAndKill can look twice. They have become our children by then, and
// nobody else reaps them, so their pids cannot be reused. Looks until all are dead and no new child has come since: a
// child of the last one would have become ours. Gives up at once on processes that refuse the signal, and after 200 ms
// on those that hang in the kernel.
KilledChildren KillChildrenAtSight(const std::function<bool(const ProcessRow&)>& is_own);

// Freezes, kills, waits, and reaps those that are our children. Repeats until `find` finds none, or only processes that
// refuse the signal, or until the rounds run out. A round waits at most 200 ms. Returns how many were killed.
int KillAll(const FindProcesses& find, int rounds = 50);

// Reaps the ended children of this process that `is_own` does not claim, so they do not stay as zombies.
void ReapOrphans(const std::function<bool(const ProcessRow&)>& is_own);

}  // namespace kprof
