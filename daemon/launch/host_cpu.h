// Reads how busy the host's processors are, from /proc/stat. kprof-launch computes from it how much CPU time others
// used while a command ran. Counts only the processors that this process may use (its affinity, which its children
// inherit): other processors hardly disturb the command.
//
// The kernel counts in ticks of 10 ms, separately for each CPU and each of its six kinds of busy time. Some builds
// sample instead of measuring. So readings less than some 100 ms apart say nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace kprof {

struct HostCpu {
  int64_t cpus = 0;
  int64_t busy_ns = 0;  // since boot, of all of them; time that a hypervisor took is busy, waiting for a disk is not
  bool operator==(const HostCpu&) const = default;
};

// Nothing where the kernel does not tell (a sandbox without /proc, or with one that is all zeros). Takes about 50 µs,
// more on a host with hundreds of processors.
std::optional<HostCpu> ReadHostCpu();

// Parses the text of /proc/stat for the CPUs that `counts` picks. `hertz`: ticks per second.
std::optional<HostCpu> ParseHostCpu(std::string_view text, const std::function<bool(int)>& counts, int64_t hertz);

// CPU time that others used between two readings: all busy time less `own_ns`, the part of the command and its
// supervisor. Nothing when the readings do not belong together (a CPU came or went, the counters fell).
std::optional<int64_t> OthersCpuNs(const HostCpu& before, const HostCpu& after, int64_t own_ns);

}  // namespace kprof
