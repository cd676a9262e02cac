#include "daemon/devices/neuron/neuron_monitor.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "daemon/devices/neuron/json_document.h"

namespace kprof {
namespace {

constexpr const char* kReadReportAct = "read a line of neuron-monitor";
constexpr size_t kMostReportedRuntimes = 4096;
constexpr size_t kMostReportedCores = 1 << 16;  // of a node
constexpr size_t kMostReportedDevices = 1024;
constexpr int64_t kMostCoresOfDevice = 256;
constexpr size_t kMostKinds = 256;  // keys of one object
constexpr int64_t kMostReportedNumber = (1 << 20) - 1;

// Objects may be missing everywhere: then nothing is in them.
std::optional<JsonValue> FindObject(const std::optional<JsonValue>& in, std::string_view key) {
  const std::optional<JsonValue> found = in ? in->Find(key) : std::nullopt;
  return found && found->is_object() ? found : std::nullopt;
}

std::optional<int64_t> CountOf(const JsonValue& object, std::string_view key) {
  return object.FindWhole(key, 0, std::numeric_limits<int64_t>::max());
}

std::optional<int> NumberOf(const JsonValue& object, std::string_view key, int64_t least = 0,
                            int64_t most = kMostReportedNumber) {
  const std::optional<int64_t> whole = object.FindWhole(key, least, most);
  return whole ? std::optional(static_cast<int>(*whole)) : std::nullopt;
}

// Nothing below 0: no utilization, rate or time is.
std::optional<double> AmountOf(const JsonValue& object, std::string_view key) {
  const std::optional<double> number = object.FindNumber(key);
  return number && *number >= 0 ? number : std::nullopt;
}

int64_t SumOfReports(int64_t a, int64_t b) {
  return b > std::numeric_limits<int64_t>::max() - a ? std::numeric_limits<int64_t>::max() : a + b;
}

// Those of a group that is there.
void TakeError(const std::optional<JsonValue>& group, const std::string& name, std::vector<NeuronGroupError>& errors) {
  const std::optional<std::string> error = group ? group->FindText("error") : std::nullopt;
  if (error && !error->empty()) errors.push_back({name, *error});
}

std::optional<int> ParseCore(std::string_view key) {
  int core = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), core);
  const bool is_number = error == std::errc() && end == key.data() + key.size();
  return is_number && core >= 0 && core <= kMostReportedNumber && (core == 0 ? key == "0" : key[0] != '0')
             ? std::optional(core)
             : std::nullopt;
}

// Sorted by the number; each once.
template <typename Row>
Status SortByNumber(std::vector<Row>& rows, int Row::*number, const std::string& path) {
  std::sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) { return a.*number < b.*number; });
  for (size_t i = 1; i < rows.size(); ++i) {
    if (rows[i - 1].*number == rows[i].*number)
      return BadJson(path, "has " + std::to_string(rows[i].*number) + " twice");
  }
  return OkStatus();
}

// Of each core of an object with their numbers as keys.
template <typename Row, typename Read>
Result<std::vector<Row>> CoresOf(const JsonValue& object, const std::string& path, Read read) {
  ASSIGN_OR_RETURN(const std::vector<JsonMember> members, object.Members(kMostReportedCores, path));
  std::vector<Row> cores;
  for (const JsonMember& member : members) {
    const std::string here = path + "." + std::string(member.key);
    const std::optional<int> core = ParseCore(member.key);
    if (!core) return BadJson(here, "is no core's number");
    ASSIGN_OR_RETURN(Row row, read(member.value, here));
    row.core = *core;
    cores.push_back(std::move(row));
  }
  RETURN_IF_ERROR(SortByNumber(cores, &Row::core, path));
  return cores;
}

// Under a key as "v3d", whichever the chip's is.
Result<std::vector<NeuronPhysicalUse>> PhysicalUse(const std::vector<JsonMember>& members, const std::string& path) {
  std::vector<NeuronPhysicalUse> physical;
  for (const JsonMember& member : members) {
    if (!member.key.starts_with('v') || !member.value.is_object()) continue;
    ASSIGN_OR_RETURN(const std::vector<JsonMember> cores,
                     member.value.Members(kMostKinds, path + "." + std::string(member.key)));
    for (const JsonMember& core : cores) {
      if (!core.value.is_object()) continue;
      physical.push_back({std::string(core.key.substr(0, 64)), AmountOf(core.value, "neuroncore_utilization")});
    }
  }
  return physical;
}

Result<NeuronCoreUse> CoreUse(const JsonValue& value, const std::string& path) {
  ASSIGN_OR_RETURN(const std::vector<JsonMember> members, value.Members(kMostKinds, path));
  NeuronCoreUse use;
  use.utilization_percent = AmountOf(value, "neuroncore_utilization");
  use.flops = AmountOf(value, "flops");
  if (!use.flops) use.flops = AmountOf(value, "effective_flops");
  ASSIGN_OR_RETURN(use.physical, PhysicalUse(members, path));
  return use;
}

Result<NeuronCoreMemory> CoreMemory(const JsonValue& value, const std::string& path) {
  ASSIGN_OR_RETURN(const std::vector<JsonMember> members, value.Members(kMostKinds, path));
  NeuronCoreMemory memory;
  for (const JsonMember& member : members) {
    memory.total_bytes = SumOfReports(memory.total_bytes, std::max<int64_t>(member.value.Whole().value_or(0), 0));
  }
  memory.constants_bytes = CountOf(value, "constants");
  memory.model_code_bytes = CountOf(value, "model_code");
  memory.scratchpad_bytes = CountOf(value, "model_shared_scratchpad");
  memory.runtime_bytes = CountOf(value, "runtime_memory");
  memory.tensors_bytes = CountOf(value, "tensors");
  return memory;
}

std::optional<NeuronLatency> LatencyOf(const std::optional<JsonValue>& stats, std::string_view key) {
  const std::optional<JsonValue> latency = FindObject(stats, key);
  if (!latency) return std::nullopt;
  return NeuronLatency{AmountOf(*latency, "p0"),  AmountOf(*latency, "p1"),  AmountOf(*latency, "p25"),
                       AmountOf(*latency, "p50"), AmountOf(*latency, "p75"), AmountOf(*latency, "p99"),
                       AmountOf(*latency, "p100")};
}

void TakeExecutionStats(const JsonValue& group, NeuronRuntime& runtime) {
  runtime.executions_period_s = AmountOf(group, "period");
  if (const std::optional<JsonValue> summary = FindObject(group, "execution_summary")) {
    runtime.executions = NeuronExecutions{CountOf(*summary, "completed"),
                                          CountOf(*summary, "completed_with_err"),
                                          CountOf(*summary, "completed_with_num_err"),
                                          CountOf(*summary, "timed_out"),
                                          CountOf(*summary, "incorrect_input"),
                                          CountOf(*summary, "failed_to_queue")};
  }
  if (const std::optional<JsonValue> errors = FindObject(group, "error_summary")) {
    runtime.errors =
        NeuronErrorCounts{CountOf(*errors, "generic"), CountOf(*errors, "numerical"), CountOf(*errors, "transient"),
                          CountOf(*errors, "model"),   CountOf(*errors, "runtime"),   CountOf(*errors, "hardware")};
    if (!runtime.errors->numerical) runtime.errors->numerical = CountOf(*errors, "numeric");
  }
  const std::optional<JsonValue> latency = FindObject(group, "latency_stats");
  runtime.total_latency = LatencyOf(latency, "total_latency");
  runtime.device_latency = LatencyOf(latency, "device_latency");
}

Result<NeuronMemoryUse> MemoryOf(const JsonValue& used, const std::string& path) {
  NeuronMemoryUse memory;
  memory.host_bytes = CountOf(used, "host");
  memory.device_bytes = CountOf(used, "neuron_device");
  const std::optional<JsonValue> breakdown = FindObject(used, "usage_breakdown");
  if (const std::optional<JsonValue> host = FindObject(breakdown, "host")) {
    memory.host_application_bytes = CountOf(*host, "application_memory");
    memory.host_constants_bytes = CountOf(*host, "constants");
    memory.host_dma_bytes = CountOf(*host, "dma_buffers");
    memory.host_tensors_bytes = CountOf(*host, "tensors");
  }
  if (const std::optional<JsonValue> cores = FindObject(breakdown, "neuroncore_memory_usage")) {
    ASSIGN_OR_RETURN(memory.cores,
                     CoresOf<NeuronCoreMemory>(*cores, path + ".usage_breakdown.neuroncore_memory_usage", CoreMemory));
  }
  return memory;
}

Result<NeuronRuntime> RuntimeOf(const JsonValue& value, const std::string& path) {
  if (!value.is_object()) return BadJson(path, "is no object");
  NeuronRuntime runtime;
  runtime.pid = value.FindWhole("pid", 0, INT32_MAX);
  runtime.tag = value.FindText("neuron_runtime_tag").value_or("");
  TakeError(value, "", runtime.group_errors);
  const std::optional<JsonValue> report = FindObject(value, "report");
  if (const std::optional<JsonValue> counters = FindObject(report, "neuroncore_counters")) {
    TakeError(counters, "neuroncore_counters", runtime.group_errors);
    runtime.counters_period_s = AmountOf(*counters, "period");
    if (const std::optional<JsonValue> cores = FindObject(counters, "neuroncores_in_use")) {
      ASSIGN_OR_RETURN(runtime.cores, CoresOf<NeuronCoreUse>(
                                          *cores, path + ".report.neuroncore_counters.neuroncores_in_use", CoreUse));
    }
  }
  if (const std::optional<JsonValue> stats = FindObject(report, "execution_stats")) {
    TakeError(stats, "execution_stats", runtime.group_errors);
    TakeExecutionStats(*stats, runtime);
  }
  if (const std::optional<JsonValue> memory = FindObject(report, "memory_used")) {
    TakeError(memory, "memory_used", runtime.group_errors);
    if (const std::optional<JsonValue> used = FindObject(memory, "neuron_runtime_used_bytes")) {
      ASSIGN_OR_RETURN(runtime.memory, MemoryOf(*used, path + ".report.memory_used.neuron_runtime_used_bytes"));
    }
  }
  return runtime;
}

Result<std::vector<NeuronRuntime>> RuntimesOf(const JsonValue& list, const std::string& path) {
  ASSIGN_OR_RETURN(const std::vector<JsonValue> elements, list.Elements(kMostReportedRuntimes, path));
  std::vector<NeuronRuntime> runtimes;
  for (size_t i = 0; i < elements.size(); ++i) {
    ASSIGN_OR_RETURN(NeuronRuntime runtime, RuntimeOf(elements[i], path + "[" + std::to_string(i) + "]"));
    runtimes.push_back(std::move(runtime));
  }
  return runtimes;
}

Result<std::vector<NeuronDeviceEcc>> EccOf(const JsonValue& list, const std::string& path) {
  ASSIGN_OR_RETURN(const std::vector<JsonValue> elements, list.Elements(kMostReportedDevices, path));
  std::vector<NeuronDeviceEcc> devices;
  for (size_t i = 0; i < elements.size(); ++i) {
    const JsonValue& element = elements[i];
    const std::optional<int> device = NumberOf(element, "neuron_device_index");
    if (!device) return BadJson(path + "[" + std::to_string(i) + "]", "has no neuron_device_index");
    NeuronEccCounts counts;
    counts.mem_corrected = CountOf(element, "mem_ecc_corrected");
    counts.mem_uncorrected = CountOf(element, "mem_ecc_uncorrected");
    counts.sram_corrected = CountOf(element, "sram_ecc_corrected");
    counts.sram_uncorrected = CountOf(element, "sram_ecc_uncorrected");
    devices.push_back({*device, counts});
  }
  RETURN_IF_ERROR(SortByNumber(devices, &NeuronDeviceEcc::device, path));
  return devices;
}

NeuronHardwareInfo HardwareOf(const JsonValue& group) {
  NeuronHardwareInfo hardware;
  hardware.device_type = group.FindText("neuron_device_type");
  hardware.device_version = group.FindText("neuron_device_version");
  hardware.neuroncore_version = group.FindText("neuroncore_version");
  hardware.device_count = NumberOf(group, "neuron_device_count");
  hardware.device_memory_bytes = CountOf(group, "neuron_device_memory_size");
  hardware.cores_per_device = NumberOf(group, "neuroncore_per_device_count", 0, kMostCoresOfDevice);
  hardware.lnc = NumberOf(group, "logical_neuroncore_config", 1, 2);
  return hardware;
}

Result<NeuronReport> ReportOf(const JsonValue& root) {
  if (!root.is_object()) return BadJson("", "is no object");
  NeuronReport report;
  if (const std::optional<JsonValue> runtimes = root.Find("neuron_runtime_data")) {
    ASSIGN_OR_RETURN(report.runtimes, RuntimesOf(*runtimes, "neuron_runtime_data"));
  }
  const std::optional<JsonValue> system = FindObject(root, "system_data");
  if (const std::optional<JsonValue> counters = FindObject(system, "neuron_hw_counters")) {
    TakeError(counters, "neuron_hw_counters", report.group_errors);
    if (const std::optional<JsonValue> devices = counters->Find("neuron_devices")) {
      ASSIGN_OR_RETURN(report.ecc, EccOf(*devices, "system_data.neuron_hw_counters.neuron_devices"));
    }
  }
  if (const std::optional<JsonValue> group = FindObject(root, "neuron_hardware_info")) {
    TakeError(group, "neuron_hardware_info", report.group_errors);
    report.hardware = HardwareOf(*group);
  }
  if (const std::optional<JsonValue> group = FindObject(root, "instance_info")) {
    TakeError(group, "instance_info", report.group_errors);
    report.instance = NeuronInstanceInfo{group->FindText("instance_name"), group->FindText("instance_id"),
                                         group->FindText("instance_type")};
  }
  return report;
}

}  // namespace

Result<NeuronReport> ParseNeuronMonitorLine(std::string_view line) {
  const Result<JsonDocument> document = JsonDocument::Parse(line);
  if (!document.ok()) return document.status().In(kReadReportAct);
  Result<NeuronReport> report = ReportOf(document->root());
  if (!report.ok()) return report.status().In(kReadReportAct);
  return report;
}

}  // namespace kprof
