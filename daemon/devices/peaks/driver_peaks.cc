#include "daemon/devices/peaks/driver_peaks.h"

#include <algorithm>
#include <utility>

#include "daemon/devices/peaks/peak_checks.h"

namespace kprof {
namespace {

constexpr double kMib = 1 << 20;
constexpr double kGib = 1 << 30;

Peak OfDriver(std::string_view quantity, double value, std::string_view unit, std::string source) {
  return {.quantity = std::string(quantity),
          .value = value,
          .unit = std::string(unit),
          .confidence = PeakConfidence::kHigh,
          .source = std::move(source),
          .origin = PeakOrigin::kDriver};
}

void Put(DevicePeaks& device, Peak peak) {
  if (CheckPeak(peak)) return;
  auto same = std::find_if(device.peaks.begin(), device.peaks.end(), [&](const Peak& other) {
    return other.origin != PeakOrigin::kMeasured && IsSameQuantity(other, peak);
  });
  if (same == device.peaks.end()) {
    device.peaks.push_back(std::move(peak));
    return;
  }
  peak.note = same->note;
  if (same->origin != PeakOrigin::kDriver) {
    peak.note = "the " + std::string(PeakOriginName(same->origin)) + " says " + PeakNumberText(same->value) + " " +
                same->unit + ": " + same->source;
  }
  *same = std::move(peak);
}

}  // namespace

Result<DevicePeaks> WithDriverFacts(DevicePeaks device, const DriverFacts& facts) {
  const std::string driver_has = facts.compute_capability.value_or("");
  if (!driver_has.empty() && !device.compute_capability.empty() && driver_has != device.compute_capability) {
    return Fail(ErrorCode::kNotFound, "find the peaks of a device named as " + device.device,
                "its compute capability is " + driver_has + ", and that of " + device.device + " is " +
                    device.compute_capability,
                "give the device its own peaks in the file of [devices] peaks");
  }
  if (facts.core_count) {
    Put(device, OfDriver(kCoreCount, *facts.core_count, "count", "the driver"));
  }
  if (facts.memory_bytes) {
    const auto bytes = static_cast<double>(*facts.memory_bytes);
    Put(device,
        OfDriver(kMemorySize, bytes / kGib, "GiB", "the driver: " + std::to_string(*facts.memory_bytes) + " B"));
  }
  if (facts.l2_bytes) {
    const auto bytes = static_cast<double>(*facts.l2_bytes);
    Put(device, OfDriver(kL2Size, bytes / kMib, "MiB", "the driver: " + std::to_string(*facts.l2_bytes) + " B"));
  }
  if (facts.memory_bus_bits && facts.max_memory_mhz) {
    const double gigabytes = *facts.memory_bus_bits / 8.0 * 2 * *facts.max_memory_mhz * 1e6 / 1e9;
    const Peak* known = device.Find(kMemoryBandwidth);
    const bool stands_alone = known == nullptr || known->origin == PeakOrigin::kDriver;
    Put(device, OfDriver(stands_alone ? kMemoryBandwidth : kMemoryBandwidthDriver, gigabytes, "GB/s",
                         "the driver: " + std::to_string(*facts.memory_bus_bits) + "-bit x " +
                             std::to_string(*facts.max_memory_mhz) + " MHz x 2"));
  }
  return device;
}

}  // namespace kprof
