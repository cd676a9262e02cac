// NVML's facts about an NVIDIA GPU, as values. Each field is absent where the device, its driver or our rights do not
// give it; 0 is a number that was read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kprof {

// The reasons why a GPU's clock is what it is: the bits of NVML's clock event reasons, their names, and which of them
// say that a measurement ran slower than it should. Pure functions; any thread.
namespace clock_reasons {
constexpr uint64_t kIdle = 0x1;
constexpr uint64_t kApplicationClocks = 0x2;  // application clocks, or a lock
constexpr uint64_t kPowerCap = 0x4;
constexpr uint64_t kHardwareSlowdown = 0x8;
constexpr uint64_t kSyncBoost = 0x10;
constexpr uint64_t kThermal = 0x20;
constexpr uint64_t kHardwareThermal = 0x40;
constexpr uint64_t kPowerBrake = 0x80;
constexpr uint64_t kDisplay = 0x100;
// Any of these: the device could not run as fast as it was asked to.
constexpr uint64_t kThrottles = kPowerCap | kHardwareSlowdown | kThermal | kHardwareThermal | kPowerBrake;
}  // namespace clock_reasons

// One bit's stable name, "power_cap"; "" for one that has none.
std::string_view ClockReasonName(uint64_t bit);

// The names of all bits that are set, lowest first; one without a name is its number: "0x400".
std::vector<std::string> ClockReasonNames(uint64_t reasons);

// The words for people: "SW power cap".
std::string_view ClockReasonText(uint64_t bit);

struct NvLink {
  uint32_t number = 0;
  bool active = false;
  std::string remote_pci;
  bool operator==(const NvLink&) const = default;
};

// Facts that stay until the device is reset, or the driver is replaced.
struct NvidiaIdentity {
  std::string uuid;    // "GPU-…"
  std::string name;    // "NVIDIA H200"
  std::string serial;  // empty where it has none
  std::string pci;     // "00000000:1B:00.0"
  std::string architecture;
  std::string compute_capability;  // "9.0"
  std::string vbios;
  std::string driver_version;
  std::string nvml_version;
  std::string cuda_version;  // the newest that the driver takes: "12.8"
  std::optional<uint32_t> minor_number;
  std::optional<uint32_t> cuda_cores;
  std::optional<uint32_t> sm_count;
  std::optional<uint32_t> memory_bus_bits;
  std::optional<uint64_t> memory_bytes;
  std::optional<uint32_t> max_sm_mhz;
  std::optional<uint32_t> max_memory_mhz;
  std::vector<uint32_t> memory_clocks_mhz;  // highest first
  std::vector<uint32_t> sm_clocks_mhz;      // at the highest memory clock, highest first
  std::optional<uint32_t> default_application_sm_mhz;
  std::optional<uint32_t> default_application_memory_mhz;
  std::optional<uint32_t> least_power_mw;
  std::optional<uint32_t> most_power_mw;
  std::optional<uint32_t> default_power_mw;
  std::optional<uint32_t> slowdown_c;
  std::optional<uint32_t> shutdown_c;
  std::optional<uint32_t> most_gpu_c;
  std::vector<NvLink> nvlinks;
  bool operator==(const NvidiaIdentity&) const = default;
};

// A process that has the device open.
struct NvidiaProcess {
  uint32_t pid = 0;
  bool graphics = false;                 // else it computes
  std::optional<uint64_t> memory_bytes;  // of the device
  bool operator==(const NvidiaProcess&) const = default;
};

struct MigInstance {
  std::string uuid;  // "MIG-…"
  std::optional<uint32_t> gpu_instance;
  std::optional<uint32_t> compute_instance;
  std::optional<uint32_t> sm_count;
  std::optional<uint32_t> gpu_slices;
  std::optional<uint32_t> compute_slices;
  std::optional<uint64_t> memory_bytes;
  bool operator==(const MigInstance&) const = default;
};

// Settings that kprof makes, or that these may change, and that can be read.
struct NvidiaSettings {
  std::optional<bool> persistence;
  std::optional<uint32_t> power_limit_mw;
  std::optional<uint32_t> application_sm_mhz;
  std::optional<uint32_t> application_memory_mhz;
  bool operator==(const NvidiaSettings&) const = default;
};

// Facts that somebody may set, or that are worth a look once a second: reading them takes dozens of calls.
struct NvidiaState {
  std::optional<uint64_t> memory_used_bytes;
  std::optional<bool> mig;
  std::vector<MigInstance> mig_instances;
  std::optional<bool> persistence;
  std::optional<bool> ecc;
  std::optional<uint64_t> ecc_corrected;    // since the driver was loaded
  std::optional<uint64_t> ecc_uncorrected;  // since the driver was loaded
  std::optional<uint32_t> application_sm_mhz;
  std::optional<uint32_t> application_memory_mhz;
  std::optional<uint32_t> power_limit_mw;
  std::optional<uint32_t> enforced_power_limit_mw;
  std::optional<uint64_t> energy_mj;  // since the driver was loaded
  std::optional<std::vector<NvidiaProcess>> processes;
  bool operator==(const NvidiaState&) const = default;
};

// Facts that change all the time, read by the cheapest calls there are.
struct NvidiaSample {
  int64_t mono_ns = 0;  // when the first call began
  int64_t took_ns = 0;  // all calls
  std::optional<uint32_t> sm_mhz;
  std::optional<uint32_t> memory_mhz;
  std::optional<uint64_t> reasons;  // a sum of the bits of clock_reasons
  std::optional<uint32_t> power_mw;
  std::optional<uint32_t> temperature_c;
  std::optional<uint32_t> gpu_percent;     // of time in which a kernel ran
  std::optional<uint32_t> memory_percent;  // of time in which memory was read or written
  bool operator==(const NvidiaSample&) const = default;
};

// An event that the driver reports by itself.
struct NvidiaEvent {
  enum class Kind : uint8_t { kXid = 1, kClock = 2, kDoubleBitEcc = 3 };
  Kind kind = Kind::kXid;
  int64_t unix_ns = 0;  // when we heard of it
  uint64_t value = 0;   // of an XID its number
  bool operator==(const NvidiaEvent&) const = default;
};

}  // namespace kprof
