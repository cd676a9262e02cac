// The part of NVIDIA's management library (libnvidia-ml.so.1) that we call, declared by ourselves: the types and the
// numbers of its public ABI, under our own names. Nothing is linked; nvml_library.h finds the functions at run time.
// A type's layout is checked below; the ABI is that of 64-bit Linux, which is the only one that has it.
//
// Structs that newer libraries extend are versioned there by the name of the function (`_v2`). The rule was broken
// once, see ProcessInfo.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kprof::nvml {

// The codes that each call returns.
enum Return : int {
  kSuccess = 0,
  kUninitialized = 1,
  kInvalidArgument = 2,
  kNotSupported = 3,
  kNoPermission = 4,
  kNotFound = 6,
  kInsufficientSize = 7,
  kInsufficientPower = 8,
  kDriverNotLoaded = 9,
  kTimeout = 10,
  kIrqIssue = 11,
  kLibraryNotFound = 12,
  kFunctionNotFound = 13,
  kCorruptedInforom = 14,
  kGpuIsLost = 15,
  kResetRequired = 16,
  kOperatingSystem = 17,
  kLibRmVersionMismatch = 18,
  kInUse = 19,
  kMemory = 20,
  kNoData = 21,
  kVgpuEccNotSupported = 22,
  kInsufficientResources = 23,
  kFreqNotSupported = 24,
  kArgumentVersionMismatch = 25,
  kDeprecated = 26,
  kNotReady = 27,
  kGpuNotFound = 28,
  kInvalidState = 29,
  kUnknown = 999,
};

using DeviceHandle = struct OpaqueDevice*;
using EventSet = struct OpaqueEventSet*;

// Sizes of the buffers that it writes names into.
constexpr unsigned kNameBytes = 96;
constexpr unsigned kUuidBytes = 96;  // since version 11; before it were 80
constexpr unsigned kSerialBytes = 30;
constexpr unsigned kVersionBytes = 80;
constexpr unsigned kVbiosBytes = 32;

enum ClockType : int { kClockGraphics = 0, kClockSm = 1, kClockMem = 2, kClockVideo = 3 };
enum TemperatureSensor : int { kTemperatureGpu = 0 };
enum TemperatureThreshold : int {
  kThresholdShutdown = 0,
  kThresholdSlowdown = 1,
  kThresholdMemMax = 2,
  kThresholdGpuMax = 3,
};
enum MemoryErrorType : int { kErrorCorrected = 0, kErrorUncorrected = 1 };
enum EccCounter : int { kEccVolatile = 0, kEccAggregate = 1 };
enum EnableState : int { kDisabled = 0, kEnabled = 1 };

// Numbers instead of a frequency that nvmlDeviceSetGpuLockedClocks takes.
constexpr unsigned kClockLimitTdp = 0xffffff01;
constexpr unsigned kClockLimitUnlimited = 0xffffff02;

constexpr unsigned kMigDisabled = 0;
constexpr unsigned kMigEnabled = 1;
constexpr unsigned kMostNvLinks = 18;
// A process whose memory is not told, on a node with MIG say.
constexpr unsigned long long kValueNotAvailable = ~0ULL;

// Event types of nvmlDeviceRegisterEvents.
constexpr unsigned long long kEventDoubleBitEcc = 0x2;
constexpr unsigned long long kEventClock = 0x10;
constexpr unsigned long long kEventXid = 0x8;

struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned pci_device_id;
  unsigned pci_subsystem_id;
  char bus_id[32];
};

struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

struct Utilization {
  unsigned gpu;
  unsigned memory;
};

// The entries of nvmlDeviceGet*RunningProcesses_v2 and _v3. Some drivers of the 535 series write 8 bytes more for each.
struct ProcessInfo {
  unsigned pid;
  unsigned long long used_gpu_memory;
  unsigned gpu_instance_id;
  unsigned compute_instance_id;
};
constexpr size_t kMostProcessInfoBytes = 32;

struct DeviceAttributes {
  unsigned multiprocessor_count;
  unsigned shared_copy_engine_count;
  unsigned shared_decoder_count;
  unsigned shared_encoder_count;
  unsigned shared_jpeg_count;
  unsigned shared_ofa_count;
  unsigned gpu_instance_slice_count;
  unsigned compute_instance_slice_count;
  unsigned long long memory_size_mb;
};

struct EventData {
  DeviceHandle device;
  unsigned long long event_type;
  unsigned long long event_data;
  unsigned gpu_instance_id;
  unsigned compute_instance_id;
};

static_assert(sizeof(void*) == 8, "the ABI of 64-bit Linux");
static_assert(sizeof(Return) == 4 && sizeof(ClockType) == 4);
static_assert(sizeof(PciInfo) == 68 && offsetof(PciInfo, domain) == 16 && offsetof(PciInfo, bus_id) == 36);
static_assert(sizeof(Memory) == 24 && offsetof(Memory, used) == 16);
static_assert(sizeof(Utilization) == 8);
static_assert(sizeof(ProcessInfo) == 24 && offsetof(ProcessInfo, used_gpu_memory) == 8 &&
              offsetof(ProcessInfo, gpu_instance_id) == 16 && offsetof(ProcessInfo, compute_instance_id) == 20);
static_assert(sizeof(DeviceAttributes) == 40 && offsetof(DeviceAttributes, memory_size_mb) == 32);
static_assert(sizeof(EventData) == 32 && offsetof(EventData, event_type) == 8 &&
              offsetof(EventData, event_data) == 16 && offsetof(EventData, gpu_instance_id) == 24);

// Its functions; null: this library has none of that name.
struct Functions {
  Return (*init)() = nullptr;
  Return (*shutdown)() = nullptr;
  Return (*driver_version)(char*, unsigned) = nullptr;
  Return (*nvml_version)(char*, unsigned) = nullptr;
  Return (*cuda_driver_version)(int*) = nullptr;
  Return (*device_count)(unsigned*) = nullptr;
  Return (*handle_by_index)(unsigned, DeviceHandle*) = nullptr;
  Return (*handle_by_uuid)(const char*, DeviceHandle*) = nullptr;
  Return (*uuid)(DeviceHandle, char*, unsigned) = nullptr;
  Return (*name)(DeviceHandle, char*, unsigned) = nullptr;
  Return (*serial)(DeviceHandle, char*, unsigned) = nullptr;
  Return (*pci_info)(DeviceHandle, PciInfo*) = nullptr;
  Return (*minor_number)(DeviceHandle, unsigned*) = nullptr;
  Return (*architecture)(DeviceHandle, unsigned*) = nullptr;
  Return (*compute_capability)(DeviceHandle, int*, int*) = nullptr;
  Return (*vbios_version)(DeviceHandle, char*, unsigned) = nullptr;
  Return (*gpu_cores)(DeviceHandle, unsigned*) = nullptr;
  Return (*memory_bus_width)(DeviceHandle, unsigned*) = nullptr;
  Return (*memory_info)(DeviceHandle, Memory*) = nullptr;
  Return (*mig_mode)(DeviceHandle, unsigned*, unsigned*) = nullptr;
  Return (*most_mig_devices)(DeviceHandle, unsigned*) = nullptr;
  Return (*mig_handle)(DeviceHandle, unsigned, DeviceHandle*) = nullptr;
  Return (*gpu_instance_id)(DeviceHandle, unsigned*) = nullptr;
  Return (*compute_instance_id)(DeviceHandle, unsigned*) = nullptr;
  Return (*attributes)(DeviceHandle, DeviceAttributes*) = nullptr;
  Return (*persistence_mode)(DeviceHandle, EnableState*) = nullptr;
  Return (*set_persistence_mode)(DeviceHandle, EnableState) = nullptr;
  Return (*ecc_mode)(DeviceHandle, EnableState*, EnableState*) = nullptr;
  Return (*ecc_errors)(DeviceHandle, MemoryErrorType, EccCounter, unsigned long long*) = nullptr;
  Return (*clock)(DeviceHandle, ClockType, unsigned*) = nullptr;
  Return (*max_clock)(DeviceHandle, ClockType, unsigned*) = nullptr;
  Return (*memory_clocks)(DeviceHandle, unsigned*, unsigned*) = nullptr;
  Return (*graphics_clocks)(DeviceHandle, unsigned, unsigned*, unsigned*) = nullptr;
  Return (*application_clock)(DeviceHandle, ClockType, unsigned*) = nullptr;
  Return (*default_application_clock)(DeviceHandle, ClockType, unsigned*) = nullptr;
  Return (*set_application_clocks)(DeviceHandle, unsigned, unsigned) = nullptr;
  Return (*reset_application_clocks)(DeviceHandle) = nullptr;
  Return (*lock_gpu_clocks)(DeviceHandle, unsigned, unsigned) = nullptr;
  Return (*reset_gpu_clocks)(DeviceHandle) = nullptr;
  Return (*lock_memory_clocks)(DeviceHandle, unsigned, unsigned) = nullptr;
  Return (*reset_memory_clocks)(DeviceHandle) = nullptr;
  Return (*event_reasons)(DeviceHandle, unsigned long long*) = nullptr;
  Return (*power_usage)(DeviceHandle, unsigned*) = nullptr;
  Return (*power_limit)(DeviceHandle, unsigned*) = nullptr;
  Return (*default_power_limit)(DeviceHandle, unsigned*) = nullptr;
  Return (*enforced_power_limit)(DeviceHandle, unsigned*) = nullptr;
  Return (*power_limit_range)(DeviceHandle, unsigned*, unsigned*) = nullptr;
  Return (*set_power_limit)(DeviceHandle, unsigned) = nullptr;
  Return (*energy)(DeviceHandle, unsigned long long*) = nullptr;
  Return (*temperature)(DeviceHandle, TemperatureSensor, unsigned*) = nullptr;
  Return (*temperature_threshold)(DeviceHandle, TemperatureThreshold, unsigned*) = nullptr;
  Return (*utilization)(DeviceHandle, Utilization*) = nullptr;
  Return (*compute_processes)(DeviceHandle, unsigned*, void*) = nullptr;
  Return (*graphics_processes)(DeviceHandle, unsigned*, void*) = nullptr;
  Return (*nvlink_state)(DeviceHandle, unsigned, EnableState*) = nullptr;
  Return (*nvlink_remote_pci)(DeviceHandle, unsigned, PciInfo*) = nullptr;
  Return (*supported_events)(DeviceHandle, unsigned long long*) = nullptr;
  Return (*create_event_set)(EventSet*) = nullptr;
  Return (*register_events)(DeviceHandle, unsigned long long, EventSet) = nullptr;
  Return (*wait_for_event)(EventSet, EventData*, unsigned) = nullptr;
  Return (*free_event_set)(EventSet) = nullptr;
};

}  // namespace kprof::nvml
