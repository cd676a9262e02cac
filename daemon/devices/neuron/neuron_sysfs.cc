#include "daemon/devices/neuron/neuron_sysfs.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/base/descriptors.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

// A folder of the Neuron driver's sysfs tree, to read. The one door to that tree, so that nothing else is ever done
// there: no write, no link followed, nothing opened but folders and regular files, and never `reset` or `notify_delay`.
// One that is not valid holds nothing.
//
// Any thread. Blocks as long as the kernel takes.
class NeuronSysfsFolder {
 public:
  // The path itself may lead over links.
  explicit NeuronSysfsFolder(const std::string& path);

  bool valid() const { return fd_.valid(); }
  int error() const { return error_; }  // errno where it is not valid

  // One that is some steps down: "info/architecture".
  NeuronSysfsFolder Open(std::string_view path) const;

  // The whole of a file of at most 4 KiB, without the spaces and line ends around it; some steps down, too. Nothing
  // where it cannot be read.
  std::optional<std::string> ReadText(std::string_view path) const;
  // Not below 0.
  std::optional<int64_t> ReadCount(std::string_view path) const;

  // Names in it, sorted; no more than `limit` are looked at.
  std::vector<std::string> ListFolders(size_t limit) const;
  std::vector<std::string> ListFiles(size_t limit) const;

 private:
  NeuronSysfsFolder(UniqueFd fd, int error) : fd_(std::move(fd)), error_(error) {}
  std::vector<std::string> List(size_t limit, unsigned kind) const;

  UniqueFd fd_;
  int error_ = 0;
};

constexpr size_t kFileLimitBytes = 4096;
constexpr size_t kMostDmiBytes = 64;  // of an instance's type
constexpr std::string_view kSpaces = " \t\r\n";

// Writing to the first resets the device, the second changes what the driver does.
bool IsNeverOpened(std::string_view name) {
  return name == "reset" || name == "notify_delay";
}

mode_t KindOf(int folder_fd, const std::string& name) {
  struct stat info {};
  return ::fstatat(folder_fd, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 ? info.st_mode & S_IFMT : 0;
}

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kSpaces);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpaces) - begin + 1);
}

NeuronSysfsFolder::NeuronSysfsFolder(const std::string& path)
    : fd_(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)), error_(fd_.valid() ? 0 : errno) {}

NeuronSysfsFolder NeuronSysfsFolder::Open(std::string_view path) const {
  UniqueFd opened;
  int at = fd_.get();
  while (at >= 0) {
    const size_t slash = path.find('/');
    const std::string name(path.substr(0, slash));
    UniqueFd next(::openat(at, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!next.valid()) return {UniqueFd(), errno};
    opened = std::move(next);
    if (slash == path.npos) return {std::move(opened), 0};
    at = opened.get();
    path.remove_prefix(slash + 1);
  }
  return {UniqueFd(), error_};
}

std::optional<std::string> NeuronSysfsFolder::ReadText(std::string_view path) const {
  if (const size_t slash = path.rfind('/'); slash != path.npos) {
    return Open(path.substr(0, slash)).ReadText(path.substr(slash + 1));
  }
  if (!valid() || IsNeverOpened(path)) return std::nullopt;
  const std::string name(path);
  if (KindOf(fd_.get(), name) != S_IFREG) return std::nullopt;
  const UniqueFd file(::openat(fd_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file.valid()) return std::nullopt;
  char bytes[kFileLimitBytes + 1];
  size_t size = 0;
  while (size < sizeof bytes) {
    const ssize_t got = ::read(file.get(), bytes + size, sizeof bytes - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) return ReadableText(Trimmed({bytes, size}));
    size += static_cast<size_t>(got);
  }
  return std::nullopt;
}

std::optional<int64_t> NeuronSysfsFolder::ReadCount(std::string_view path) const {
  const std::optional<std::string> text = ReadText(path);
  if (!text) return std::nullopt;
  int64_t count = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), count);
  const bool whole = error == std::errc() && end == text->data() + text->size();
  return whole && count >= 0 ? std::optional(count) : std::nullopt;
}

std::vector<std::string> NeuronSysfsFolder::ListFolders(size_t limit) const {
  return List(limit, S_IFDIR);
}

std::vector<std::string> NeuronSysfsFolder::ListFiles(size_t limit) const {
  return List(limit, S_IFREG);
}

std::vector<std::string> NeuronSysfsFolder::List(size_t limit, unsigned kind) const {
  std::vector<std::string> names;
  if (!valid()) return names;
  UniqueFd listed(::openat(fd_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(listed.valid() ? ::fdopendir(listed.get()) : nullptr, ::closedir);
  if (directory == nullptr) return names;
  listed.Release();  // the directory's now
  for (size_t looked = 0; looked < limit; ++looked) {
    const dirent* entry = ::readdir(directory.get());
    if (entry == nullptr) break;
    const std::string name = entry->d_name;
    if (name != "." && name != ".." && !IsNeverOpened(name) && KindOf(fd_.get(), name) == kind) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

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

std::optional<std::string> ReadDmiInstanceType(const std::string& folder) {
  const NeuronSysfsFolder dmi(folder);
  if (ReadWord(dmi, "sys_vendor") != "Amazon EC2") return std::nullopt;
  const std::optional<std::string> product = ReadWord(dmi, "product_name");
  return product && product->size() <= kMostDmiBytes ? product : std::nullopt;
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
