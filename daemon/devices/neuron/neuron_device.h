// A Neuron device, put together of what neuron-ls, neuron-monitor and sysfs say of it; any of them may be missing.
// Pure; any thread.
//
// Of cores there are two kinds: physical ones, which sysfs and traces of the hardware count within their device, and
// logical ones, which neuron-ls, neuron-monitor and NEURON_RT_VISIBLE_CORES count within the node. LNC is how many
// physical ones make one logical one: 1, or 2 on Trn2 and Trn3.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/devices/neuron/neuron_ls.h"
#include "daemon/devices/neuron/neuron_monitor.h"
#include "daemon/devices/neuron/neuron_sysfs.h"

namespace kprof {

// In place of clocks that could be locked: there is nothing that a run could be blamed for.
constexpr const char* kNeuronClockControl = "not_supported";

struct NeuronChip {
  std::string_view name;          // "Trainium2"
  std::string_view core_version;  // "v3"
  int cores = 0;                  // physical
};

// By what tools and driver call a chip or its instances: "Inferentia2", "inf2.xlarge", "Trn1"; null for any other text.
const NeuronChip* FindNeuronChip(std::string_view name);

// Whether a driver's counters of executions are live. Before 2.30.2 they may stay 0 whatever runs. As release notes
// have it: nobody has confirmed it to us.
bool HasLiveNeuronCounters(std::string_view driver_version);

struct NeuronLogicalCore {
  int number = 0;                             // of the node, as NEURON_RT_VISIBLE_CORES takes it
  std::optional<double> utilization_percent;  // of all processes, in the report's period; 0 where none uses it
  std::optional<double> flops;
  std::optional<int64_t> memory_bytes;
  std::vector<int64_t> pids;  // who uses it, by the report
  bool operator==(const NeuronLogicalCore&) const = default;
};

// A process that has the Neuron runtime on some of a device's cores, by the report: its counts are of the report's
// period.
struct NeuronRuntimeUse {
  int64_t pid = 0;
  std::string tag;
  std::optional<int64_t> completed;     // executions
  std::optional<int64_t> failed;        // and those that were not, or with errors
  std::optional<int64_t> errors;        // of all kinds
  std::optional<double> p50_latency_s;  // on the device; absent when nothing ran
  std::optional<double> p99_latency_s;
  std::optional<int64_t> memory_bytes;  // of the device
  std::optional<int64_t> host_bytes;
  bool operator==(const NeuronRuntimeUse&) const = default;
};

struct NeuronDevice {
  int index = 0;
  std::string chip;          // "Trainium2"; empty: not known
  std::string core_version;  // "v3"; empty: not known
  std::optional<std::string> instance_type;
  std::optional<std::string> bdf;
  std::optional<std::string> serial_number;
  std::optional<std::string> driver_version;
  std::optional<std::string> cpu_affinity;
  std::optional<int64_t> numa_node;
  std::vector<int> connected;  // devices, by index
  std::optional<int> physical_cores;
  std::optional<int> lnc;                // where nobody tells, the usual one of the chip, and a note
  std::vector<NeuronLogicalCore> cores;  // by number
  std::optional<int64_t> memory_bytes;
  std::optional<int64_t> memory_used_bytes;
  std::vector<NeuronProcess> processes;
  std::vector<NeuronRuntimeUse> runtimes;
  NeuronEccCounts ecc;
  std::optional<int64_t> execution_errors;  // of all its cores; absent where a 0 could be no count
  std::vector<std::string> unhealthy_components;
  std::optional<NeuronPower> power;  // only where it is valid
  std::vector<std::string> notes;
  // When that was told, by the machine's monotonic clock; 0: by nobody.
  int64_t reported_mono_ns = 0;  // by neuron-monitor, as long as that is of now
  int64_t users_mono_ns = 0;     // who uses it: by neuron-ls, or neuron-monitor
  bool operator==(const NeuronDevice&) const = default;
};

struct NeuronSources {
  std::optional<NeuronInventory> inventory;
  std::optional<NeuronSysfs> sysfs;
  std::optional<NeuronReport> report;
};

// Those that any of the sources names, by index; no core's number is there twice.
std::vector<NeuronDevice> MergeNeuronDevices(const NeuronSources& sources);

}  // namespace kprof
