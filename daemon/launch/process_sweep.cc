#include "daemon/launch/process_sweep.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <map>
#include <optional>
#include <set>

#include "daemon/launch/launch_request.h"
#include "storage/base/clock.h"
#include "storage/base/descriptors.h"

namespace kprof {
namespace {

constexpr int kFreezeRounds = 8;
constexpr int64_t kDeathWaitMs = 200;
constexpr useconds_t kDyingPauseUs = 1000;

// glibc of Debian 12 has pidfd_open, that of older build hosts has not; the numbers are the same everywhere.
int PidfdOpen(pid_t pid) {
  return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
}

// A process held by descriptor, or, when descriptors have run out, by its number alone.
struct Held {
  UniqueFd pidfd;
  bool confirmed = false;
  bool refused = false;
};

// Returns errno.
int Send(pid_t pid, const Held& held, int signal) {
  long failed =
      held.pidfd.valid() ? ::syscall(SYS_pidfd_send_signal, held.pidfd.get(), signal, nullptr, 0) : ::kill(pid, signal);
  return failed == 0 ? 0 : errno;
}

// Adds what is new to `held` and confirms what was found before. Returns those that are confirmed by this look.
std::vector<pid_t> Look(const std::vector<pid_t>& found, std::map<pid_t, Held>& held, bool& found_new) {
  std::vector<pid_t> confirmed;
  found_new = false;
  for (pid_t pid : found) {
    auto [at, added] = held.try_emplace(pid);
    if (added) {
      found_new = true;
      at->second.pidfd.Reset(PidfdOpen(pid));
      if (!at->second.pidfd.valid() && errno == ESRCH) held.erase(at);
    } else if (!at->second.confirmed) {
      at->second.confirmed = true;
      confirmed.push_back(pid);
    }
  }
  return confirmed;
}

SignalledProcesses Outcome(const std::map<pid_t, Held>& held) {
  SignalledProcesses outcome;
  for (const auto& [pid, process] : held) {
    if (!process.confirmed) continue;
    (process.refused ? outcome.refused : outcome.reached).push_back(pid);
  }
  return outcome;
}

std::map<pid_t, Held> Freeze(const FindProcesses& find) {
  std::map<pid_t, Held> held;
  for (int round = 0; round < kFreezeRounds; ++round) {
    bool found_new = false;
    std::vector<pid_t> confirmed = Look(find(), held, found_new);
    for (pid_t pid : confirmed) held[pid].refused = Send(pid, held[pid], SIGSTOP) == EPERM;
    if (confirmed.empty() && !found_new) break;
  }
  return held;
}

void Kill(std::map<pid_t, Held>& held) {
  for (auto& [pid, process] : held) {
    if (process.confirmed) process.refused = Send(pid, process, SIGKILL) == EPERM;
  }
}

// Until all that were killed are dead, or the time is up.
void AwaitDeaths(const std::map<pid_t, Held>& held) {
  const int64_t deadline_ns = ReadClockNs(CLOCK_MONOTONIC) + kDeathWaitMs * kNanosPerMilli;
  for (const auto& [pid, process] : held) {
    if (!process.confirmed || process.refused || !process.pidfd.valid()) continue;
    pollfd wait{process.pidfd.get(), POLLIN, 0};
    const int64_t left_ms = (deadline_ns - ReadClockNs(CLOCK_MONOTONIC)) / kNanosPerMilli;
    if (left_ms <= 0) return;
    ::poll(&wait, 1, static_cast<int>(left_ms));
  }
}

// No exec takes more. A process can make its environment seem as large as it likes (PR_SET_MM), and would have us read
// it all.
constexpr size_t kMostEnvironmentBytes = 8 << 20;

// The id in KPROF_RUN_ID, if the process carries one, and `also` where that is not empty.
std::optional<std::string> ReadMarker(const std::string& environ_path, const std::string& also) {
  UniqueFd file(::open(environ_path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return std::nullopt;
  std::string text(1, '\0');  // so that the first variable begins like the others
  char block[64 << 10];
  while (text.size() <= kMostEnvironmentBytes) {
    ssize_t size = ::read(file.get(), block, sizeof block);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    text.append(block, static_cast<size_t>(size));
  }
  const std::string name = '\0' + std::string(kRunIdVariable) + '=';
  if (!also.empty() && text.find('\0' + also + '\0') == std::string::npos) return std::nullopt;
  size_t at = text.find(name);
  if (at == std::string::npos) return std::nullopt;
  at += name.size();
  return text.substr(at, text.find('\0', at) - at);
}

std::vector<pid_t> LivingPids(const std::vector<ProcessRow>& rows) {
  std::vector<pid_t> pids;
  for (const ProcessRow& row : rows) {
    if (!row.dead()) pids.push_back(row.pid);
  }
  return pids;
}

bool IsWorkingSupervisor(const ProcessRow& row) {
  return row.name == kSupervisorName && (row.state == 'S' || row.state == 'R');
}

bool SomeLiveBelow(const std::vector<ProcessRow>& table, pid_t ancestor) {
  return !LivingPids(RowsBelow(table, [&](const ProcessRow& row) { return row.parent == ancestor; })).empty();
}

}  // namespace

std::vector<pid_t> FindMarkedProcesses(const std::function<bool(const std::string&)>& is_stale, const std::string& also,
                                       Supervisors supervisors, const std::string& proc_root,
                                       const std::function<bool(pid_t)>& may_be_of_it) {
  std::vector<ProcessRow> table = ReadProcessTable(proc_root);
  std::erase_if(table, [](const ProcessRow& row) { return row.pid == ::getpid(); });  // the way to what is below us
  std::vector<ProcessRow> found = RowsBelow(table, [&](const ProcessRow& row) {
    if (row.dead() || (may_be_of_it && !may_be_of_it(row.pid))) return false;
    std::optional<std::string> marker = ReadMarker(proc_root + "/" + std::to_string(row.pid) + "/environ", also);
    return marker && is_stale(*marker);
  });
  if (supervisors == Supervisors::kSpared) {
    std::erase_if(found,
                  [&](const ProcessRow& row) { return IsWorkingSupervisor(row) && SomeLiveBelow(table, row.pid); });
  }
  return LivingPids(found);
}

std::vector<pid_t> FindOrphans(pid_t parent, const std::function<bool(const ProcessRow&)>& is_own,
                               const std::string& proc_root) {
  std::vector<ProcessRow> table = ReadProcessTable(proc_root);
  return LivingPids(RowsBelow(table, [&](const ProcessRow& row) { return row.parent == parent && !is_own(row); }));
}

std::vector<pid_t> FindDescendants(pid_t ancestor, const std::string& proc_root) {
  std::vector<ProcessRow> table = ReadProcessTable(proc_root);
  return LivingPids(RowsBelow(table, [&](const ProcessRow& row) { return row.parent == ancestor; }));
}

SignalledProcesses SignalAll(const FindProcesses& find, std::initializer_list<int> signals,
                             const std::function<bool(pid_t)>& skip) {
  auto find_wanted = [&] {
    std::vector<pid_t> found = find();
    if (skip) std::erase_if(found, skip);
    return found;
  };
  std::map<pid_t, Held> held;
  bool found_new = false;
  Look(find_wanted(), held, found_new);
  if (!found_new) return {};
  std::vector<pid_t> again = find_wanted();
  std::erase_if(again, [&](pid_t pid) { return !held.contains(pid); });
  for (pid_t pid : Look(again, held, found_new)) {
    for (int signal : signals) held[pid].refused |= Send(pid, held[pid], signal) == EPERM;
  }
  return Outcome(held);
}

SignalledProcesses FreezeAndKill(const FindProcesses& find) {
  std::map<pid_t, Held> held = Freeze(find);
  Kill(held);
  return Outcome(held);
}

KilledChildren KillChildrenAtSight(const std::function<bool(const ProcessRow&)>& is_own) {
  const int64_t deadline_ns = ReadClockNs(CLOCK_MONOTONIC) + kDeathWaitMs * kNanosPerMilli;
  KilledChildren killed;
  std::set<pid_t> hit;
  Children before;
  bool all_dead_before = false;  // of those that the look before listed
  while (true) {
    Children children = ListChildren();
    // Who was listed then had handed on what was its own before this list was made, or it would not have been dead.
    killed.none_left = all_dead_before && children.exact && children.pids == before.pids;
    if (killed.none_left || ReadClockNs(CLOCK_MONOTONIC) >= deadline_ns) break;
    bool found_living = false;
    bool hit_new = false;
    bool awaited = false;
    for (auto pid = children.pids.rbegin(); pid != children.pids.rend(); ++pid) {
      ProcessRow row = ReadProcess(*pid);
      if (row.pid <= 0 || row.parent != ::getpid() || row.dead() || is_own(row)) continue;
      found_living = true;
      if (hit.contains(row.pid)) {
        awaited = true;
      } else if (::kill(row.pid, SIGKILL) == 0) {
        hit.insert(row.pid);
        hit_new = true;
      }
    }
    const bool same = children.pids == before.pids;
    if (found_living && !hit_new && !awaited && same) break;  // all that live refuse
    if (!found_living && !children.exact && same) break;      // no look would know more
    if (awaited && !hit_new) ::usleep(kDyingPauseUs);
    before = std::move(children);
    all_dead_before = !found_living;
  }
  killed.hit.assign(hit.begin(), hit.end());
  return killed;
}

int KillAll(const FindProcesses& find, int rounds) {
  std::set<pid_t> killed;
  for (int round = 0; round < rounds; ++round) {
    std::map<pid_t, Held> held = Freeze(find);
    if (held.empty()) break;
    Kill(held);
    AwaitDeaths(held);
    SignalledProcesses outcome = Outcome(held);
    for (pid_t pid : outcome.reached) {
      ::waitpid(pid, nullptr, WNOHANG);  // not a child of ours: ECHILD, and nothing to reap
      killed.insert(pid);
    }
    if (outcome.reached.empty() && !outcome.refused.empty()) break;
  }
  return static_cast<int>(killed.size());
}

void ReapOrphans(const std::function<bool(const ProcessRow&)>& is_own) {
  for (const ProcessRow& row : ReadProcessTable()) {
    if (row.parent == ::getpid() && row.dead() && !is_own(row)) ::waitpid(row.pid, nullptr, WNOHANG);
  }
}

}  // namespace kprof
