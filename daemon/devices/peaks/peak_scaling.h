// The peaks of a part of a device: a MIG instance of a GPU, some cores of a Neuron device. A scaled number's source
// names the part and the whole number. Values measured on the whole device tell nothing of a part, and are left out.
// Pure functions.
#pragma once

#include <cstdint>
#include <optional>

#include "daemon/devices/peaks/device_peaks.h"
#include "storage/base/status.h"

namespace kprof {

// A GPU's memory, and its bandwidth and L2 with it, is dealt out to GPU instances in eighths.
inline constexpr int kMemorySlices = 8;

// A MIG device: a compute instance within a GPU instance. Absent: the driver does not tell.
struct MigShare {
  std::optional<uint32_t> sm_count;        // its own
  std::optional<uint32_t> gpu_slices;      // of the GPU instance's compute
  std::optional<uint32_t> compute_slices;  // of them, its own
  std::optional<uint64_t> memory_bytes;
  std::optional<int> memory_slices;  // of kMemorySlices: not gpu_slices, which are 3 of a 3g.40gb, and this is 4
};

// The number of kMemorySlices in a GPU instance's memory; absent where it cannot be told.
std::optional<int> MemorySlicesOf(uint64_t instance_bytes, uint64_t device_bytes);

// Rates are scaled by the SMs, bandwidth and L2 by the slices of memory. Fails with kBadInput where the share is not
// known or cannot be right, and where the compute instance has not all of its GPU instance: it shares the bandwidth
// with others, so that it has no peak of its own.
Result<DevicePeaks> ScaledToMig(const DevicePeaks& device, const MigShare& share);

// NeuronCores in use. A logical core is `physical_per_logical` (LNC) physical ones.
struct NeuronShare {
  int logical_cores = 0;
  int physical_per_logical = 1;
};

// If all cores are used, the whole device's numbers as they are. Otherwise rates are scaled by the figure of one core
// where there is one (core_dense_rate), and everything else by the part of the cores that is used: evenly. For
// bandwidth that is an assumption (two cores share a bank of memory) and lowers its confidence to medium.
//
// Fails with kBadInput for a device without NeuronCores or with an unknown number of them, for more cores than it has,
// and for an LNC that it does not have: 1, and of NeuronCore-v3 and -v4 also 2.
Result<DevicePeaks> ScaledToCores(const DevicePeaks& device, const NeuronShare& share);

}  // namespace kprof
