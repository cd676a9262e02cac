#include "daemon/launch/process_descent.h"

#include "daemon/launch/process_table.h"

namespace kprof {
namespace {

constexpr const char* kSupervisorName = "kprof-launch";
constexpr int kDeepest = 1024;  // parents change while they are read: there might be a circle

}  // namespace

std::optional<pid_t> SupervisorOf(pid_t command, const std::string& proc_root) {
  const ProcessRow row = ReadProcess(command, proc_root);
  if (row.pid == 0 || row.parent == 0) return std::nullopt;
  if (ReadProcess(row.parent, proc_root).name != kSupervisorName) return std::nullopt;
  return row.parent;
}

Descent DescentFrom(pid_t ancestor, pid_t process, const std::string& proc_root) {
  for (int steps = 0; steps < kDeepest; ++steps) {
    if (process == ancestor) return Descent::kYes;
    const ProcessRow row = ReadProcess(process, proc_root);
    if (row.pid == 0) return Descent::kUnknown;
    if (row.parent == 0) return Descent::kNo;
    process = row.parent;
  }
  return Descent::kUnknown;
}

}  // namespace kprof
