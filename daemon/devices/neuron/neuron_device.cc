#include "daemon/devices/neuron/neuron_device.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "storage/base/readable_text.h"

namespace kprof {
namespace {

constexpr int kMostDeviceNumber = 1024;
constexpr int kUsualLnc = 2;  // of chips that have a choice
constexpr double kMostPercent = 100;

struct KnownChip {
  NeuronChip chip;
  std::string_view instance;      // how its instances' types begin
  std::string_view architecture;  // the driver's name of the device, where that is documented
};

constexpr KnownChip kChips[] = {
    {{"Trainium1", "v2", 2}, "trn1", "ndv2"},
    {{"Inferentia2", "v2", 2}, "inf2", "ndv3"},
    {{"Trainium2", "v3", 8}, "trn2", ""},
    {{"Trainium3", "v4", 8}, "trn3", ""},
};

bool IsIdDigit(char c) {
  return c >= '0' && c <= '9';
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

// "trn1" begins "trn1n.32xlarge", and not "trn12.large".
bool BeginsWith(std::string_view text, std::string_view word) {
  return text.starts_with(word) && (text.size() == word.size() || !IsIdDigit(text[word.size()]));
}

// "v3" of "NCv3", "NC_V3d" and "v3d".
std::string CoreVersionIn(std::string_view name) {
  std::string lower = Lower(name);
  if (lower.starts_with("nc")) lower.erase(0, 2);
  if (lower.starts_with('_')) lower.erase(0, 1);
  if (!lower.starts_with('v')) return "";
  size_t size = 1;
  while (size < lower.size() && size < 4 && IsIdDigit(lower[size])) ++size;
  return size > 1 ? lower.substr(0, size) : "";
}

// One device's part of each source; null where it has none.
struct DeviceSources {
  const NeuronDeviceFacts* facts = nullptr;
  const NeuronSysfsDevice* sysfs = nullptr;
  const NeuronEccCounts* ecc = nullptr;
};

std::map<int, DeviceSources> SourcesByDevice(const NeuronSources& sources) {
  std::map<int, DeviceSources> devices;
  if (sources.inventory) {
    for (const NeuronDeviceFacts& facts : sources.inventory->devices) devices[facts.index].facts = &facts;
  }
  if (sources.sysfs) {
    for (const NeuronSysfsDevice& device : sources.sysfs->devices) devices[device.index].sysfs = &device;
  }
  if (sources.report && sources.report->ecc) {
    for (const NeuronDeviceEcc& device : *sources.report->ecc) devices[device.device].ecc = &device.counts;
  }
  if (devices.empty() && sources.report && sources.report->hardware) {
    const int count = std::min(sources.report->hardware->device_count.value_or(0), kMostDeviceNumber);
    for (int index = 0; index < count; ++index) devices[index];
  }
  return devices;
}

const NeuronHardwareInfo* HardwareOf(const NeuronSources& sources) {
  return sources.report && sources.report->hardware ? &*sources.report->hardware : nullptr;
}

// Somebody's word for a chip or for an instance with it.
struct ToldChip {
  std::optional<std::string> name;
  std::string_view by;  // for people
};

// Those of the instance's type, the more direct first.
std::array<ToldChip, 6> ToldInstanceTypes(const NeuronSources& sources, const DeviceSources& parts) {
  const bool is_reported = sources.report && sources.report->instance;
  return {{
      {parts.facts != nullptr ? parts.facts->instance_type : std::nullopt, "neuron-ls"},
      {sources.inventory ? sources.inventory->instance_type : std::nullopt, "neuron-ls"},
      {sources.listed_instance_type, "neuron-ls"},
      {is_reported ? sources.report->instance->type : std::nullopt, "neuron-monitor"},
      {sources.dmi_instance_type, "the firmware (DMI)"},
      {parts.sysfs != nullptr ? parts.sysfs->instance_type : std::nullopt, "the driver"},
  }};
}

std::optional<std::string> InstanceTypeOf(const NeuronSources& sources, const DeviceSources& parts) {
  for (const ToldChip& told : ToldInstanceTypes(sources, parts)) {
    if (told.name) return told.name;
  }
  if (sources.configured_chip.find('.') != std::string::npos) return sources.configured_chip;
  return std::nullopt;
}

struct FoundChip {
  const NeuronChip* chip = nullptr;
  std::string source;  // who tells it
};

// The configuration is somebody's will. Then what names the chip comes first, then what names the instance, then the
// architecture.
FoundChip ChipOf(const NeuronSources& sources, const DeviceSources& parts) {
  const NeuronHardwareInfo* hardware = HardwareOf(sources);
  std::vector<ToldChip> told;
  if (!sources.configured_chip.empty()) told.push_back({sources.configured_chip, "the configuration"});
  told.push_back({parts.sysfs != nullptr ? parts.sysfs->device_name : std::nullopt, "the driver"});
  told.push_back({hardware != nullptr ? hardware->device_type : std::nullopt, "neuron-monitor"});
  for (const ToldChip& instance : ToldInstanceTypes(sources, parts)) told.push_back(instance);
  told.push_back({parts.sysfs != nullptr ? parts.sysfs->arch_type : std::nullopt, "the driver"});
  for (const ToldChip& one : told) {
    const NeuronChip* chip = one.name ? FindNeuronChip(*one.name) : nullptr;
    if (chip != nullptr) return {chip, std::string(one.by) + " (" + ClippedText(*one.name, 64) + ")"};
  }
  return {};
}

// Never by the version of the device: Inferentia2 is NDv3, and its cores are v2.
std::string CoreVersionOf(const NeuronSources& sources, const DeviceSources& parts, const NeuronChip* chip) {
  std::string version;
  if (parts.sysfs != nullptr && !parts.sysfs->cores.empty()) {
    version = CoreVersionIn(parts.sysfs->cores.front().arch_type.value_or(""));
  }
  const NeuronHardwareInfo* hardware = HardwareOf(sources);
  if (version.empty() && hardware != nullptr) version = CoreVersionIn(hardware->neuroncore_version.value_or(""));
  if (version.empty() && chip != nullptr) version = chip->core_version;
  return version;
}

struct CoreCounts {
  std::optional<int> physical;
  std::optional<int> logical;
  std::optional<int> lnc;
  bool lnc_is_assumed = false;
};

CoreCounts CountCores(const NeuronSources& sources, const DeviceSources& parts, const NeuronChip* chip) {
  const NeuronHardwareInfo* hardware = HardwareOf(sources);
  CoreCounts counts;
  if (parts.facts != nullptr) {
    counts.lnc = parts.facts->lnc;
    counts.logical = parts.facts->nc_count;
    const auto named = static_cast<int>(parts.facts->neuroncore_ids.size());
    if (!counts.logical && named > 0) counts.logical = named;
  }
  if (!counts.lnc && sources.inventory) counts.lnc = sources.inventory->lnc;
  if (!counts.lnc && hardware != nullptr) counts.lnc = hardware->lnc;
  if (parts.sysfs != nullptr) {
    counts.physical = parts.sysfs->core_count;
    if (!parts.sysfs->cores.empty()) counts.physical = static_cast<int>(parts.sysfs->cores.size());
  }
  const int logical = counts.logical.value_or(0);
  if (!counts.lnc && logical > 0 && counts.physical) {
    for (const int lnc : {1, 2}) {
      if (logical * lnc == *counts.physical) counts.lnc = lnc;
    }
  }
  if (!counts.lnc && chip != nullptr && chip->core_version == "v2") counts.lnc = 1;
  if (!counts.lnc && logical == 0 && chip != nullptr) {
    counts.lnc = kUsualLnc;
    counts.lnc_is_assumed = true;
  }
  if (!counts.physical && counts.lnc && logical > 0) counts.physical = logical * *counts.lnc;
  if (!counts.physical && chip != nullptr) counts.physical = chip->cores;
  if (!counts.logical && counts.physical && counts.lnc) counts.logical = *counts.physical / *counts.lnc;
  if (!counts.logical && hardware != nullptr) counts.logical = hardware->cores_per_device;
  return counts;
}

// Whether neuron-ls numbers the cores of each device, and none twice.
bool NumbersEachCore(const std::map<int, DeviceSources>& devices, const std::map<int, CoreCounts>& counts) {
  std::set<int> seen;
  for (const auto& [index, parts] : devices) {
    if (parts.facts == nullptr) return false;
    const std::vector<int>& ids = parts.facts->neuroncore_ids;
    if (static_cast<int>(ids.size()) != counts.at(index).logical.value_or(0)) return false;
    for (const int id : ids) {
      if (!seen.insert(id).second) return false;
    }
  }
  return true;
}

template <typename Value>
void AddTo(std::optional<Value>& sum, const std::optional<Value>& more) {
  if (!more) return;
  const Value room = std::numeric_limits<Value>::max() - sum.value_or(0);
  sum = sum.value_or(0) + std::min(*more, room);
}

// What the runtimes of a report do on each core that any of them names.
struct ReportedUse {
  std::map<int, NeuronLogicalCore> by_core;
  bool all_told = true;  // whether a core that is not named is not used
};

ReportedUse UseOf(const NeuronReport& report) {
  ReportedUse reported;
  for (const NeuronRuntime& runtime : report.runtimes) {
    reported.all_told = reported.all_told && runtime.cores.has_value();
    for (const NeuronCoreUse& use : runtime.cores.value_or(std::vector<NeuronCoreUse>())) {
      NeuronLogicalCore& core = reported.by_core[use.core];
      AddTo(core.utilization_percent, use.utilization_percent);
      AddTo(core.flops, use.flops);
      if (runtime.pid) core.pids.push_back(*runtime.pid);
    }
    if (!runtime.memory) continue;
    for (const NeuronCoreMemory& memory : runtime.memory->cores) {
      AddTo(reported.by_core[memory.core].memory_bytes, std::optional(memory.total_bytes));
    }
  }
  return reported;
}

void AddUse(const ReportedUse& reported, NeuronLogicalCore& core) {
  const int number = core.number;
  const auto found = reported.by_core.find(number);
  if (found != reported.by_core.end()) core = found->second;
  core.number = number;
  if (core.utilization_percent) core.utilization_percent = std::min(*core.utilization_percent, kMostPercent);
  if (!core.utilization_percent && core.pids.empty() && reported.all_told) core.utilization_percent = 0;
}

void AddFacts(const NeuronDeviceFacts& facts, NeuronDevice& device) {
  device.bdf = facts.bdf;
  device.cpu_affinity = facts.cpu_affinity;
  device.numa_node = facts.numa_node;
  device.connected = facts.connected_to;
  device.memory_bytes = facts.memory_bytes;
  device.processes = facts.processes;
}

// A driver that does not count says 0, and so does one that counted none: only what is more is surely a count.
std::optional<int64_t> ErrorsOf(const NeuronSysfsDevice& sysfs, bool live) {
  std::optional<int64_t> errors;
  for (const NeuronSysfsCore& core : sysfs.cores) AddTo(errors, core.errors);
  return live || errors.value_or(0) > 0 ? errors : std::nullopt;
}

void AddSysfs(const NeuronSysfs& sysfs, const NeuronSysfsDevice& of_device, NeuronDevice& device) {
  device.serial_number = of_device.serial_number;
  if (device.connected.empty()) device.connected = of_device.connected.value_or(std::vector<int>());
  for (const NeuronSysfsCore& core : of_device.cores) {
    if (core.device_memory) AddTo(device.memory_used_bytes, core.device_memory->current_bytes);
  }
  device.ecc = of_device.ecc;
  device.execution_errors = ErrorsOf(of_device, HasLiveNeuronCounters(sysfs.driver_version.value_or("")));
  device.unhealthy_components = of_device.unhealthy_components;
  const bool valid = of_device.power && of_device.power->status == NeuronPower::Status::kValid;
  if (valid) device.power = of_device.power;
  device.notes.insert(device.notes.end(), of_device.notes.begin(), of_device.notes.end());
}

// Of the executions of a period, those that are not `completed`.
std::optional<int64_t> FailedIn(const NeuronExecutions& executions) {
  std::optional<int64_t> failed;
  for (const auto& count : {executions.completed_with_error, executions.completed_with_num_error, executions.timed_out,
                            executions.incorrect_input, executions.failed_to_queue}) {
    AddTo(failed, count);
  }
  return failed;
}

std::optional<int64_t> SumOf(const NeuronErrorCounts& errors) {
  std::optional<int64_t> sum;
  for (const auto& count :
       {errors.generic, errors.numerical, errors.transient, errors.model, errors.runtime, errors.hardware}) {
    AddTo(sum, count);
  }
  return sum;
}

// What it does on a device with these cores; nothing where it uses none of them.
std::optional<NeuronRuntimeUse> UseOn(const std::set<int>& cores, const NeuronRuntime& runtime) {
  bool is_on_it = false;
  for (const NeuronCoreUse& use : runtime.cores.value_or(std::vector<NeuronCoreUse>())) {
    is_on_it = is_on_it || cores.contains(use.core);
  }
  NeuronRuntimeUse use;
  if (runtime.memory) {
    for (const NeuronCoreMemory& memory : runtime.memory->cores) {
      if (cores.contains(memory.core)) AddTo(use.memory_bytes, std::optional(memory.total_bytes));
    }
    use.host_bytes = runtime.memory->host_bytes;
  }
  if (!runtime.pid || (!is_on_it && !use.memory_bytes)) return std::nullopt;
  use.pid = *runtime.pid;
  use.tag = runtime.tag;
  if (runtime.executions) {
    use.completed = runtime.executions->completed;
    use.failed = FailedIn(*runtime.executions);
  }
  if (runtime.errors) use.errors = SumOf(*runtime.errors);
  if (runtime.device_latency) {
    use.p50_latency_s = runtime.device_latency->p50_s;
    use.p99_latency_s = runtime.device_latency->p99_s;
  }
  return use;
}

void AddReport(const NeuronReport& report, const ReportedUse& reported, const NeuronEccCounts* ecc,
               NeuronDevice& device) {
  std::set<int64_t> known;
  for (const NeuronProcess& process : device.processes) known.insert(process.pid);
  std::optional<int64_t> memory;
  for (NeuronLogicalCore& core : device.cores) {
    AddUse(reported, core);
    AddTo(memory, core.memory_bytes);
    for (const int64_t pid : core.pids) {
      if (known.insert(pid).second) device.processes.push_back({.pid = pid});
    }
  }
  std::set<int> numbers;
  for (const NeuronLogicalCore& core : device.cores) numbers.insert(core.number);
  for (const NeuronRuntime& runtime : report.runtimes) {
    if (std::optional<NeuronRuntimeUse> use = UseOn(numbers, runtime)) device.runtimes.push_back(*std::move(use));
  }
  if (!device.memory_used_bytes) device.memory_used_bytes = memory;
  if (!device.memory_bytes && report.hardware) device.memory_bytes = report.hardware->device_memory_bytes;
  if (ecc == nullptr) return;
  const auto fill = [](std::optional<int64_t>& count, const std::optional<int64_t>& other) {
    if (!count) count = other;
  };
  fill(device.ecc.mem_corrected, ecc->mem_corrected);
  fill(device.ecc.mem_uncorrected, ecc->mem_uncorrected);
  fill(device.ecc.sram_corrected, ecc->sram_corrected);
  fill(device.ecc.sram_uncorrected, ecc->sram_uncorrected);
}

// As neuron-ls has it, where that makes sense; else on from `first`.
void NumberCores(const DeviceSources& parts, int count, bool as_told, int first, NeuronDevice& device) {
  std::vector<int> told = parts.facts != nullptr ? parts.facts->neuroncore_ids : std::vector<int>();
  std::sort(told.begin(), told.end());
  std::vector<int> numbers = told;
  if (!as_told) {
    numbers.resize(static_cast<size_t>(count));
    std::iota(numbers.begin(), numbers.end(), first);
  }
  for (const int number : numbers) device.cores.push_back({.number = number});
  if (told.empty() || numbers == told) return;
  device.notes.push_back("neuron-ls does not number each core of the node once; the numbers here are counted");
}

void NoteCounts(const CoreCounts& counts, std::vector<std::string>& notes) {
  if (counts.lnc_is_assumed) {
    notes.push_back("nobody tells how many physical cores make a logical one; taken for " + std::to_string(kUsualLnc) +
                    ", as is usual");
  }
  if (!counts.physical || !counts.logical || !counts.lnc) return;
  if (*counts.logical * *counts.lnc == *counts.physical) return;
  notes.push_back(std::to_string(*counts.logical) + " logical cores of " + std::to_string(*counts.lnc) +
                  " physical ones each are not its " + std::to_string(*counts.physical) + " physical cores");
}

}  // namespace

const NeuronChip* FindNeuronChip(std::string_view name) {
  const std::string lower = Lower(name);
  for (const KnownChip& known : kChips) {
    const bool by_name = BeginsWith(lower, Lower(known.chip.name)) || BeginsWith(lower, known.instance);
    const bool by_architecture = !known.architecture.empty() && lower == known.architecture;
    if (by_name || by_architecture) return &known.chip;
  }
  return nullptr;
}

bool HasLiveNeuronCounters(std::string_view driver_version) {
  constexpr int kFirst[] = {2, 30, 2};
  for (const int first : kFirst) {
    int part = 0;
    const auto [end, error] =
        std::from_chars(driver_version.data(), driver_version.data() + driver_version.size(), part);
    if (error != std::errc()) return false;
    if (part != first) return part > first;
    driver_version.remove_prefix(static_cast<size_t>(end - driver_version.data()));
    if (driver_version.starts_with('.')) driver_version.remove_prefix(1);
  }
  return true;
}

std::vector<NeuronDevice> MergeNeuronDevices(const NeuronSources& sources) {
  const std::map<int, DeviceSources> by_device = SourcesByDevice(sources);
  std::map<int, CoreCounts> counts;
  int most = 0;
  for (const auto& [index, parts] : by_device) {
    counts[index] = CountCores(sources, parts, ChipOf(sources, parts).chip);
    most = std::max(most, counts[index].logical.value_or(0));
  }
  const bool numbered = NumbersEachCore(by_device, counts);
  const ReportedUse reported = sources.report ? UseOf(*sources.report) : ReportedUse();
  std::vector<NeuronDevice> devices;
  for (const auto& [index, parts] : by_device) {
    FoundChip found = ChipOf(sources, parts);
    const NeuronChip* chip = found.chip;
    NeuronDevice device;
    device.index = index;
    device.chip_source = std::move(found.source);
    if (chip != nullptr) device.chip = chip->name;
    device.core_version = CoreVersionOf(sources, parts, chip);
    device.instance_type = InstanceTypeOf(sources, parts);
    device.physical_cores = counts[index].physical;
    device.lnc = counts[index].lnc;
    NumberCores(parts, counts[index].logical.value_or(0), numbered, index * most, device);
    NoteCounts(counts[index], device.notes);
    if (sources.sysfs) device.driver_version = sources.sysfs->driver_version;
    if (parts.facts != nullptr) AddFacts(*parts.facts, device);
    if (parts.sysfs != nullptr) AddSysfs(*sources.sysfs, *parts.sysfs, device);
    if (sources.report) AddReport(*sources.report, reported, parts.ecc, device);
    devices.push_back(std::move(device));
  }
  return devices;
}

}  // namespace kprof
