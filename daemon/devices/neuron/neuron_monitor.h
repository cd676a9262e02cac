// The report that `neuron-monitor` prints as one line, as values: of each process that uses the cores, and of the node.
// Pure; knows of no process: that is neuron_tools.h.
//
// A group that was not asked for, or has an error in place of values, is absent; so is each value of another kind than
// documented. Unknown keys are ignored. Cores are logical ones, as neuron-ls has them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/status.h"

namespace kprof {

// The use of a physical core within a logical one: Trn2 and later tell it.
struct NeuronPhysicalUse {
  std::string name;  // "nc_v3.0"
  std::optional<double> utilization_percent;
  bool operator==(const NeuronPhysicalUse&) const = default;
};

struct NeuronCoreUse {
  int core = 0;
  std::optional<double> utilization_percent;
  std::optional<double> flops;  // per second, as `flops` or `effective_flops`
  std::vector<NeuronPhysicalUse> physical;
  bool operator==(const NeuronCoreUse&) const = default;
};

// Counts of the last period.
struct NeuronExecutions {
  std::optional<int64_t> completed;
  std::optional<int64_t> completed_with_error;
  std::optional<int64_t> completed_with_num_error;
  std::optional<int64_t> timed_out;
  std::optional<int64_t> incorrect_input;
  std::optional<int64_t> failed_to_queue;
  bool operator==(const NeuronExecutions&) const = default;
};

// Counts of the last period. inf2 has no `generic`; `numerical` is `numeric` elsewhere.
struct NeuronErrorCounts {
  std::optional<int64_t> generic;
  std::optional<int64_t> numerical;
  std::optional<int64_t> transient;
  std::optional<int64_t> model;
  std::optional<int64_t> runtime;
  std::optional<int64_t> hardware;
  bool operator==(const NeuronErrorCounts&) const = default;
};

// Seconds.
struct NeuronLatency {
  std::optional<double> p0_s;
  std::optional<double> p1_s;
  std::optional<double> p25_s;
  std::optional<double> p50_s;
  std::optional<double> p75_s;
  std::optional<double> p99_s;
  std::optional<double> p100_s;
  bool operator==(const NeuronLatency&) const = default;
};

struct NeuronCoreMemory {
  int core = 0;
  int64_t total_bytes = 0;  // of all kinds, those included that have no field here
  std::optional<int64_t> constants_bytes;
  std::optional<int64_t> model_code_bytes;
  std::optional<int64_t> scratchpad_bytes;
  std::optional<int64_t> runtime_bytes;
  std::optional<int64_t> tensors_bytes;
  bool operator==(const NeuronCoreMemory&) const = default;
};

struct NeuronMemoryUse {
  std::optional<int64_t> host_bytes;
  std::optional<int64_t> device_bytes;
  std::optional<int64_t> host_application_bytes;
  std::optional<int64_t> host_constants_bytes;
  std::optional<int64_t> host_dma_bytes;
  std::optional<int64_t> host_tensors_bytes;
  std::vector<NeuronCoreMemory> cores;  // by core
  bool operator==(const NeuronMemoryUse&) const = default;
};

struct NeuronGroupError {
  std::string group;  // "neuroncore_counters"; "" for all of a runtime
  std::string error;
  bool operator==(const NeuronGroupError&) const = default;
};

// A process that has the Neuron runtime.
struct NeuronRuntime {
  std::optional<int64_t> pid;
  std::string tag;
  std::optional<double> counters_period_s;          // over which `cores` is a mean
  std::optional<std::vector<NeuronCoreUse>> cores;  // by core; those in use alone
  std::optional<double> executions_period_s;
  std::optional<NeuronExecutions> executions;
  std::optional<NeuronErrorCounts> errors;
  std::optional<NeuronLatency> total_latency;  // absent when nothing ran
  std::optional<NeuronLatency> device_latency;
  std::optional<NeuronMemoryUse> memory;
  std::vector<NeuronGroupError> group_errors;
  bool operator==(const NeuronRuntime&) const = default;
};

// Memory errors, as the driver counts them.
struct NeuronEccCounts {
  std::optional<int64_t> mem_corrected;
  std::optional<int64_t> mem_uncorrected;
  std::optional<int64_t> mem_repairable_uncorrected;  // sysfs alone has it
  std::optional<int64_t> sram_corrected;
  std::optional<int64_t> sram_uncorrected;
  bool operator==(const NeuronEccCounts&) const = default;
};

struct NeuronDeviceEcc {
  int device = 0;
  NeuronEccCounts counts;
  bool operator==(const NeuronDeviceEcc&) const = default;
};

struct NeuronHardwareInfo {
  std::optional<std::string> device_type;         // "inferentia2"
  std::optional<std::string> device_version;      // "v3": of the device, says nothing of its cores
  std::optional<std::string> neuroncore_version;  // "v2", "v3d"
  std::optional<int> device_count;
  std::optional<int64_t> device_memory_bytes;
  std::optional<int> cores_per_device;
  std::optional<int> lnc;
  bool operator==(const NeuronHardwareInfo&) const = default;
};

struct NeuronInstanceInfo {
  std::optional<std::string> name;
  std::optional<std::string> id;
  std::optional<std::string> type;  // "inf2.xlarge"
  bool operator==(const NeuronInstanceInfo&) const = default;
};

struct NeuronReport {
  std::vector<NeuronRuntime> runtimes;
  std::optional<std::vector<NeuronDeviceEcc>> ecc;  // by device
  std::optional<NeuronHardwareInfo> hardware;
  std::optional<NeuronInstanceInfo> instance;
  std::vector<NeuronGroupError> group_errors;
  bool operator==(const NeuronReport&) const = default;
};

// Fails with kBadInput for a line that is not a JSON object or of another shape, and says at which byte or key.
Result<NeuronReport> ParseNeuronMonitorLine(std::string_view line);

}  // namespace kprof
