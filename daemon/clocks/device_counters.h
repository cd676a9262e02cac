// What the devices tell, for whoever scrapes: they are asked when somebody looks, and never else. Events are counted.
//
// Made of families at the start; Follow once there are devices to follow. Io loop, but for LookNow.
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

// What is kept, as counters of a trace, of what a device tells while it is watched. Pure functions.

// Of an NVIDIA device, by their numbers. A unit in a name is the counter's; `clock_reasons` is a sum of bits
// (docs/devices.md).
inline constexpr std::array<std::string_view, 9> kSampleCounters = {
    "sm_clock_mhz",     "memory_clock_mhz",    "clock_reasons",     "power_w",       "temperature_c",
    "gpu_busy_percent", "memory_busy_percent", "memory_used_bytes", "sample_took_ns"};

using TakeCounter = std::function<void(size_t counter, double value)>;

// Each value that it has.
void ForEachCounter(const NvidiaSample& sample, const TakeCounter& take);
void ForEachCounter(const NvidiaState& state, const TakeCounter& take);

// Of a Neuron device: those of the device, then for each of its cores, in their order, how busy it is.
std::vector<std::string> NeuronCounters(const NeuronDevice& device);
// REQUIRES: by the numbers of a device with as many cores; of more, those are left out.
void ForEachCounter(const NeuronDevice& device, size_t cores, const TakeCounter& take);

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

  // Asks the devices, and waits for that: not on the loop. One that takes longer than `limit_ns` has what it told
  // before.
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
