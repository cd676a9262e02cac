// The devices' counters: for Prometheus (DeviceMetrics) and for traces (ForEachCounter). DeviceMetrics asks the devices
// only when somebody scrapes, and counts their events.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/io_loop.h"
#include "daemon/base/metrics.h"
#include "daemon/clocks/locks/device_clocks.h"
#include "daemon/devices/device_book.h"
#include "daemon/devices/neuron/neuron_device.h"
#include "daemon/devices/node_devices.h"
#include "daemon/devices/nvidia/nvidia_facts.h"

namespace kprof {

// The counters that a trace keeps of an NVIDIA device; a counter's number is its place in here. A unit in a name is the
// counter's; `clock_reasons` is a sum of bits (docs/devices.md). Pure functions.
inline constexpr std::array<std::string_view, 9> kSampleCounters = {
    "sm_clock_mhz",     "memory_clock_mhz",    "clock_reasons",     "power_w",       "temperature_c",
    "gpu_busy_percent", "memory_busy_percent", "memory_used_bytes", "sample_took_ns"};

using TakeCounter = std::function<void(size_t counter, double value)>;

// Calls `take` for each value that it has.
void ForEachCounter(const NvidiaSample& sample, const TakeCounter& take);
void ForEachCounter(const NvidiaState& state, const TakeCounter& take);

// The counters of a Neuron device: those of the device, then each core's utilization, in the cores' order.
std::vector<std::string> NeuronCounters(const NeuronDevice& device);
// The counters' numbers are those of a device with `cores` cores; further cores are left out.
void ForEachCounter(const NeuronDevice& device, size_t cores, const TakeCounter& take);

// Made of families at the start; call Follow once there are devices. Io loop, except LookNow.
class DeviceMetrics {
 public:
  explicit DeviceMetrics(Metrics& metrics);
  DeviceMetrics(const DeviceMetrics&) = delete;
  DeviceMetrics& operator=(const DeviceMetrics&) = delete;

  // All must outlive the scrapes; `clocks` may be null.
  struct Followed {
    IoLoop& loop;
    const DeviceBook& book;
    NodeDevices& devices;
    const DeviceClocks* clocks;
  };
  void Follow(const Followed& followed);

  // Asks the devices and waits for the answers: not on the loop. A device that takes longer than `limit_ns` keeps its
  // earlier values.
  void LookNow(int64_t limit_ns);

 private:
  struct Looking;

  void Show();
  void ShowOne(const Device& device, const DeviceFacts& facts);

  std::unique_ptr<Followed> followed_;
  std::shared_ptr<void> listening_;
  Family<Gauge>& info_;
  Family<Gauge>& up_;
  Family<Gauge>& sm_clock_;
  Family<Gauge>& locked_;
  Family<Gauge>& memory_clock_;
  Family<Gauge>& power_;
  Family<Gauge>& power_limit_;
  Family<Gauge>& temperature_;
  Family<Gauge>& busy_;
  Family<Gauge>& memory_used_;
  Family<Gauge>& memory_;
  Family<Gauge>& processes_;
  Family<Gauge>& throttled_;
  Family<Counter>& events_;
};

}  // namespace kprof
