// Whether a process is one of those below another, as /proc tells. /proc is memory: takes about 10 us for each process
// between them. Any thread.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace kprof {

// The supervisor (kprof-launch) whose child this command is: all that it leaves is handed to that one. Absent: there is
// none, it has ended, or the number is another pid namespace's.
std::optional<pid_t> SupervisorOf(pid_t command, const std::string& proc_root = "/proc");

// kUnknown: it, or one between, is gone or hidden from us.
enum class Descent { kYes, kNo, kUnknown };
Descent DescentFrom(pid_t ancestor, pid_t process, const std::string& proc_root = "/proc");

}  // namespace kprof
