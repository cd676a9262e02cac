// The devices of a node without any: what the stand-in for NVML answers from, all processes that load it share, and the
// control program and the tests script. It lies in one file that they map, so that it outlives every one of them, as
// the state of a real driver does.
//
// Plain data, without pointers. model_file.h creates, maps and locks it; profiles.h fills in devices; readings.h says
// what follows from it (clocks, power, reasons); settings.h changes it as a driver would, commands.h as a test wants.
// Everything in it is read and written under its mutex.
#pragma once

#include <pthread.h>

#include <cstdint>

#include "daemon/devices/nvidia/nvml_abi.h"
#include "tests/stand_ins/nvml/function.h"

namespace kprof::nvml_stand_in {

constexpr uint64_t kModelMagic = 0x6c65646f4d4c4d56;  // "VMLModel"
constexpr uint32_t kModelVersion = 1;

constexpr unsigned kMostDevices = 16;
constexpr unsigned kMostInstances = 7;
constexpr unsigned kMostMemoryClocks = 6;
constexpr unsigned kMostProcesses = 64;
constexpr unsigned kMostClients = 256;
constexpr unsigned kMostFaults = 64;
constexpr unsigned kMostCalls = 4096;
constexpr unsigned kMostEvents = 256;
constexpr unsigned kMostVictims = 16;
constexpr unsigned kProcessNameBytes = 32;
constexpr unsigned kNoInstance = 0xffffffff;  // as NVML says that a process is in no instance

// What a reading says that a script has set; kDerived: it follows from the rest.
constexpr int kDerived = -1;

struct PciAddress {
  unsigned domain;
  unsigned bus;
  unsigned device;
};

// A memory clock, and the graphics clocks that go with it.
struct MemoryClock {
  unsigned mhz;
  unsigned least_graphics_mhz;
  unsigned most_graphics_mhz;
};

// Both 0: no lock.
struct ClockLock {
  unsigned min_mhz;
  unsigned max_mhz;
};

struct MigInstance {
  char uuid[nvml::kUuidBytes];
  unsigned gpu_instance_id;
  unsigned compute_instance_id;
  unsigned slices;
  unsigned multiprocessors;
  uint64_t memory_mb;
};

struct Process {
  unsigned pid;
  bool is_graphics;
  uint64_t used_bytes;  // nvml::kValueNotAvailable: not told
  unsigned gpu_instance_id;
  unsigned compute_instance_id;
};

struct NvLink {
  bool is_active;
  PciAddress remote;
};

enum class Permission : uint32_t {
  kRoot,  // setters want root, as the driver's do
  kNone,  // nobody may
  kAll,   // everybody may
};

enum class Mig : uint32_t { kNotSupported, kDisabled, kEnabled };
enum class Ecc : uint32_t { kNotSupported, kDisabled, kEnabled };

struct Device {
  // What it is: a profile's, or a script's.
  char uuid[nvml::kUuidBytes];
  char name[nvml::kNameBytes];
  char serial[nvml::kSerialBytes];  // empty: it does not tell
  char vbios[nvml::kVbiosBytes];
  PciAddress pci;
  unsigned pci_device_id;
  unsigned pci_subsystem_id;
  unsigned minor;
  unsigned architecture;
  unsigned compute_major;
  unsigned compute_minor;
  unsigned cores;
  unsigned bus_width_bits;

  uint64_t memory_total_bytes;
  uint64_t memory_reserved_bytes;  // used with nobody there

  // From the highest memory clock on. Graphics clocks go down from each one's highest in steps of a sixth of this.
  MemoryClock memory_clocks[kMostMemoryClocks];
  unsigned memory_clock_count;
  unsigned clock_step_sixths;
  unsigned base_graphics_mhz;  // what symbolic limits call TDP
  unsigned idle_memory_mhz;
  bool has_application_clocks;
  unsigned default_app_memory_mhz;
  unsigned default_app_graphics_mhz;

  unsigned default_power_limit_mw;
  unsigned least_power_limit_mw;
  unsigned most_power_limit_mw;
  unsigned idle_power_mw;
  unsigned full_power_mw;  // at full load and the highest clock, if no limit held it

  unsigned idle_temperature_c;
  unsigned full_temperature_c;
  unsigned thresholds_c[4];  // by nvml::TemperatureThreshold; 0: it has none

  NvLink links[nvml::kMostNvLinks];
  unsigned link_count;

  // What a driver remembers.
  bool persistence;
  ClockLock gpu_lock;
  ClockLock memory_lock;
  bool app_clocks_are_set;  // then nothing boosts above them
  unsigned app_memory_mhz;
  unsigned app_graphics_mhz;
  unsigned power_limit_mw;
  Mig mig;
  Ecc ecc;
  uint64_t ecc_errors[2][2];  // by nvml::MemoryErrorType, nvml::EccCounter
  MigInstance instances[kMostInstances];
  unsigned instance_count;
  uint64_t energy_uj;
  uint64_t energy_mono_ns;  // up to when energy_uj is

  // What goes on with it: scripts alone.
  bool is_plugged;
  bool is_lost;
  Permission permission;
  unsigned load;        // percent
  int32_t load_of_pid;  // 0: `load` holds
  int utilization_gpu;
  int utilization_memory;
  int temperature_c;
  uint64_t scripted_reasons;  // those of readings.h that slow it down
  Process processes[kMostProcesses];
  unsigned process_count;
};

// Whom a fault strikes: a device's number, or one of these.
constexpr int kNode = -1;        // calls that name no device
constexpr int kEverywhere = -2;  // all calls

enum class FaultKind : uint32_t {
  kNothing,  // the place is free
  kError,
  kWait,
};

struct Fault {
  FaultKind kind;
  int device;
  bool strikes_all_functions;
  Function function;
  int code;           // kError
  uint64_t least_us;  // kWait: between these
  uint64_t most_us;
  int64_t left;     // how often it still strikes; negative: always
  uint64_t serial;  // of this setting, so that whoever waits sees that it is taken back
};

// A call that changes something.
struct SetterCall {
  uint64_t sequence;  // from 1 on
  uint64_t mono_ns;
  int32_t pid;
  uint32_t device;
  Function function;
  uint32_t first;
  uint32_t second;
  int32_t returned;  // kNotReturned: its process died within
};
constexpr int32_t kNotReturned = -1;

// Kills at the `left`-th setter call from now; 0: it is not armed.
struct KillPlan {
  uint64_t left;
  bool is_after;  // its effect
  bool kills_caller;
  int32_t pids[kMostVictims];
  unsigned pid_count;
  char names[kMostVictims][kProcessNameBytes];
  unsigned name_count;
};

struct Event {
  uint32_t device;
  uint32_t gpu_instance_id;
  uint32_t compute_instance_id;
  uint64_t type;
  uint64_t data;
};

struct Model {
  uint64_t magic;
  uint32_t version;
  uint32_t device_count;  // slots that are filled; those unplugged among them
  pthread_mutex_t mutex;  // process-shared and robust

  // The device that a setter is changing, as it was: a process that is killed within leaves it whole.
  Device undo;
  int32_t undo_slot;  // negative: none

  Device devices[kMostDevices];

  char driver_version[nvml::kVersionBytes];
  char nvml_version[nvml::kVersionBytes];
  int32_t cuda_version;
  uint32_t process_entry_bytes;  // drivers of 530 and 535 write longer ones; see library/memory.cc
  bool is_mismatched;
  bool has_teardown;

  int32_t clients[kMostClients];  // processes that have the library initialised; 0: free
  uint64_t random_state;

  Fault faults[kMostFaults];
  uint64_t last_fault_serial;

  KillPlan kill_plan;
  uint64_t setter_calls;
  SetterCall calls[kMostCalls];  // that of sequence s at (s - 1) % kMostCalls
  uint64_t counts[kFunctionCount];

  uint64_t event_count;
  Event events[kMostEvents];  // the i-th at i % kMostEvents
};

}  // namespace kprof::nvml_stand_in
