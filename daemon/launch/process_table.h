// Who runs on this machine and who is whose parent, as /proc says. Knows nothing of signals; that is process_sweep.h.
//
// A table is a list of single looks, not one moment: processes come and go while it is read. Blocking, about 10 us per
// process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace kprof {

// What a supervisor calls itself.
inline constexpr char kSupervisorName[] = "kprof-launch";

// Whether a process is one of those below another, as /proc tells. /proc is memory: takes about 10 us for each process
// between them. Any thread.

// The supervisor (kprof-launch) whose child this command is: all that it leaves is handed to that one. Absent: there is
// none, it has ended, or the number is another pid namespace's.
std::optional<pid_t> SupervisorOf(pid_t command, const std::string& proc_root = "/proc");

// kUnknown: it, or one between, is gone or hidden from us.
enum class Descent { kYes, kNo, kUnknown };
Descent DescentFrom(pid_t ancestor, pid_t process, const std::string& proc_root = "/proc");

struct ProcessRow {
  pid_t pid = 0;
  pid_t parent = 0;
  std::string name;  // of its program, 15 bytes at most; whatever it likes to call itself
  char state = '?';
  int32_t threads = 0;
  uint64_t start_ticks = 0;  // since boot, in clock ticks; pid and start_ticks together are never used twice
  // Nothing of it runs any more, only its parent has not taken note. (A leader that ended before its threads is also
  // called Z, and lives.)
  bool dead() const { return (state == 'Z' || state == 'X') && threads <= 1; }
  bool operator==(const ProcessRow&) const = default;
};

// Ordered by pid. Processes that vanish meanwhile are left out; so is what is not in the kernel's format.
std::vector<ProcessRow> ReadProcessTable(const std::string& proc_root = "/proc");

// The two halves of it. The list is ordered; a process that is gone has pid 0.
std::vector<pid_t> ListProcesses(const std::string& proc_root = "/proc");
ProcessRow ReadProcess(pid_t pid, const std::string& proc_root = "/proc");

// The children of this process, those that have ended and are not reaped included. Exact where the kernel tells
// (CONFIG_PROC_CHILDREN): as long as nobody reaps, children only come, so that one who is there is never missed,
// however fast they follow each other. Else as good as a table.
struct Children {
  std::vector<pid_t> pids;
  bool exact = false;
};
Children ListChildren();

// The row in a line of /proc/<pid>/stat; pid 0 when it is not one.
ProcessRow ParseProcessStat(const std::string& line);

// The ticks of start_ticks that have passed by now.
uint64_t StartTicksNow();

// The rows that `is_root` picks, and all below them, deepest first.
std::vector<ProcessRow> RowsBelow(const std::vector<ProcessRow>& table,
                                  const std::function<bool(const ProcessRow&)>& is_root);

}  // namespace kprof
