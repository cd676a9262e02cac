// A Neuron device, put together from neuron-ls, neuron-monitor and sysfs; any of them may be missing. Pure; any thread.
//
// There are two kinds of cores. Physical ones are counted within their device, by sysfs and by traces of the hardware.
// Logical ones are counted within the node, by neuron-ls, neuron-monitor and NEURON_RT_VISIBLE_CORES. LNC is the number
// of physical cores in a logical one: 1, or 2 on Trn2 and Trn3.
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

// Stands in the place of locked clocks: there are none that could be locked, and a run is not blamed for that.
constexpr const char* kNeuronClockControl = "not_supported";

struct NeuronChip {
  std::string_view name;          // "Trainium2"
  std::string_view core_version;  // "v3"
  int cores = 0;                  // physical
};

// Finds a chip by a name that tools or driver use for it or its instances: "Inferentia2", "inf2.xlarge", "Trn1"; null
// for any other text.
const NeuronChip* FindNeuronChip(std::string_view name);

// True if the driver's counters of executions are live. Before 2.30.2 they may stay 0 whatever runs. The release notes
// say so; nobody has confirmed it to us.
bool HasLiveNeuronCounters(std::string_view driver_version);

struct NeuronLogicalCore {
  int number = 0;                             // of the node, as NEURON_RT_VISIBLE_CORES takes it
  std::optional<double> utilization_percent;  // of all processes, in the report's period; 0 where none uses it
  std::optional<double> flops;
  std::optional<int64_t> memory_bytes;
  std::vector<int64_t> pids;  // its users, by the report
  bool operator==(const NeuronLogicalCore&) const = default;
};

// A process that has the Neuron runtime on some of a device's cores, as neuron-monitor reports it. Its counts are for
// the report's period.
struct NeuronRuntimeUse {
  int64_t pid = 0;
  std::string tag;
  std::optional<int64_t> completed;     // executions
  std::optional<int64_t> failed;        // not completed, or with errors
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
  std::string chip_source;   // who tells the chip, for people: "neuron-ls (inf2.xlarge)"; empty: nobody
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
  // The times of the news, by the machine's monotonic clock; 0: there were none.
  int64_t reported_mono_ns = 0;  // of the report of neuron-monitor, while that is recent
  int64_t users_mono_ns = 0;     // of the users: by neuron-ls, or neuron-monitor
  bool operator==(const NeuronDevice&) const = default;
};

struct NeuronSources {
  std::optional<NeuronInventory> inventory;
  std::optional<NeuronSysfs> sysfs;
  std::optional<NeuronReport> report;
  std::optional<std::string> listed_instance_type;  // by the text of neuron-ls; its JSON may not have it
  std::optional<std::string> dmi_instance_type;     // by the firmware
  std::string configured_chip;                      // by the configuration: a chip or a type of instance; empty: none
};

// The devices that any of the sources names, by index; no core's number is there twice.
std::vector<NeuronDevice> MergeNeuronDevices(const NeuronSources& sources);

}  // namespace kprof
