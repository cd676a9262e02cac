// What the driver says of a device at hand, put together with what the table says of its kind. A pure function.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "daemon/devices/peaks/device_peaks.h"
#include "storage/base/status.h"

namespace kprof {

// Absent: the driver does not tell.
struct DriverFacts {
  std::optional<std::string> compute_capability;  // "9.0"
  std::optional<uint32_t> core_count;             // of what the device's core_kind names: SMs
  std::optional<uint64_t> memory_bytes;
  std::optional<uint64_t> l2_bytes;
  std::optional<uint32_t> memory_bus_bits;
  std::optional<uint32_t> max_memory_mhz;  // as NVML says it: two transfers a cycle
};

// Of cores, memory and L2 the driver's number takes the table's place, whose value becomes its note. Bus width and
// clock make a bandwidth, memory_bandwidth_driver, which stands beside the table's; where the table has none it is
// memory_bandwidth. A number of the driver's that no device has (peak_checks.h) counts as not told.
// Fails with kNotFound where the compute capabilities differ: then the name has led to the peaks of another device.
Result<DevicePeaks> WithDriverFacts(DevicePeaks device, const DriverFacts& facts);

}  // namespace kprof
