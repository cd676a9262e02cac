#include "daemon/clocks/sample_counters.h"

#include <optional>

namespace kprof {
namespace {

enum Counter : size_t {
  kSmClock,
  kMemoryClock,
  kClockReasons,
  kPower,
  kTemperature,
  kGpuBusy,
  kMemoryBusy,
  kMemoryUsed,
  kSampleTook,
};
static_assert(kSampleTook + 1 == kSampleCounters.size());

enum NeuronCounter : size_t { kNeuronPower, kNeuronMemoryUsed, kExecutionErrors, kFirstCore };

template <typename T>
void TakeMaybe(const TakeCounter& take, size_t counter, const std::optional<T>& value, double unit = 1) {
  if (value) take(counter, static_cast<double>(*value) / unit);
}

}  // namespace

void ForEachCounter(const NvidiaSample& sample, const TakeCounter& take) {
  TakeMaybe(take, kSmClock, sample.sm_mhz);
  TakeMaybe(take, kMemoryClock, sample.memory_mhz);
  TakeMaybe(take, kClockReasons, sample.reasons);
  TakeMaybe(take, kPower, sample.power_mw, 1000);
  TakeMaybe(take, kTemperature, sample.temperature_c);
  TakeMaybe(take, kGpuBusy, sample.gpu_percent);
  TakeMaybe(take, kMemoryBusy, sample.memory_percent);
  take(kSampleTook, static_cast<double>(sample.took_ns));
}

void ForEachCounter(const NvidiaState& state, const TakeCounter& take) {
  TakeMaybe(take, kMemoryUsed, state.memory_used_bytes);
}

std::vector<std::string> NeuronCounters(const NeuronDevice& device) {
  std::vector<std::string> names = {"power_percent", "memory_used_bytes", "execution_errors"};
  for (const NeuronLogicalCore& core : device.cores) {
    names.push_back("core_" + std::to_string(core.number) + "_busy_percent");
  }
  return names;
}

void ForEachCounter(const NeuronDevice& device, size_t cores, const TakeCounter& take) {
  if (device.power) TakeMaybe(take, kNeuronPower, device.power->mean_percent);
  TakeMaybe(take, kNeuronMemoryUsed, device.memory_used_bytes);
  TakeMaybe(take, kExecutionErrors, device.execution_errors);
  for (size_t core = 0; core < device.cores.size() && core < cores; ++core) {
    TakeMaybe(take, kFirstCore + core, device.cores[core].utilization_percent);
  }
}

}  // namespace kprof
