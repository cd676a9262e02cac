#include "daemon/devices/node_diagnoses.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>

namespace kprof {
namespace {

std::optional<std::string> ReadLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

Diagnosis Ok(std::string check, std::string message) {
  return {std::move(check), DiagnosisLevel::kOk, std::move(message), {}};
}
Diagnosis Warning(std::string check, std::string message, std::string remedy) {
  return {std::move(check), DiagnosisLevel::kWarning, std::move(message), std::move(remedy)};
}

Diagnosis CheckGovernor(const std::string& root) {
  const std::string check = "cpu_governor";
  std::optional<std::string> governor = ReadLine(root + "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  if (!governor) return Ok(check, "the kernel offers no frequency governor here (usual in virtual machines)");
  if (*governor == "performance") return Ok(check, "the governor is performance");
  return Warning(check, "the governor is " + *governor + ": host times depend on the frequency of the moment",
                 "cpupower frequency-set -g performance");
}

Diagnosis CheckTurbo(const std::string& root) {
  const std::string check = "cpu_turbo";
  std::optional<std::string> no_turbo = ReadLine(root + "/sys/devices/system/cpu/intel_pstate/no_turbo");
  std::optional<std::string> boost = ReadLine(root + "/sys/devices/system/cpu/cpufreq/boost");
  if (!no_turbo && !boost) return Ok(check, "the kernel offers no turbo switch here");
  bool on = no_turbo ? *no_turbo == "0" : *boost == "1";
  if (!on) return Ok(check, "turbo is off");
  return Warning(check, "turbo is on: host times depend on temperature and on the other cores",
                 "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo, or echo 0 > "
                 "/sys/devices/system/cpu/cpufreq/boost, while you measure");
}

Diagnosis CheckClockSource(const std::string& root) {
  const std::string check = "clock_source";
  std::optional<std::string> source =
      ReadLine(root + "/sys/devices/system/clocksource/clocksource0/current_clocksource");
  if (!source) return Ok(check, "not known");
  if (*source == "tsc" || *source == "kvm-clock" || *source == "arch_sys_counter" ||
      *source == "hyperv_clocksource_tsc_page") {
    return Ok(check, "the clock source is " + *source);
  }
  return Warning(check, "the clock source is " + *source + ": reading the time is slow",
                 "boot with clocksource=tsc where the processor allows it");
}

Diagnosis CheckLoad(const std::string& root) {
  const std::string check = "host_load";
  std::optional<std::string> line = ReadLine(root + "/proc/loadavg");
  if (!line) return Ok(check, "not known");
  double load = std::strtod(line->c_str(), nullptr);
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  std::string figures =
      "load " + line->substr(0, line->find(' ')) + " on " + std::to_string(processors) + " processors";
  if (load <= 0.5 * static_cast<double>(processors)) return Ok(check, figures);
  return Warning(check, figures + ": others use the host", "see who with top; measure when it is quiet");
}

Diagnosis CheckPerfEvents(const std::string& root) {
  const std::string check = "perf_events";
  std::optional<std::string> level = ReadLine(root + "/proc/sys/kernel/perf_event_paranoid");
  if (!level) return Warning(check, "the kernel has no perf events", "tools that count events will not work");
  if (std::atoi(level->c_str()) <= 2) return Ok(check, "perf_event_paranoid is " + *level);
  return Warning(check, "perf_event_paranoid is " + *level + ": profilers cannot count events without root",
                 "sysctl kernel.perf_event_paranoid=2");
}

Diagnosis CheckOpenFiles() {
  const std::string check = "open_files";
  constexpr rlim_t kEnough = 4096;
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  std::string figures = "up to " + std::to_string(limit.rlim_cur) + " open files";
  if (limit.rlim_cur >= kEnough) return Ok(check, figures);
  return Warning(check, figures + ": many clients at once will be refused", "start kprofd with ulimit -n 65536");
}

Diagnosis CheckSwap(const std::string& root) {
  const std::string check = "swap";
  std::ifstream swaps(root + "/proc/swaps");
  std::string line;
  int lines = 0;
  while (std::getline(swaps, line)) ++lines;
  if (lines <= 1) return Ok(check, "no swap");
  return Warning(check, "the host swaps: a measurement that touches swapped memory is far off",
                 "swapoff -a while you measure");
}

}  // namespace

std::vector<Diagnosis> DiagnoseNode(const std::string& root) {
  return {CheckGovernor(root), CheckTurbo(root),      CheckClockSource(root), CheckLoad(root),
          CheckSwap(root),     CheckPerfEvents(root), CheckOpenFiles()};
}

}  // namespace kprof
