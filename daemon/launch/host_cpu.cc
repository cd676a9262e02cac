#include "daemon/launch/host_cpu.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <string>

#include "storage/base/descriptors.h"

namespace kprof {
namespace {

constexpr size_t kCpuTextLimitBytes = 4 << 20;  // thousands of processors
// user nice system idle iowait irq softirq steal; guests are in user.
constexpr std::array<bool, 8> kIsBusy = {true, true, true, false, false, true, true, true};

bool TakeNumber(std::string_view& text, int64_t& value) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

std::string ReadStat() {
  UniqueFd file(::open("/proc/stat", O_RDONLY | O_CLOEXEC));
  std::string text;
  char block[16 << 10];
  while (file.valid() && text.size() < kCpuTextLimitBytes) {
    ssize_t size = ::read(file.get(), block, sizeof block);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    text.append(block, static_cast<size_t>(size));
    if (text.find("\nintr ") != std::string::npos) break;  // the CPUs stand before it
  }
  return text;
}

}  // namespace

std::optional<HostCpu> ParseHostCpu(std::string_view text, const std::function<bool(int)>& counts, int64_t hertz) {
  if (hertz <= 0) return std::nullopt;
  const int64_t tick_ns = 1'000'000'000 / hertz;
  HostCpu host;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (!line.starts_with("cpu")) break;
    line.remove_prefix(3);
    if (line.starts_with(" ")) continue;  // of all together
    int64_t cpu = 0;
    if (!TakeNumber(line, cpu) || cpu > INT32_MAX) return std::nullopt;
    if (!counts(static_cast<int>(cpu))) continue;
    ++host.cpus;
    for (bool busy : kIsBusy) {
      int64_t ticks = 0;
      int64_t ns = 0;
      if (!TakeNumber(line, ticks) || __builtin_mul_overflow(ticks, tick_ns, &ns)) return std::nullopt;
      if (busy && __builtin_add_overflow(host.busy_ns, ns, &host.busy_ns)) return std::nullopt;
    }
  }
  if (host.cpus == 0 || host.cpus > 100'000 || host.busy_ns == 0) return std::nullopt;
  return host;
}

std::optional<HostCpu> ReadHostCpu() {
  std::array<cpu_set_t, 8> allowed{};  // of 1024 each
  if (::sched_getaffinity(0, sizeof allowed, allowed.data()) != 0) return std::nullopt;
  auto counts = [&](int cpu) { return CPU_ISSET_S(static_cast<size_t>(cpu), sizeof allowed, allowed.data()) != 0; };
  return ParseHostCpu(ReadStat(), counts, ::sysconf(_SC_CLK_TCK));
}

std::optional<int64_t> OthersCpuNs(const HostCpu& before, const HostCpu& after, int64_t own_ns) {
  if (before.cpus != after.cpus || after.busy_ns < before.busy_ns) return std::nullopt;
  return std::max<int64_t>(0, after.busy_ns - before.busy_ns - own_ns);
}

}  // namespace kprof
