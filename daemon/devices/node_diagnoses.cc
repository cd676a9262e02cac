#include "daemon/devices/node_diagnoses.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "daemon/capture/nsys_releases.h"
#include "daemon/capture/tools.h"
#include "daemon/capture/vendor_program.h"
#include "storage/base/environment.h"

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
                 "as root: cpupower frequency-set -g performance");
}

Diagnosis CheckTurbo(const std::string& root) {
  const std::string check = "cpu_turbo";
  std::optional<std::string> no_turbo = ReadLine(root + "/sys/devices/system/cpu/intel_pstate/no_turbo");
  std::optional<std::string> boost = ReadLine(root + "/sys/devices/system/cpu/cpufreq/boost");
  if (!no_turbo && !boost) return Ok(check, "the kernel offers no turbo switch here");
  bool on = no_turbo ? *no_turbo == "0" : *boost == "1";
  if (!on) return Ok(check, "turbo is off");
  return Warning(
      check, "turbo is on: host times depend on temperature and on the other cores",
      std::string("as root, while you measure: ") + (no_turbo ? "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo"
                                                              : "echo 0 > /sys/devices/system/cpu/cpufreq/boost"));
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
  if (!level) {
    return Warning(check, "the kernel has no perf events: tools that count events will not work",
                   "boot a kernel with CONFIG_PERF_EVENTS; in a container, measure on its host");
  }
  if (std::atoi(level->c_str()) <= 2) return Ok(check, "perf_event_paranoid is " + *level);
  return Warning(check, "perf_event_paranoid is " + *level + ": profilers cannot count events without root",
                 "as root: sysctl kernel.perf_event_paranoid=2");
}

Diagnosis CheckOpenFiles() {
  const std::string check = "open_files";
  constexpr rlim_t kEnough = 4096;
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  std::string figures = "up to " + std::to_string(limit.rlim_cur) + " open files";
  if (limit.rlim_cur >= kEnough) return Ok(check, figures);
  return Warning(check, figures + ": many clients at once will be refused",
                 "ulimit -n 65536 before kprofd --user; LimitNOFILE=65536 in the unit of the system's");
}

Diagnosis CheckSwap(const std::string& root) {
  const std::string check = "swap";
  std::ifstream swaps(root + "/proc/swaps");
  std::string line;
  int lines = 0;
  while (std::getline(swaps, line)) ++lines;
  if (lines <= 1) return Ok(check, "no swap");
  return Warning(check, "the host swaps: a measurement that touches swapped memory is far off",
                 "as root: swapoff -a while you measure");
}

// A row for each driver that is loaded.
void AddDrivers(const std::string& root, std::vector<Diagnosis>& found) {
  if (const std::optional<std::string> nvidia = ReadLine(root + "/proc/driver/nvidia/version")) {
    const std::string version = VersionIn(*nvidia);
    found.push_back(Ok("nvidia_driver", version.empty() ? "NVIDIA: " + *nvidia : "NVIDIA's driver is " + version));
  }
  if (const std::optional<std::string> neuron = ReadLine(root + "/sys/module/neuron/version")) {
    found.push_back(Ok("neuron_driver", "the Neuron driver is " + *neuron));
  }
}

// A user's profiler reads the counters of an NVIDIA device only where the driver lets it.
void AddProfilerPermission(const std::string& root, std::vector<Diagnosis>& found) {
  std::ifstream settings(root + "/proc/driver/nvidia/params");
  for (std::string line; std::getline(settings, line);) {
    if (!line.starts_with("RmProfilingAdminOnly:")) continue;
    const std::string check = "profiler_permission";
    if (line.ends_with(" 0")) {
      found.push_back(Ok(check, "NVIDIA's driver lets every user read the devices' counters"));
    } else if (::geteuid() == 0) {
      found.push_back(Ok(check, "NVIDIA's driver lets root alone read the devices' counters, and this kprofd is root"));
    } else {
      found.push_back(Warning(
          check,
          "NVIDIA's driver lets root alone read the devices' counters: profilers of others fail with ERR_NVGPUCTRPERM",
          "as root: write 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' into "
          "/etc/modprobe.d/nvidia-profiling.conf, then reload the driver or reboot"));
    }
    return;
  }
}

constexpr const char* kTools[] = {"ncu",           "nsys", "dcgmi", "neuron-ls", "neuron-monitor", "neuron-explorer",
                                  "neuron-profile"};
// All together: they are started at once.
constexpr std::chrono::seconds kLongest{3};
constexpr size_t kMostOutputBytes = 64 << 10;

using Moment = std::chrono::steady_clock::time_point;

int LeftMs(Moment until) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now()).count();
  return static_cast<int>(std::max<int64_t>(left, 0));
}

// Empty where it does not end well, or in time.
std::string VersionOf(ToolProcess& tool, Moment until) {
  std::string text;
  ToolProcess::Heard heard = ToolProcess::Heard::kBytes;
  while (heard != ToolProcess::Heard::kEnd) {
    const int left_ms = LeftMs(until);
    if (left_ms == 0 || text.size() > kMostOutputBytes) return "";
    heard = tool.Read(text, left_ms);
  }
  const std::optional<int> ended = tool.AwaitEnd(LeftMs(until));
  return ended == 0 ? VersionIn(text) : "";
}

struct VendorTool {
  std::string name;
  std::string program;  // its path
  std::string version;  // empty: it tells none
};

// The tools of ours that run a vendor's program: "annotation, ncu".
std::string ToolsThatRun(std::string_view program) {
  std::string names;
  for (const Tool* tool : AllTools()) {
    if (tool->needs.program == program || tool->needs.or_program == program)
      names += (names.empty() ? "" : ", ") + std::string(tool->name);
  }
  return names;
}
bool IsWanted(std::string_view program) {
  return !ToolsThatRun(program).empty();
}

// True for a program that others serve in place of, where it is not there: nobody misses it then, or it itself.
bool HasSubstitute(std::string_view program, const std::vector<VendorTool>& found) {
  const auto is_there = [&](std::string_view name) {
    return std::any_of(found.begin(), found.end(), [&](const VendorTool& tool) { return tool.name == name; });
  };
  return std::all_of(AllTools().begin(), AllTools().end(), [&](const Tool* tool) {
    if (tool->needs.program == program) return is_there(tool->needs.or_program);
    return true;
  });
}
// True for a program that is only wanted where another one is not there.
bool IsSubstitute(std::string_view program) {
  return std::any_of(AllTools().begin(), AllTools().end(),
                     [&](const Tool* tool) { return tool->needs.or_program == program; });
}

// The tools that there are, in the order of kTools. `tool_path` is looked into before PATH.
std::vector<VendorTool> FindVendorTools(const std::string& tool_path, OwnChildren* own, const std::string& root) {
  const char* path = std::getenv("PATH");
  const std::string places = tool_path + (tool_path.empty() ? "" : ":") + (path == nullptr ? kStandardPath : path);
  std::vector<VendorTool> found;
  std::vector<Result<ToolProcess>> started;
  for (const char* name : kTools) {
    Result<std::string> program = FindVendorProgram(name, {"PATH=" + places}, {.trusts_tool_path = true, .root = root});
    if (!program.ok()) continue;
    VendorTool tool = {name, *std::move(program), ""};
    started.push_back(ToolProcess::Start({tool.program, "--version"}, {"PATH=" + places, "LC_ALL=C"}, own));
    found.push_back(std::move(tool));
  }
  const Moment until = std::chrono::steady_clock::now() + kLongest;
  for (size_t i = 0; i < found.size(); ++i) {
    if (started[i].ok()) found[i].version = VersionOf(*started[i], until);
  }
  return found;
}

// What there is, then what is too old or missing for which of our tools. On a node without the vendor's driver
// nobody misses it.
void AddTools(const std::string& tool_path, OwnChildren* own, const std::string& root, bool has_neuron_device,
              std::vector<Diagnosis>& found) {
  const std::vector<VendorTool> tools = FindVendorTools(tool_path, own, root);
  std::string text;
  for (const VendorTool& tool : tools) {
    text += (text.empty() ? "" : ", ") + tool.name + (tool.version.empty() ? "" : " " + tool.version) + " (" +
            tool.program + ")";
  }
  found.push_back(Ok("tools", text.empty()
                                  ? "none of NVIDIA's and Neuron's is in kprofd's PATH, in tool_path or where it is "
                                    "usually installed"
                                  : text));
  for (const VendorTool& tool : tools) {
    if (tool.name != "nsys") continue;
    const Status usable = CheckNsysRelease(tool.name + " (" + tool.program + ")", tool.version);
    if (usable.ok()) continue;
    found.push_back(Warning("tool_nsys", "too old for captures with " + ToolsThatRun(tool.name) + ": " + usable.why(),
                            usable.remedy()));
  }
  const bool has_nvidia = ReadLine(root + "/proc/driver/nvidia/version").has_value();
  const bool has_neuron = has_neuron_device || ReadLine(root + "/sys/module/neuron/version").has_value();
  const auto neurons =
      std::find_if(tools.begin(), tools.end(), [](const VendorTool& tool) { return tool.name.starts_with("neuron"); });
  if (!has_neuron && neurons != tools.end()) {
    found.push_back(
        Ok("neuron_driver", "there is neither a Neuron driver nor a Neuron device, though there is " + neurons->name +
                                ": profiles can be viewed and imported here; to capture on a device install "
                                "aws-neuronx-dkms on a Neuron instance"));
  }
  for (const char* name : kTools) {
    const bool is_there =
        std::any_of(tools.begin(), tools.end(), [&](const VendorTool& tool) { return tool.name == name; });
    if (is_there || !IsWanted(name) || IsSubstitute(name) || HasSubstitute(name, tools)) continue;
    const bool is_neurons = std::string_view(name).starts_with("neuron");
    const bool has_driver = is_neurons ? has_neuron : has_nvidia;
    const std::string check = std::string("tool_") + name;
    const std::string needed = "captures with " + ToolsThatRun(name) + " need it";
    found.push_back(
        has_driver
            ? Warning(check, std::string("there is no ") + name + "; " + needed, RemedyForMissing(name))
            : Ok(check, std::string(is_neurons ? "no Neuron driver or device, so no " : "no NVIDIA driver, so no ") +
                            name + "; " + needed));
  }
}

}  // namespace

std::vector<Diagnosis> DiagnoseNode(const std::string& tool_path, OwnChildren* own, const std::string& root,
                                    bool has_neuron_device) {
  std::vector<Diagnosis> found = {CheckGovernor(root), CheckTurbo(root),      CheckClockSource(root), CheckLoad(root),
                                  CheckSwap(root),     CheckPerfEvents(root), CheckOpenFiles()};
  AddDrivers(root, found);
  AddProfilerPermission(root, found);
  AddTools(tool_path, own, root, has_neuron_device, found);
  return found;
}

}  // namespace kprof
