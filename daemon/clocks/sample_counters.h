// What is kept, as counters of a trace, of what a device tells while it is watched. Pure functions.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/devices/neuron/neuron_device.h"
#include "daemon/devices/nvidia/nvidia_facts.h"

namespace kprof {

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

}  // namespace kprof
