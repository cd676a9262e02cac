#include "daemon/devices/neuron/neuron_sysfs.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <limits>
#include <map>
#include <utility>

#include "daemon/devices/neuron/neuron_sysfs_folder.h"

namespace kprof {
namespace {

constexpr size_t kMostNames = 4096;     // in one folder
constexpr int kMostSysfsNumber = 1023;  // of a device, or of a core within one
constexpr size_t kPowerFields = 5;

// "neuron3" with "neuron" is 3; nothing for any other name.
std::optional<int> NumberBehind(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  int number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool whole = error == std::errc() && end == name.data() + name.size();
  const bool canonical = name == "0" || (whole && name[0] >= '1' && name[0] <= '9');  // not "-1", and not "03" for 3
  return whole && canonical && number <= kMostSysfsNumber ? std::optional(number) : std::nullopt;
}

int64_t SumOfCounters(int64_t a, int64_t b) {
  return b > std::numeric_limits<int64_t>::max() - a ? std::numeric_limits<int64_t>::max() : a + b;
}

void AddTo(std::optional<int64_t>& sum, const std::optional<int64_t>& more) {
  if (more) sum = SumOfCounters(sum.value_or(0), *more);
}

std::optional<std::string> ReadWord(const NeuronSysfsFolder& folder, std::string_view path) {
  std::optional<std::string> text = folder.ReadText(path);
  if (text && text->empty()) text.reset();
  return text;
}

// A counter is a file, or a folder with its total.
std::optional<int64_t> ReadCounter(const NeuronSysfsFolder& folder, const std::string& name) {
  const std::optional<int64_t> count = folder.ReadCount(name);
  return count ? count : folder.ReadCount(name + "/total");
}

// "12, 3, 4, 1"; empty where nothing is connected, nothing for any other text.
std::optional<std::vector<int>> ParseNumbers(std::string_view text) {
  std::vector<int> numbers;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(", \t"), text.size()));
    if (text.empty()) return numbers;
    const std::string_view word = text.substr(0, text.find_first_of(", \t"));
    const std::optional<int> number = NumberBehind(word, "");
    if (!number) return std::nullopt;
    numbers.push_back(*number);
    text.remove_prefix(word.size());
  }
}

std::optional<NeuronMemoryCounter> ReadMemoryCounter(const NeuronSysfsFolder& folder) {
  const NeuronMemoryCounter counter{folder.ReadCount("total"), folder.ReadCount("present"), folder.ReadCount("peak")};
  return counter == NeuronMemoryCounter() ? std::nullopt : std::optional(counter);
}

std::vector<NeuronNamedMemory> ReadMemoryKinds(const NeuronSysfsFolder& folder) {
  std::vector<NeuronNamedMemory> kinds;
  for (const std::string& name : folder.ListFolders(kMostNames)) {
    const std::optional<NeuronMemoryCounter> counter = ReadMemoryCounter(folder.Open(name));
    if (counter) kinds.push_back({name, *counter});
  }
  return kinds;
}

// The driver's own sum where it has one. Peaks of kinds are of different times: they have no sum.
std::optional<NeuronMemoryCounter> AllOf(const NeuronSysfsFolder& folder, const std::vector<NeuronNamedMemory>& kinds) {
  if (const std::optional<NeuronMemoryCounter> own = ReadMemoryCounter(folder)) return own;
  if (kinds.empty()) return std::nullopt;
  NeuronMemoryCounter all;
  for (const NeuronNamedMemory& kind : kinds) AddTo(all.current_bytes, kind.counter.current_bytes);
  return all;
}

// What a status is called without the prefix in which drivers differ.
std::string_view StatusStem(std::string_view name) {
  for (const std::string_view prefix : {"infer_", "execute_", "exec_"}) {
    if (name.starts_with(prefix)) return name.substr(prefix.size());
  }
  return name;
}

void ReadStatus(const NeuronSysfsFolder& folder, NeuronSysfsCore& core) {
  std::map<std::string, int64_t, std::less<>> by_stem;
  for (const std::string& name : folder.ListFolders(kMostNames)) {
    const std::optional<int64_t> total = folder.Open(name).ReadCount("total");
    if (!total) continue;
    core.status.push_back({name, *total});
    int64_t& most = by_stem.try_emplace(std::string(StatusStem(name)), 0).first->second;
    most = std::max(most, *total);
  }
  for (const auto& [stem, total] : by_stem) AddTo(stem == "success" ? core.successes : core.errors, total);
}

NeuronSysfsCore ReadCore(const NeuronSysfsFolder& folder, int number) {
  NeuronSysfsCore core;
  core.core = number;
  core.arch_type = ReadWord(folder, "info/architecture/arch_type");
  const NeuronSysfsFolder stats = folder.Open("stats");
  const NeuronSysfsFolder device_memory = stats.Open("memory_usage/device_mem");
  core.device_memory_kinds = ReadMemoryKinds(device_memory);
  core.device_memory = AllOf(device_memory, core.device_memory_kinds);
  const NeuronSysfsFolder host_memory = stats.Open("memory_usage/host_mem");
  core.host_memory = ReadMemoryCounter(host_memory);
  if (!core.host_memory) core.host_memory = AllOf(host_memory, ReadMemoryKinds(host_memory));
  ReadStatus(stats.Open("status"), core);
  const NeuronSysfsFolder other = stats.Open("other_info");
  core.time_in_use_us = ReadCounter(other, "nc_time_in_use");
  core.flop_count = ReadCounter(other, "flop_count");
  core.inference_count = ReadCounter(other, "inference_count");
  core.model_load_count = ReadCounter(other, "model_load_count");
  core.reset_requests = ReadCounter(other, "reset_req_count");
  core.reset_failures = ReadCounter(other, "reset_fail_count");
  return core;
}

// Beside the others, or among the nodes of health, which are newer.
std::optional<int64_t> ReadEcc(const NeuronSysfsFolder& hardware, const NeuronSysfsFolder& health,
                               const std::string& name) {
  const std::optional<int64_t> count = ReadCounter(hardware, name);
  return count ? count : ReadCounter(health, name);
}

// Without the spaces around them; some may be empty.
std::vector<std::string_view> SplitSysfsList(std::string_view text) {
  std::vector<std::string_view> words;
  while (true) {
    const size_t comma = text.find(',');
    std::string_view word = text.substr(0, comma);
    while (word.starts_with(' ')) word.remove_prefix(1);
    while (word.ends_with(' ')) word.remove_suffix(1);
    words.push_back(word);
    if (comma == text.npos) return words;
    text.remove_prefix(comma + 1);
  }
}

void ReadHardware(const NeuronSysfsFolder& hardware, NeuronSysfsDevice& device) {
  const NeuronSysfsFolder health = hardware.Open("health_status");
  device.ecc.mem_corrected = ReadEcc(hardware, health, "mem_ecc_corrected");
  device.ecc.mem_uncorrected = ReadEcc(hardware, health, "mem_ecc_uncorrected");
  device.ecc.mem_repairable_uncorrected = ReadEcc(hardware, health, "mem_ecc_repairable_uncorrected");
  device.ecc.sram_corrected = ReadEcc(hardware, health, "sram_ecc_corrected");
  device.ecc.sram_uncorrected = ReadEcc(hardware, health, "sram_ecc_uncorrected");
  for (const std::string& name : health.ListFiles(kMostNames)) {
    const std::optional<std::string> text = health.ReadText(name);
    if (!text) continue;
    device.health.push_back({name, *text});
    if (name != "unhealthy_components") continue;
    for (const std::string_view component : SplitSysfsList(*text)) {
      if (!component.empty()) device.unhealthy_components.emplace_back(component);
    }
  }
  for (const std::string& name : health.ListFolders(kMostNames)) {
    if (const std::optional<std::string> total = health.ReadText(name + "/total")) {
      device.health.push_back({name, *total});
    }
  }
}

// What every driver has that we know the tree of; where one is not there, it has moved.
void NoteMoved(const NeuronSysfsFolder& folder, NeuronSysfsDevice& device) {
  std::vector<std::string> expected = {"info/architecture", "neuron_core0"};
  if (!device.cores.empty()) {
    const std::string core = "neuron_core" + std::to_string(device.cores.front().core);
    expected = {"info/architecture", core + "/stats/memory_usage", core + "/stats/other_info"};
  }
  std::string missing;
  for (const std::string& path : expected) {
    if (!folder.Open(path).valid()) missing += (missing.empty() ? "" : ", ") + path;
  }
  if (missing.empty()) return;
  device.notes.push_back("not where drivers before 2.31 have them: " + missing +
                         "; that driver moved nodes, and kprofd does not know where to");
}

NeuronSysfsDevice ReadDevice(const NeuronSysfsFolder& folder, int index) {
  NeuronSysfsDevice device;
  device.index = index;
  const NeuronSysfsFolder architecture = folder.Open("info/architecture");
  device.arch_type = ReadWord(architecture, "arch_type");
  device.device_name = ReadWord(architecture, "device_name");
  device.instance_type = ReadWord(architecture, "instance_type");
  device.serial_number = ReadWord(folder, "info/serial_number");
  const std::optional<int64_t> cores = folder.ReadCount("core_count");
  if (cores && *cores <= kMostSysfsNumber) device.core_count = static_cast<int>(*cores);
  if (const std::optional<std::string> text = folder.ReadText("connected_devices")) {
    device.connected = ParseNumbers(*text);
  }
  const NeuronSysfsFolder stats = folder.Open("stats");
  ReadHardware(stats.Open("hardware"), device);
  const NeuronSysfsFolder host_memory = stats.Open("memory_usage/host_mem");
  device.host_memory = AllOf(host_memory, ReadMemoryKinds(host_memory));
  if (const std::optional<std::string> line = stats.ReadText("power/utilization")) {
    device.power = ParseNeuronPower(*line);
  }
  device.power_raw = ReadWord(stats, "power/utilization_raw");
  for (const std::string& name : folder.ListFolders(kMostNames)) {
    const std::optional<int> core = NumberBehind(name, "neuron_core");
    if (core) device.cores.push_back(ReadCore(folder.Open(name), *core));
  }
  std::sort(device.cores.begin(), device.cores.end(), [](const auto& a, const auto& b) { return a.core < b.core; });
  NoteMoved(folder, device);
  return device;
}

template <typename Number>
std::optional<Number> ParseNumber(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && number >= 0 && number <= std::numeric_limits<Number>::max() ? std::optional(number) : std::nullopt;
}

}  // namespace

std::optional<NeuronPower> ParseNeuronPower(std::string_view line) {
  const std::vector<std::string_view> fields = SplitSysfsList(line);
  NeuronPower power;
  if (fields[0] == "POWER_STATUS_VALID") {
    power.status = NeuronPower::Status::kValid;
  } else if (fields[0] == "POWER_STATUS_NO_DATA") {
    power.status = NeuronPower::Status::kNoData;
  } else if (fields[0] != "POWER_STATUS_INVALID") {
    return std::nullopt;
  }
  if (fields.size() > 1) power.sampled_unix_s = ParseNumber<int64_t>(fields[1]);
  if (power.status != NeuronPower::Status::kValid) return power;
  if (fields.size() != kPowerFields) return std::nullopt;
  power.min_percent = ParseNumber<double>(fields[2]);
  power.max_percent = ParseNumber<double>(fields[3]);
  power.mean_percent = ParseNumber<double>(fields[4]);
  const bool whole = power.sampled_unix_s && power.min_percent && power.max_percent && power.mean_percent;
  return whole ? std::optional(power) : std::nullopt;
}

NeuronSysfs ReadNeuronSysfs(const std::string& root, const std::string& module_folder) {
  NeuronSysfs sysfs;
  sysfs.driver_version = ReadWord(NeuronSysfsFolder(module_folder), "version");
  const NeuronSysfsFolder folder(root);
  if (!folder.valid() && folder.error() != ENOENT && folder.error() != ENOTDIR) {
    sysfs.notes.push_back(root + " cannot be opened: " + FailErrno(folder.error(), "open it").why());
  }
  for (const std::string& name : folder.ListFolders(kMostNames)) {
    const std::optional<int> index = NumberBehind(name, "neuron");
    if (index) sysfs.devices.push_back(ReadDevice(folder.Open(name), *index));
  }
  std::sort(sysfs.devices.begin(), sysfs.devices.end(), [](const auto& a, const auto& b) { return a.index < b.index; });
  return sysfs;
}

}  // namespace kprof
