// How busy the host's processors are, from /proc/stat: for what others used of them while a command ran. Only those
// that this process may use itself (its affinity, which its children inherit) count: what happens on the others
// disturbs little.
//
// The kernel counts in ticks of 10 ms, each of a CPU's six kinds of busy for itself, and samples rather than measures
// where it is built so: a reading over less than some 100 ms says nothing.
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

// Nothing where the kernel does not tell (a sandbox without /proc, or with one that is all zeros). About 50 µs, more on
// a host with hundreds of processors.
std::optional<HostCpu> ReadHostCpu();

// The same in the text of /proc/stat, for the CPUs that `counts` picks, and ticks per second.
std::optional<HostCpu> ParseHostCpu(std::string_view text, const std::function<bool(int)>& counts, int64_t hertz);

// What others used between two readings, given what was used by whom they are others to. Nothing when the readings
// do not belong together (a CPU came or went, the counters fell).
std::optional<int64_t> OthersCpuNs(const HostCpu& before, const HostCpu& after, int64_t own_ns);

}  // namespace kprof
