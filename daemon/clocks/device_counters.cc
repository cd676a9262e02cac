#include "daemon/clocks/device_counters.h"

#include <chrono>
#include <cmath>
#include <future>
#include <optional>
#include <utility>

#include "daemon/devices/nvidia/nvidia_facts.h"
#include "storage/base/readable_text.h"

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

namespace {

constexpr int64_t kAnswerLimitNs = kNanosPerSecond / 4;
constexpr double kHertzPerMhz = 1e6;

template <typename T>
void Set(Family<Gauge>& family, const std::string& id, const std::optional<T>& value, double unit = 1) {
  family.With({id}).Set(value ? static_cast<double>(*value) * unit : std::nan(""));
}

// Of all its cores together; nothing where one does not tell.
std::optional<double> UseOf(const NeuronDevice& device) {
  double sum = 0;
  for (const NeuronLogicalCore& core : device.cores) {
    if (!core.utilization_percent) return std::nullopt;
    sum += *core.utilization_percent;
  }
  if (device.cores.empty()) return std::nullopt;
  return sum / static_cast<double>(device.cores.size());
}

}  // namespace

DeviceMetrics::DeviceMetrics(Metrics& metrics)
    : info_(metrics.AddGauges("kprof_device_info", "1 for each device; its labels tell which it is.",
                              {"device", "kind", "uuid", "name"})),
      up_(metrics.AddGauges("kprof_device_up", "1: it answers; 0: it is lost, hangs or fails.", {"device"})),
      sm_clock_(metrics.AddGauges("kprof_device_sm_clock_hertz", "The SM clock.", {"device"})),
      locked_(metrics.AddGauges("kprof_device_sm_clock_locked_hertz",
                                "What kprofd holds the SM clock at; 0: it holds none.", {"device"})),
      memory_clock_(metrics.AddGauges("kprof_device_memory_clock_hertz", "The memory clock.", {"device"})),
      power_(metrics.AddGauges("kprof_device_power_watts", "What it draws.", {"device"})),
      power_limit_(metrics.AddGauges("kprof_device_power_limit_watts", "What it may draw.", {"device"})),
      temperature_(metrics.AddGauges("kprof_device_temperature_celsius", "Of the chip.", {"device"})),
      busy_(metrics.AddGauges("kprof_device_busy_ratio", "Of the time in which it was at work.", {"device"})),
      memory_used_(metrics.AddGauges("kprof_device_memory_used_bytes", "Of its memory.", {"device"})),
      memory_(metrics.AddGauges("kprof_device_memory_bytes", "Its memory.", {"device"})),
      processes_(metrics.AddGauges("kprof_device_processes", "Processes that have it open.", {"device"})),
      throttled_(metrics.AddGauges("kprof_device_throttled", "1: it is slower than it could be, for this reason.",
                                   {"device", "reason"})),
      events_(metrics.AddCounters("kprof_device_events_total", "What befell devices.", {"device", "kind"})) {}

void DeviceMetrics::Follow(const Followed& followed) {
  KPROF_ON_IO_LOOP(followed.loop);
  followed_ = std::make_unique<Followed>(followed);
  listening_ = followed.devices.Listen([this](const DeviceEvent& event) {
    if (!event.device_id.empty()) events_.With({event.device_id, DeviceEventKindName(event.kind)}).Add();
  });
  Show();
}

// Shared with the loop, which may be late.
struct DeviceMetrics::Looking {
  std::promise<void> done;
};

void DeviceMetrics::LookNow(int64_t limit_ns) {
  auto looking = std::make_shared<Looking>();
  std::future<void> done = looking->done.get_future();
  followed_->loop.Post([this, looking] {
    followed_->devices.Refresh(kAnswerLimitNs, [this, looking] {
      Show();
      looking->done.set_value();
    });
  });
  (void)done.wait_for(std::chrono::nanoseconds(limit_ns));
}

void DeviceMetrics::Show() {
  const std::shared_ptr<const DeviceList> list = followed_->book.now();
  for (const Device& device : list->all()) {
    const Result<DeviceFacts> facts = followed_->devices.FactsOf(device.id);
    if (facts.ok() && device.kind != DeviceKind::kCpu) ShowOne(device, *facts);
  }
}

void DeviceMetrics::ShowOne(const Device& device, const DeviceFacts& facts) {
  const std::string& id = device.id;
  info_.With({id, std::string(DeviceKindName(device.kind)), ReadableText(device.uuid), ReadableText(device.name)})
      .Set(1);
  up_.With({id}).Set(facts.health == DeviceHealth::kOk ? 1 : 0);
  const bool is_known = facts.health == DeviceHealth::kOk;
  if (facts.nvidia) {
    const NvidiaSample sample = is_known ? facts.nvidia_sample.value_or(NvidiaSample()) : NvidiaSample();
    const NvidiaState state = is_known ? facts.nvidia_state.value_or(NvidiaState()) : NvidiaState();
    Set(sm_clock_, id, sample.sm_mhz, kHertzPerMhz);
    Set(memory_clock_, id, sample.memory_mhz, kHertzPerMhz);
    Set(power_, id, sample.power_mw, 1e-3);
    Set(temperature_, id, sample.temperature_c);
    Set(busy_, id, sample.gpu_percent, 1e-2);
    Set(power_limit_, id, state.power_limit_mw, 1e-3);
    Set(memory_used_, id, state.memory_used_bytes);
    Set(memory_, id, facts.nvidia->memory_bytes);
    Set(processes_, id, state.processes ? std::optional(state.processes->size()) : std::nullopt);
    for (const uint64_t bit : {clock_reasons::kPowerCap, clock_reasons::kHardwareSlowdown, clock_reasons::kThermal,
                               clock_reasons::kHardwareThermal, clock_reasons::kPowerBrake}) {
      const bool is_set = (sample.reasons.value_or(0) & bit) != 0;
      throttled_.With({id, std::string(ClockReasonName(bit))}).Set(is_set ? 1 : 0);
    }
    const auto held = followed_->clocks == nullptr ? std::nullopt : followed_->clocks->HeldOn(id);
    locked_.With({id}).Set(held ? kHertzPerMhz * held->what.held.sm_mhz.value_or(0) : 0);
  }
  if (facts.neuron) {
    const NeuronDevice neuron = is_known ? *facts.neuron : NeuronDevice();
    Set(busy_, id, UseOf(neuron), 1e-2);
    Set(memory_used_, id, neuron.memory_used_bytes);
    Set(memory_, id, facts.neuron->memory_bytes);
    processes_.With({id}).Set(static_cast<double>(neuron.processes.size()));
  }
}

}  // namespace kprof
