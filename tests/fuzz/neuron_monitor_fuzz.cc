// A line as neuron-monitor could write it, and as it never would. What is taken is in range and in order, and makes
// devices whose cores have numbers of their own; what is not is refused in text that can be shown, and by simdjson and
// our own walk alike.
#include "daemon/devices/neuron/neuron_monitor.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "daemon/devices/neuron/json_document.h"
#include "daemon/devices/neuron/neuron_device.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

void CheckAmount(const std::optional<double>& amount) {
  KPROF_CHECK(!amount || (std::isfinite(*amount) && *amount >= 0));
}

void CheckRuntime(const NeuronRuntime& runtime) {
  KPROF_CHECK(runtime.pid.value_or(0) >= 0);
  CheckAmount(runtime.counters_period_s);
  int last = -1;
  for (const NeuronCoreUse& use : runtime.cores.value_or(std::vector<NeuronCoreUse>())) {
    KPROF_CHECK(use.core > last);
    last = use.core;
    CheckAmount(use.utilization_percent);
    CheckAmount(use.flops);
    for (const NeuronPhysicalUse& physical : use.physical) CheckAmount(physical.utilization_percent);
  }
  if (runtime.device_latency) CheckAmount(runtime.device_latency->p100_s);
  if (!runtime.memory) return;
  last = -1;
  for (const NeuronCoreMemory& memory : runtime.memory->cores) {
    KPROF_CHECK(memory.core > last && memory.total_bytes >= memory.tensors_bytes.value_or(0));
    last = memory.core;
  }
}

void CheckMergedMonitor(const NeuronReport& report) {
  std::set<int> numbers;
  for (const NeuronDevice& device : MergeNeuronDevices({.report = report})) {
    for (const NeuronLogicalCore& core : device.cores) {
      KPROF_CHECK(core.number >= 0 && numbers.insert(core.number).second);
      KPROF_CHECK(core.utilization_percent.value_or(0) <= 100 && core.memory_bytes.value_or(0) >= 0);
    }
  }
}

void CheckMonitor(std::string_view line) {
  const Result<NeuronReport> report = ParseNeuronMonitorLine(line);
  const Result<NeuronReport> again = ParseNeuronMonitorLine(line);
  KPROF_CHECK(report.ok() == again.ok());
  if (JsonDocument::Parse(line).ok()) KPROF_CHECK(!FindJsonFault(line));
  if (report.ok()) {
    KPROF_CHECK(*report == *again);
    for (const NeuronRuntime& runtime : report->runtimes) CheckRuntime(runtime);
    CheckMergedMonitor(*report);
    return;
  }
  const std::string why = report.status().ToString();
  KPROF_CHECK(report.status().code() == ErrorCode::kBadInput);
  KPROF_CHECK(TerminalText(why) == why && why.size() < 1024 && why == again.status().ToString());
}

}  // namespace
}  // namespace kprof

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  kprof::CheckMonitor(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
