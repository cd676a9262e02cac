#include "daemon/devices/nvidia/nvml_device.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <utility>

#include "daemon/devices/nvidia/nvidia_facts.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

constexpr int kTriesToFit = 4;             // a list that grows between asking how long it is and reading it
constexpr unsigned kRoomForMore = 8;       // processes that began meanwhile
constexpr unsigned kMostListed = 1 << 16;  // of anything; more is nonsense
constexpr unsigned kMostMigInstances = 64;
constexpr uint32_t kMostIndexes = 64;

std::string_view ArchitectureName(uint32_t number) {
  constexpr std::array<std::string_view, 11> kNames = {"",       "",       "Kepler", "Maxwell", "Pascal",   "Volta",
                                                       "Turing", "Ampere", "Ada",    "Hopper",  "Blackwell"};
  return number < kNames.size() ? kNames[number] : "";
}

// How many CUDA cores make an SM; NVML tells the cores alone. 0: not known.
uint32_t CoresPerSm(int major, int minor) {
  if (major == 6) return minor == 0 ? 64 : 128;
  if (major == 7) return 64;
  if (major == 8) return minor == 0 ? 64 : 128;
  if (major >= 9 && major <= 12) return 128;
  return 0;
}

// It becomes a file's name, and a variable of programs.
bool IsUuid(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
  });
}

std::string CudaVersionText(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

template <size_t size>
std::string TextOf(const char (&buffer)[size]) {
  return std::string(buffer, ::strnlen(buffer, size));
}

constexpr char kNotWritten = '\xa5';

// How far apart the library has written `count` of them: what it wrote ends there.
size_t BytesOfEach(const std::string& written, size_t count) {
  const size_t usual_end = count * sizeof(nvml::ProcessInfo);
  const size_t end = written.find_last_not_of(kNotWritten) + 1;  // 0 where nothing was
  const bool is_larger = end > usual_end && end <= count * nvml::kMostProcessInfoBytes;
  return is_larger ? nvml::kMostProcessInfoBytes : sizeof(nvml::ProcessInfo);
}

// By older libraries the text is left empty.
std::string PciText(const nvml::PciInfo& pci) {
  if (pci.bus_id[0] != '\0') return TextOf(pci.bus_id);
  char text[24];
  std::snprintf(text, sizeof text, "%08X:%02X:%02X.0", pci.domain, pci.bus, pci.device);
  return text;
}

std::optional<uint64_t> KnownBytes(unsigned long long bytes) {
  if (bytes == nvml::kValueNotAvailable) return std::nullopt;
  return bytes;
}

}  // namespace

Result<uint32_t> CountNvidiaDevices(const NvmlLibrary& library, CallPage& page) {
  unsigned count = 0;
  page.Begin("nvmlDeviceGetCount_v2");
  const nvml::Return returned = library.functions().device_count(&count);
  page.End();
  RETURN_IF_ERROR(NvmlStatus(returned, "count the NVIDIA devices"));
  return count;
}

Result<NvmlDevice> NvmlDevice::AtIndex(const NvmlLibrary& library, CallPage& page, uint32_t index) {
  nvml::DeviceHandle handle = nullptr;
  page.Begin("nvmlDeviceGetHandleByIndex_v2");
  const nvml::Return returned = library.functions().handle_by_index(index, &handle);
  page.End();
  // There is no device of that index.
  const nvml::Return meant = returned == nvml::kInvalidArgument ? nvml::kNotFound : returned;
  RETURN_IF_ERROR(NvmlStatus(meant, "find NVIDIA device " + std::to_string(index)));
  return Named(library, page, handle);
}

Result<NvmlDevice> NvmlDevice::AtIndexOrAnother(const NvmlLibrary& library, CallPage& page, uint32_t index,
                                                const std::vector<std::string>& taken) {
  const auto is_taken = [&](const Result<NvmlDevice>& device) {
    return device.ok() && std::find(taken.begin(), taken.end(), device->uuid()) != taken.end();
  };
  Result<NvmlDevice> device = AtIndex(library, page, index);
  if (!is_taken(device)) return device;
  ASSIGN_OR_RETURN(const uint32_t count, CountNvidiaDevices(library, page));
  for (uint32_t other = 0; other < std::min(count, kMostIndexes); ++other) {
    Result<NvmlDevice> another = AtIndex(library, page, other);
    if (another.ok() && !is_taken(another)) return another;
  }
  return NvmlStatus(nvml::kNotFound, "find NVIDIA device " + std::to_string(index));
}

Result<NvmlDevice> NvmlDevice::OfUuid(const NvmlLibrary& library, CallPage& page, const std::string& uuid) {
  const std::string act = "find NVIDIA device " + uuid;
  nvml::DeviceHandle handle = nullptr;
  if (library.functions().handle_by_uuid == nullptr) return NvmlStatus(nvml::kFunctionNotFound, act);
  page.Begin("nvmlDeviceGetHandleByUUID");
  const nvml::Return returned = library.functions().handle_by_uuid(uuid.c_str(), &handle);
  page.End();
  RETURN_IF_ERROR(NvmlStatus(returned == nvml::kInvalidArgument ? nvml::kNotFound : returned, act));
  return Named(library, page, handle);
}

Result<NvmlDevice> NvmlDevice::Named(const NvmlLibrary& library, CallPage& page, nvml::DeviceHandle handle) {
  NvmlDevice device(library, page, handle);
  const std::optional<std::string> uuid = device.Text("nvmlDeviceGetUUID", library.functions().uuid, nvml::kUuidBytes);
  if (device.lost_) return *device.lost_;
  if (!uuid || !IsUuid(*uuid)) {
    return Fail(ErrorCode::kToolFailed, "find an NVIDIA device", "the driver does not tell its uuid");
  }
  device.uuid_ = *uuid;
  return device;
}

template <typename Call>
bool NvmlDevice::Try(const char* name, const Call& call) {
  if (lost_) return false;  // each further call would take its time to say the same
  page_->Begin(name);
  const nvml::Return returned = call();
  page_->End();
  if (IsLost(returned)) lost_ = NvmlStatus(returned, std::string("ask the device (") + name + ")");
  return returned == nvml::kSuccess;
}

template <typename F, typename... Args>
std::optional<uint32_t> NvmlDevice::Number(const char* name, F function, Args... args) {
  unsigned value = 0;
  if (function == nullptr || !Try(name, [&] { return function(handle_, args..., &value); })) return std::nullopt;
  return value;
}

template <typename F>
std::optional<std::string> NvmlDevice::Text(const char* name, F function, unsigned bytes) {
  char buffer[128] = {};
  bytes = std::min<unsigned>(bytes, sizeof buffer - 1);
  if (function == nullptr || !Try(name, [&] { return function(handle_, buffer, bytes); })) return std::nullopt;
  return ReadableText(TextOf(buffer));
}

Result<NvidiaIdentity> NvmlDevice::ReadIdentity() {
  const nvml::Functions& f = library_->functions();
  lost_.reset();
  NvidiaIdentity identity;
  identity.uuid = uuid_;
  identity.name = Text("nvmlDeviceGetName", f.name, nvml::kNameBytes).value_or("");
  identity.serial = Text("nvmlDeviceGetSerial", f.serial, nvml::kSerialBytes).value_or("");
  identity.vbios = Text("nvmlDeviceGetVbiosVersion", f.vbios_version, nvml::kVbiosBytes).value_or("");
  identity.minor_number = Number("nvmlDeviceGetMinorNumber", f.minor_number);
  nvml::PciInfo pci{};
  if (f.pci_info != nullptr && Try("nvmlDeviceGetPciInfo_v3", [&] { return f.pci_info(handle_, &pci); })) {
    identity.pci = PciText(pci);
  }
  if (auto number = Number("nvmlDeviceGetArchitecture", f.architecture)) {
    identity.architecture = ArchitectureName(*number);
  }
  int major = 0;
  int minor = 0;
  const auto capability = [&] { return f.compute_capability(handle_, &major, &minor); };
  if (f.compute_capability != nullptr && Try("nvmlDeviceGetCudaComputeCapability", capability)) {
    identity.compute_capability = std::to_string(major) + "." + std::to_string(minor);
  }
  identity.cuda_cores = Number("nvmlDeviceGetNumGpuCores", f.gpu_cores);
  if (const uint32_t per_sm = CoresPerSm(major, minor); identity.cuda_cores && per_sm > 0) {
    identity.sm_count = *identity.cuda_cores / per_sm;
  }
  identity.memory_bus_bits = Number("nvmlDeviceGetMemoryBusWidth", f.memory_bus_width);
  nvml::Memory memory{};
  if (f.memory_info != nullptr && Try("nvmlDeviceGetMemoryInfo", [&] { return f.memory_info(handle_, &memory); })) {
    identity.memory_bytes = memory.total;
  }
  ReadLimits(identity);
  ReadSystem(identity);
  identity.nvlinks = ReadNvLinks();
  if (lost_) return *lost_;
  return identity;
}

void NvmlDevice::ReadLimits(NvidiaIdentity& identity) {
  const nvml::Functions& f = library_->functions();
  identity.max_sm_mhz = Number("nvmlDeviceGetMaxClockInfo", f.max_clock, nvml::kClockSm);
  identity.max_memory_mhz = Number("nvmlDeviceGetMaxClockInfo", f.max_clock, nvml::kClockMem);
  if (f.memory_clocks != nullptr) {
    identity.memory_clocks_mhz =
        SupportedClocks("nvmlDeviceGetSupportedMemoryClocks",
                        [&](unsigned* count, unsigned* clocks) { return f.memory_clocks(handle_, count, clocks); });
  }
  if (f.graphics_clocks != nullptr && !identity.memory_clocks_mhz.empty()) {
    const unsigned memory_mhz = identity.memory_clocks_mhz.front();
    identity.sm_clocks_mhz = SupportedClocks(
        "nvmlDeviceGetSupportedGraphicsClocks",
        [&](unsigned* count, unsigned* clocks) { return f.graphics_clocks(handle_, memory_mhz, count, clocks); });
  }
  const char* usual = "nvmlDeviceGetDefaultApplicationsClock";
  identity.default_application_sm_mhz = Number(usual, f.default_application_clock, nvml::kClockGraphics);
  identity.default_application_memory_mhz = Number(usual, f.default_application_clock, nvml::kClockMem);
  identity.default_power_mw = Number("nvmlDeviceGetPowerManagementDefaultLimit", f.default_power_limit);
  unsigned least = 0;
  unsigned most = 0;
  if (f.power_limit_range != nullptr && Try("nvmlDeviceGetPowerManagementLimitConstraints",
                                            [&] { return f.power_limit_range(handle_, &least, &most); })) {
    identity.least_power_mw = least;
    identity.most_power_mw = most;
  }
  const char* threshold = "nvmlDeviceGetTemperatureThreshold";
  identity.slowdown_c = Number(threshold, f.temperature_threshold, nvml::kThresholdSlowdown);
  identity.shutdown_c = Number(threshold, f.temperature_threshold, nvml::kThresholdShutdown);
  identity.most_gpu_c = Number(threshold, f.temperature_threshold, nvml::kThresholdGpuMax);
}

void NvmlDevice::ReadSystem(NvidiaIdentity& identity) {
  const nvml::Functions& f = library_->functions();
  char text[nvml::kVersionBytes + 1] = {};
  const auto driver = [&] { return f.driver_version(text, nvml::kVersionBytes); };
  if (f.driver_version != nullptr && Try("nvmlSystemGetDriverVersion", driver)) identity.driver_version = TextOf(text);
  const auto library = [&] { return f.nvml_version(text, nvml::kVersionBytes); };
  if (f.nvml_version != nullptr && Try("nvmlSystemGetNVMLVersion", library)) identity.nvml_version = TextOf(text);
  int cuda = 0;
  const auto newest = [&] { return f.cuda_driver_version(&cuda); };
  if (f.cuda_driver_version != nullptr && Try("nvmlSystemGetCudaDriverVersion_v2", newest)) {
    identity.cuda_version = CudaVersionText(cuda);
  }
}

std::vector<uint32_t> NvmlDevice::SupportedClocks(const char* name,
                                                  const std::function<nvml::Return(unsigned*, unsigned*)>& read) {
  std::vector<uint32_t> clocks;
  unsigned count = 0;
  for (int tries = 0; tries < kTriesToFit; ++tries) {
    nvml::Return returned = nvml::kSuccess;
    clocks.assign(count, 0);
    const bool whole = Try(name, [&] { return returned = read(&count, clocks.data()); });
    const bool has_room = returned != nvml::kInsufficientSize && (!whole || count <= clocks.size());
    if (!has_room && count <= kMostListed) continue;
    clocks.resize(whole ? std::min<size_t>(count, clocks.size()) : 0);
    std::sort(clocks.begin(), clocks.end(), std::greater<>());
    return clocks;
  }
  return {};
}

std::vector<NvLink> NvmlDevice::ReadNvLinks() {
  const nvml::Functions& f = library_->functions();
  std::vector<NvLink> links;
  for (unsigned number = 0; f.nvlink_state != nullptr && number < nvml::kMostNvLinks; ++number) {
    nvml::EnableState active = nvml::kDisabled;
    if (!Try("nvmlDeviceGetNvLinkState", [&] { return f.nvlink_state(handle_, number, &active); })) break;
    NvLink link{number, active == nvml::kEnabled, ""};
    nvml::PciInfo remote{};
    const auto find_remote = [&] { return f.nvlink_remote_pci(handle_, number, &remote); };
    if (link.active && f.nvlink_remote_pci != nullptr && Try("nvmlDeviceGetNvLinkRemotePciInfo_v2", find_remote)) {
      link.remote_pci = PciText(remote);
    }
    links.push_back(std::move(link));
  }
  return links;
}

Result<NvidiaState> NvmlDevice::ReadState() {
  const nvml::Functions& f = library_->functions();
  lost_.reset();
  NvidiaState state;
  nvml::Memory memory{};
  if (f.memory_info != nullptr && Try("nvmlDeviceGetMemoryInfo", [&] { return f.memory_info(handle_, &memory); })) {
    state.memory_used_bytes = memory.used;
  }
  unsigned mig_now = 0;
  unsigned mig_after_reset = 0;
  const auto mig = [&] { return f.mig_mode(handle_, &mig_now, &mig_after_reset); };
  if (f.mig_mode != nullptr && Try("nvmlDeviceGetMigMode", mig)) state.mig = mig_now == nvml::kMigEnabled;
  if (state.mig.value_or(false)) state.mig_instances = ReadMigInstances();
  state.persistence = ReadPersistence();
  ReadEcc(state);
  ReadApplicationClocks(state);
  state.power_limit_mw = Number("nvmlDeviceGetPowerManagementLimit", f.power_limit);
  state.enforced_power_limit_mw = Number("nvmlDeviceGetEnforcedPowerLimit", f.enforced_power_limit);
  unsigned long long energy = 0;
  if (f.energy != nullptr && Try("nvmlDeviceGetTotalEnergyConsumption", [&] { return f.energy(handle_, &energy); })) {
    state.energy_mj = energy;
  }
  state.processes = ReadProcesses();
  if (lost_) return *lost_;
  return state;
}

std::optional<bool> NvmlDevice::ReadPersistence() {
  const nvml::Functions& f = library_->functions();
  nvml::EnableState mode = nvml::kDisabled;
  const auto read = [&] { return f.persistence_mode(handle_, &mode); };
  if (f.persistence_mode == nullptr || !Try("nvmlDeviceGetPersistenceMode", read)) return std::nullopt;
  return mode == nvml::kEnabled;
}

Result<std::optional<std::string>> NvmlDevice::FindOthersSettings(const NvidiaSettings& now) {
  const nvml::Functions& f = library_->functions();
  lost_.reset();
  const std::optional<uint32_t> usual_mhz =
      Number("nvmlDeviceGetDefaultApplicationsClock", f.default_application_clock, nvml::kClockGraphics);
  const std::optional<uint32_t> most_mhz = Number("nvmlDeviceGetMaxClockInfo", f.max_clock, nvml::kClockSm);
  const std::optional<uint32_t> sm_mhz = Number("nvmlDeviceGetClockInfo", f.clock, nvml::kClockSm);
  unsigned long long reasons = 0;
  if (f.event_reasons != nullptr) {
    Try("nvmlDeviceGetCurrentClocksEventReasons", [&] { return f.event_reasons(handle_, &reasons); });
  }
  if (lost_) return *lost_;
  const uint32_t offered_mhz = std::min(now.application_sm_mhz.value_or(UINT32_MAX), most_mhz.value_or(0));
  const bool is_held_down = (reasons & clock_reasons::kApplicationClocks) != 0 &&
                            (reasons & clock_reasons::kThrottles) == 0 && sm_mhz && *sm_mhz < offered_mhz;
  if (is_held_down) {
    return Fail(ErrorCode::kUsage, "lock the clocks",
                "somebody else seems to hold them: " + std::to_string(*sm_mhz) + " of " + std::to_string(offered_mhz) +
                    " MHz for the reason 'application or locked clocks'",
                "nvidia-smi -rgc -i " + uuid_ + " unlocks them, if nobody wants that");
  }
  if (!usual_mhz || !now.application_sm_mhz || usual_mhz == now.application_sm_mhz) return std::optional<std::string>();
  return std::optional<std::string>(
      "somebody has set its application clocks to " + std::to_string(*now.application_sm_mhz) +
      " MHz (usual: " + std::to_string(*usual_mhz) + "); a lock goes before them, and they stay as they are");
}

bool NvmlDevice::CanUnlock() const {
  return library_->functions().reset_gpu_clocks != nullptr;
}

bool NvmlDevice::CanUnlockMemory() const {
  return library_->functions().reset_memory_clocks != nullptr;
}

Result<NvidiaSettings> NvmlDevice::ReadSettings() {
  const nvml::Functions& f = library_->functions();
  lost_.reset();
  NvidiaSettings settings;
  settings.persistence = ReadPersistence();
  settings.power_limit_mw = Number("nvmlDeviceGetPowerManagementLimit", f.power_limit);
  const char* application = "nvmlDeviceGetApplicationsClock";
  settings.application_sm_mhz = Number(application, f.application_clock, nvml::kClockGraphics);
  settings.application_memory_mhz = Number(application, f.application_clock, nvml::kClockMem);
  if (lost_) return *lost_;
  return settings;
}

void NvmlDevice::ReadEcc(NvidiaState& state) {
  const nvml::Functions& f = library_->functions();
  nvml::EnableState now = nvml::kDisabled;
  nvml::EnableState after_reset = nvml::kDisabled;
  const auto mode = [&] { return f.ecc_mode(handle_, &now, &after_reset); };
  if (f.ecc_mode != nullptr && Try("nvmlDeviceGetEccMode", mode)) state.ecc = now == nvml::kEnabled;
  if (!state.ecc.value_or(false) || f.ecc_errors == nullptr) return;
  const auto count = [&](nvml::MemoryErrorType type, std::optional<uint64_t>& errors) {
    unsigned long long value = 0;
    const auto read = [&] { return f.ecc_errors(handle_, type, nvml::kEccVolatile, &value); };
    if (Try("nvmlDeviceGetTotalEccErrors", read)) errors = value;
  };
  count(nvml::kErrorCorrected, state.ecc_corrected);
  count(nvml::kErrorUncorrected, state.ecc_uncorrected);
}

void NvmlDevice::ReadApplicationClocks(NvidiaState& state) {
  const nvml::Functions& f = library_->functions();
  const char* now = "nvmlDeviceGetApplicationsClock";
  state.application_sm_mhz = Number(now, f.application_clock, nvml::kClockGraphics);
  state.application_memory_mhz = Number(now, f.application_clock, nvml::kClockMem);
}

std::optional<std::vector<NvidiaProcess>> NvmlDevice::ReadProcesses() {
  const nvml::Functions& f = library_->functions();
  std::optional<std::vector<NvidiaProcess>> processes;
  AddProcesses("nvmlDeviceGetComputeRunningProcesses_v3", f.compute_processes, false, processes);
  AddProcesses("nvmlDeviceGetGraphicsRunningProcesses_v3", f.graphics_processes, true, processes);
  return processes;
}

void NvmlDevice::AddProcesses(const char* name, nvml::Return (*read)(nvml::DeviceHandle, unsigned*, void*),
                              bool graphics, std::optional<std::vector<NvidiaProcess>>& processes) {
  if (read == nullptr) return;
  unsigned room = kRoomForMore;
  for (int tries = 0; tries < kTriesToFit && room <= kMostListed; ++tries) {
    std::string found(room * nvml::kMostProcessInfoBytes, kNotWritten);
    unsigned count = room;
    nvml::Return returned = nvml::kSuccess;
    if (Try(name, [&] { return returned = read(handle_, &count, found.data()); })) {
      count = std::min(count, room);
      if (!processes) processes.emplace();
      const size_t bytes = BytesOfEach(found, count);
      for (unsigned i = 0; i < count; ++i) {
        nvml::ProcessInfo one{};
        std::memcpy(&one, found.data() + i * bytes, sizeof one);
        processes->push_back({one.pid, graphics, KnownBytes(one.used_gpu_memory)});
      }
      return;
    }
    if (returned != nvml::kInsufficientSize || count > kMostListed) return;
    room = std::max(count, room) + kRoomForMore;
  }
}

std::vector<MigInstance> NvmlDevice::ReadMigInstances() {
  const nvml::Functions& f = library_->functions();
  std::vector<MigInstance> instances;
  if (f.most_mig_devices == nullptr || f.mig_handle == nullptr) return instances;
  const uint32_t most = Number("nvmlDeviceGetMaxMigDeviceCount", f.most_mig_devices).value_or(0);
  for (unsigned index = 0; index < std::min(most, kMostMigInstances); ++index) {
    nvml::DeviceHandle handle = nullptr;
    const auto find = [&] { return f.mig_handle(handle_, index, &handle); };
    if (!Try("nvmlDeviceGetMigDeviceHandleByIndex", find)) continue;  // indexes have gaps
    NvmlDevice part(*library_, *page_, handle);
    MigInstance instance;
    instance.uuid = part.Text("nvmlDeviceGetUUID", f.uuid, nvml::kUuidBytes).value_or("");
    instance.gpu_instance = part.Number("nvmlDeviceGetGpuInstanceId", f.gpu_instance_id);
    instance.compute_instance = part.Number("nvmlDeviceGetComputeInstanceId", f.compute_instance_id);
    nvml::DeviceAttributes attributes{};
    const auto read = [&] { return f.attributes(handle, &attributes); };
    if (f.attributes != nullptr && part.Try("nvmlDeviceGetAttributes_v2", read)) {
      instance.sm_count = attributes.multiprocessor_count;
      instance.gpu_slices = attributes.gpu_instance_slice_count;
      instance.compute_slices = attributes.compute_instance_slice_count;
      instance.memory_bytes = uint64_t{attributes.memory_size_mb} << 20;
    }
    instances.push_back(std::move(instance));
  }
  return instances;
}

Result<NvidiaSample> NvmlDevice::ReadSample(const Clock& clock) {
  const nvml::Functions& f = library_->functions();
  lost_.reset();
  NvidiaSample sample;
  sample.mono_ns = clock.mono_ns();
  sample.sm_mhz = Number("nvmlDeviceGetClockInfo", f.clock, nvml::kClockSm);
  unsigned long long reasons = 0;
  const auto why = [&] { return f.event_reasons(handle_, &reasons); };
  if (f.event_reasons != nullptr && Try("nvmlDeviceGetCurrentClocksEventReasons", why)) sample.reasons = reasons;
  sample.power_mw = Number("nvmlDeviceGetPowerUsage", f.power_usage);
  sample.temperature_c = Number("nvmlDeviceGetTemperature", f.temperature, nvml::kTemperatureGpu);
  sample.memory_mhz = Number("nvmlDeviceGetClockInfo", f.clock, nvml::kClockMem);
  nvml::Utilization busy{};
  if (f.utilization != nullptr && Try("nvmlDeviceGetUtilizationRates", [&] { return f.utilization(handle_, &busy); })) {
    sample.gpu_percent = busy.gpu;
    sample.memory_percent = busy.memory;
  }
  sample.took_ns = clock.mono_ns() - sample.mono_ns;
  if (lost_) return *lost_;
  return sample;
}

template <typename F, typename... Args>
Status NvmlDevice::Set(const char* name, F function, const std::string& act, Args... args) {
  if (function == nullptr) {
    return Fail(ErrorCode::kToolMissing, act, std::string("this driver has no ") + name, "use a newer one");
  }
  page_->Begin(name);
  const nvml::Return returned = function(handle_, args...);
  page_->End();
  return NvmlStatus(returned, act);
}

Status NvmlDevice::SetPersistence(bool on) {
  return Set("nvmlDeviceSetPersistenceMode", library_->functions().set_persistence_mode,
             std::string("turn persistence mode ") + (on ? "on" : "off"), on ? nvml::kEnabled : nvml::kDisabled);
}

Status NvmlDevice::SetPowerLimit(uint32_t milliwatts) {
  return Set("nvmlDeviceSetPowerManagementLimit", library_->functions().set_power_limit,
             "limit the power to " + std::to_string(milliwatts / 1000) + " W", milliwatts);
}

Status NvmlDevice::LockSmClocks(uint32_t least_mhz, uint32_t most_mhz) {
  const bool base = least_mhz == nvml::kClockLimitTdp;
  return Set("nvmlDeviceSetGpuLockedClocks", library_->functions().lock_gpu_clocks,
             "lock the SM clock at " + (base ? "its base" : std::to_string(most_mhz) + " MHz"), least_mhz, most_mhz);
}

Status NvmlDevice::ResetSmClocks() {
  return Set("nvmlDeviceResetGpuLockedClocks", library_->functions().reset_gpu_clocks, "unlock the SM clock");
}

Status NvmlDevice::LockMemoryClocks(uint32_t least_mhz, uint32_t most_mhz) {
  return Set("nvmlDeviceSetMemoryLockedClocks", library_->functions().lock_memory_clocks,
             "lock the memory clock at " + std::to_string(most_mhz) + " MHz", least_mhz, most_mhz);
}

Status NvmlDevice::ResetMemoryClocks() {
  return Set("nvmlDeviceResetMemoryLockedClocks", library_->functions().reset_memory_clocks, "unlock the memory clock");
}

Status NvmlDevice::SetApplicationClocks(uint32_t memory_mhz, uint32_t sm_mhz) {
  return Set("nvmlDeviceSetApplicationsClocks", library_->functions().set_application_clocks,
             "set the application clocks to " + std::to_string(memory_mhz) + "," + std::to_string(sm_mhz) + " MHz",
             memory_mhz, sm_mhz);
}

Status NvmlDevice::ResetApplicationClocks() {
  return Set("nvmlDeviceResetApplicationsClocks", library_->functions().reset_application_clocks,
             "reset the application clocks");
}

}  // namespace kprof
