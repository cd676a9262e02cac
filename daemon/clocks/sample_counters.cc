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

template <typename T>
void TakeMaybe(const TakeCounter& take, Counter counter, const std::optional<T>& value, double unit = 1) {
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

}  // namespace kprof
