#include "daemon/runs/command/believable_end.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>

namespace kprof {
namespace {

constexpr int32_t kMostExitCode = 255;
constexpr int64_t kMostProcesses = 4 << 20;           // the kernel has no more pids
constexpr int64_t kMostSwitches = int64_t{1} << 53;   // what a metric holds exactly
constexpr int64_t kMostElapsedNs = int64_t{1} << 52;  // 52 days: on all CPUs still a number

void Bound(int64_t& value, int64_t most) {
  value = std::clamp<int64_t>(value, 0, std::max<int64_t>(0, most));
}

}  // namespace

CommandEnded ClampReportedEnd(CommandEnded said, int64_t elapsed_ns) {
  const int64_t cpus = std::max<int64_t>(1, ::sysconf(_SC_NPROCESSORS_CONF));
  const int64_t memory_bytes = std::max<int64_t>(0, ::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
  const int64_t cpu_ns = std::clamp<int64_t>(elapsed_ns, 0, kMostElapsedNs) * cpus;
  if (said.exit_code) said.exit_code = std::clamp(*said.exit_code, 0, kMostExitCode);
  if (said.signal) said.signal = std::clamp(*said.signal, 1, NSIG - 1);
  if (said.exit_code) said.signal.reset();
  Bound(said.wall_ns, elapsed_ns);
  Bound(said.user_cpu_ns, cpu_ns);
  Bound(said.system_cpu_ns, cpu_ns - said.user_cpu_ns);
  Bound(said.max_rss_bytes, memory_bytes);
  Bound(said.voluntary_switches, kMostSwitches);
  Bound(said.involuntary_switches, kMostSwitches);
  Bound(said.leftover_processes, kMostProcesses);
  Bound(said.unkillable_processes, kMostProcesses);
  Bound(said.host_cpus, cpus);
  Bound(said.host_wall_ns, elapsed_ns);
  Bound(said.others_cpu_ns, cpu_ns);
  Bound(said.metrics_dropped_bytes, kMostSwitches);
  if (said.metrics.size() > kMostMetricTextBytes) {
    said.metrics_dropped_bytes += static_cast<int64_t>(said.metrics.size() - kMostMetricTextBytes);
    said.metrics.resize(kMostMetricTextBytes);
  }
  if (said.step_exit_code) said.step_exit_code = std::clamp(*said.step_exit_code, 0, kMostExitCode);
  if (said.step_signal) said.step_signal = std::clamp(*said.step_signal, 1, NSIG - 1);
  return said;
}

}  // namespace kprof
