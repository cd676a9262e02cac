#include "daemon/runs/command/host_busy.h"

#include <algorithm>
#include <cstdio>

namespace kprof {
namespace {

constexpr double kLeastCpus = 0.25;
constexpr double kLeastShare = 0.05;
constexpr double kLeastNs = 50e6;
constexpr double kLeastNsPerCpu = 10e6;

}  // namespace

std::optional<TrustReason> HostBusy(const CommandEnded& command) {
  if (command.host_cpus <= 0 || command.host_wall_ns <= 0) return std::nullopt;
  const auto cpus = static_cast<double>(command.host_cpus);
  const auto others_ns = static_cast<double>(command.others_cpu_ns);
  const double others_cpus = others_ns / static_cast<double>(command.host_wall_ns);
  if (others_cpus <= std::max(kLeastCpus, kLeastShare * cpus) || others_ns <= kLeastNs + kLeastNsPerCpu * cpus) {
    return std::nullopt;
  }
  char text[160];
  std::snprintf(text, sizeof text,
                "others used %.2f of %.0f CPUs while it ran; its times may be longer than on a quiet "
                "host",
                std::min(others_cpus, cpus), cpus);
  return TrustReason{"host_busy", text};
}

}  // namespace kprof
