// One NVIDIA GPU, through NVML. A value that it does not tell is absent. If the device is lost, or wants a reset, the
// call fails.
//
// One thread. Each call may take 30 ms, or for ever: for worker processes only. Each is noted in the page, so that the
// watching process knows which one does not return.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "daemon/devices/nvidia/nvidia_facts.h"
#include "daemon/devices/nvidia/nvml_library.h"
#include "daemon/process/worker/call_page.h"
#include "storage/base/clock.h"
#include "storage/base/status.h"

namespace kprof {

// The number of NVIDIA devices.
Result<uint32_t> CountNvidiaDevices(const NvmlLibrary& library, CallPage& page);

class NvmlDevice {
 public:
  // Fail with kNotFound where there is none. Borrows both.
  static Result<NvmlDevice> AtIndex(const NvmlLibrary& library, CallPage& page, uint32_t index);
  // The first device from that index on that is not taken: indexes shift when one is plugged in.
  static Result<NvmlDevice> AtIndexOrAnother(const NvmlLibrary& library, CallPage& page, uint32_t index,
                                             const std::vector<std::string>& taken);
  static Result<NvmlDevice> OfUuid(const NvmlLibrary& library, CallPage& page, const std::string& uuid);

  Result<NvidiaIdentity> ReadIdentity();
  Result<NvidiaState> ReadState();
  Result<NvidiaSettings> ReadSettings();
  // Settings that somebody else has made, as far as the device tells, of clocks that we do not hold: a sentence. Fails
  // with kUsage where they seem to be locked. NVML does not tell a lock. It shows in a clock that is held below the
  // offered ones, for the reason kApplicationClocks, while the device is at work.
  Result<std::optional<std::string>> FindOthersSettings(const NvidiaSettings& now);
  Result<NvidiaSample> ReadSample(const Clock& clock);

  // True if this library can undo a lock; else nobody should set one.
  bool CanUnlock() const;
  bool CanUnlockMemory() const;

  // The settings. Fail as NvmlStatus says; kToolMissing where the driver has no such call.
  Status SetPersistence(bool on);
  Status SetPowerLimit(uint32_t milliwatts);
  Status LockSmClocks(uint32_t least_mhz, uint32_t most_mhz);  // or nvml::kClockLimitTdp twice
  Status ResetSmClocks();
  Status LockMemoryClocks(uint32_t least_mhz, uint32_t most_mhz);
  Status ResetMemoryClocks();
  Status SetApplicationClocks(uint32_t memory_mhz, uint32_t sm_mhz);
  // Back to the default clocks. Above these the device boosts; above clocks that were set it does not.
  Status ResetApplicationClocks();

  // For the thread that waits for the driver's own events.
  nvml::DeviceHandle handle() const { return handle_; }
  const std::string& uuid() const { return uuid_; }

 private:
  NvmlDevice(const NvmlLibrary& library, CallPage& page, nvml::DeviceHandle handle)
      : library_(&library), page_(&page), handle_(handle) {}
  static Result<NvmlDevice> Named(const NvmlLibrary& library, CallPage& page, nvml::DeviceHandle handle);

  // True if it has worked. If the device is lost, lost_ says why.
  template <typename Call>
  bool Try(const char* name, const Call& call);
  template <typename F, typename... Args>
  std::optional<uint32_t> Number(const char* name, F function, Args... args);
  template <typename F>
  std::optional<std::string> Text(const char* name, F function, unsigned bytes);
  template <typename F, typename... Args>
  Status Set(const char* name, F function, const std::string& act, Args... args);

  std::vector<uint32_t> SupportedClocks(const char* name,
                                        const std::function<nvml::Return(unsigned*, unsigned*)>& read);
  std::optional<std::vector<NvidiaProcess>> ReadProcesses();
  void AddProcesses(const char* name, nvml::Return (*read)(nvml::DeviceHandle, unsigned*, void*), bool graphics,
                    std::optional<std::vector<NvidiaProcess>>& processes);
  std::vector<MigInstance> ReadMigInstances();
  std::vector<NvLink> ReadNvLinks();
  std::optional<bool> ReadPersistence();
  void ReadEcc(NvidiaState& state);
  void ReadApplicationClocks(NvidiaState& state);
  void ReadLimits(NvidiaIdentity& identity);
  void ReadSystem(NvidiaIdentity& identity);

  const NvmlLibrary* library_;
  CallPage* page_;
  nvml::DeviceHandle handle_;
  std::string uuid_;
  std::optional<Status> lost_;
};

}  // namespace kprof
