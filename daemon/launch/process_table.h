// The processes of this machine and their parents, as /proc tells them. Knows nothing of signals; that is
// process_sweep.h.
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

// The process name of a supervisor.
inline constexpr char kSupervisorName[] = "kprof-launch";

// The supervisor (kprof-launch) whose child this command is: it gets all processes that the command leaves. Absent:
// there is none, it has ended, or the number is another pid namespace's.
std::optional<pid_t> SupervisorOf(pid_t command, const std::string& proc_root = "/proc");

// Tells if `process` is `ancestor` or below it. kUnknown: it, or a process between, is gone or hidden from us. /proc is
// memory: takes about 10 us for each process between them. Any thread.
enum class Descent { kYes, kNo, kUnknown };
Descent DescentFrom(pid_t ancestor, pid_t process, const std::string& proc_root = "/proc");

struct ProcessRow {
  pid_t pid = 0;
  pid_t parent = 0;
  std::string name;  // of its program, 15 bytes at most; whatever it likes to call itself
  char state = '?';
  int32_t threads = 0;
  uint64_t start_ticks = 0;  // since boot, in clock ticks; pid and start_ticks together are never used twice
  // True if no thread of it runs any more and only its parent has not reaped it. (A leader that ended before its
  // threads also shows as Z, and lives.)
  bool dead() const { return (state == 'Z' || state == 'X') && threads <= 1; }
  bool operator==(const ProcessRow&) const = default;
};

// Ordered by pid. Leaves out processes that vanish meanwhile, and lines that are not in the kernel's format.
std::vector<ProcessRow> ReadProcessTable(const std::string& proc_root = "/proc");

// The two halves of ReadProcessTable. The list is ordered; a process that is gone has pid 0.
std::vector<pid_t> ListProcesses(const std::string& proc_root = "/proc");
ProcessRow ReadProcess(pid_t pid, const std::string& proc_root = "/proc");

// The children of this process, including those that have ended and are not reaped. Exact where the kernel has
// CONFIG_PROC_CHILDREN: while nobody reaps, the list only grows, so a child that is there is never missed, however fast
// they follow each other. Else only as good as a table.
struct Children {
  std::vector<pid_t> pids;
  bool exact = false;
};
Children ListChildren();

// Parses a line of /proc/<pid>/stat; pid 0 for any other text.
ProcessRow ParseProcessStat(const std::string& line);

// The time since boot in clock ticks, the unit of start_ticks.
uint64_t StartTicksNow();

// The rows that `is_root` picks, and all rows below them, deepest first.
std::vector<ProcessRow> RowsBelow(const std::vector<ProcessRow>& table,
                                  const std::function<bool(const ProcessRow&)>& is_root);

}  // namespace kprof
