#include "daemon/devices/peaks/device_peaks.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

#include "daemon/devices/peaks/peak_checks.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

bool IsOf(const Peak& peak, std::string_view quantity, std::string_view dtype, std::string_view accumulate) {
  return peak.quantity == quantity && peak.dtype == dtype && peak.accumulate == accumulate;
}

}  // namespace

std::string_view PeakConfidenceName(PeakConfidence confidence) {
  switch (confidence) {
    case PeakConfidence::kLow:
      return "low";
    case PeakConfidence::kMedium:
      return "medium";
    case PeakConfidence::kHigh:
      return "high";
  }
  return "low";
}

std::optional<PeakConfidence> PeakConfidenceByName(std::string_view name) {
  for (PeakConfidence confidence : {PeakConfidence::kLow, PeakConfidence::kMedium, PeakConfidence::kHigh}) {
    if (PeakConfidenceName(confidence) == name) return confidence;
  }
  return std::nullopt;
}

std::string_view PeakOriginName(PeakOrigin origin) {
  switch (origin) {
    case PeakOrigin::kTable:
      return "table";
    case PeakOrigin::kOverride:
      return "override";
    case PeakOrigin::kDriver:
      return "driver";
    case PeakOrigin::kMeasured:
      return "measured";
    case PeakOrigin::kScaled:
      return "scaled";
  }
  return "table";
}

std::string PeakText(const Peak& peak) {
  std::string text = peak.quantity;
  if (!peak.dtype.empty()) text += " " + peak.dtype;
  if (!peak.accumulate.empty()) text += ", accumulated in " + peak.accumulate;
  return text;
}

bool IsSameQuantity(const Peak& one, const Peak& other) {
  return IsOf(one, other.quantity, other.dtype, other.accumulate);
}

const Peak* DevicePeaks::Find(std::string_view quantity, std::string_view dtype, std::string_view accumulate) const {
  for (const Peak& peak : peaks) {
    if (peak.origin != PeakOrigin::kMeasured && IsOf(peak, quantity, dtype, accumulate)) return &peak;
  }
  return nullptr;
}

const Peak* DevicePeaks::FindMeasured(std::string_view quantity, std::string_view dtype,
                                      std::string_view accumulate) const {
  const Peak* last = nullptr;
  for (const Peak& peak : peaks) {
    if (peak.origin == PeakOrigin::kMeasured && IsOf(peak, quantity, dtype, accumulate)) last = &peak;
  }
  return last;
}

std::string PeakNumberText(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

MeasuredCeiling MeasuredCeilingOf(const CeilingRow& row) {
  return {.quantity = row.quantity,
          .dtype = row.dtype,
          .accumulate = row.accumulate,
          .value = row.value,
          .unit = row.unit,
          .run_id = row.run_id,
          .unix_ns = row.time_ns,
          .clocks = row.clocks,
          .doubts = row.doubts};
}

namespace {

void AddNote(const std::string& more, std::string& note) {
  note += (note.empty() ? "" : "; ") + more;
}

}  // namespace

Result<DevicePeaks> WithMeasuredCeiling(DevicePeaks device, const MeasuredCeiling& ceiling) {
  auto refuse = [&](const std::string& why, std::string remedy) {
    return Fail(ErrorCode::kBadInput, "take the ceiling that run " + ceiling.run_id + " measured on " + device.device,
                why, std::move(remedy));
  };
  if (ceiling.quantity != kMemoryBandwidth && ceiling.quantity != kDenseRate) {
    return refuse("'" + ceiling.quantity + "' is nothing that is measured", "measure memory_bandwidth or dense_rate");
  }
  Peak peak{.quantity = ceiling.quantity,
            .dtype = ceiling.dtype,
            .accumulate = ceiling.accumulate,
            .value = ceiling.value,
            .unit = ceiling.unit,
            .confidence = ceiling.doubts.empty() ? PeakConfidence::kHigh : PeakConfidence::kMedium,
            .source = "run " + ceiling.run_id + " at " + UtcText(ceiling.unix_ns / 1'000'000'000),
            .origin = PeakOrigin::kMeasured};
  if (std::optional<PeakComplaint> complaint = CheckPeak(peak)) return refuse(complaint->why, complaint->remedy);
  const Peak* known = device.Find(peak.quantity, peak.dtype, peak.accumulate);
  if (known == nullptr) {
    AddNote("there is no peak to hold it against", peak.note);
  } else if (peak.value > kMostOfPeak * known->value) {
    return refuse(
        PeakNumberText(peak.value) + " " + peak.unit + " is more than " + PeakNumberText(kMostOfPeak) +
            " times the peak of " + PeakNumberText(known->value) + " (" + std::string(PeakOriginName(known->origin)) +
            ": " + known->source + ")",
        "measure again and look at what was counted; if the peak is wrong, correct it in the file of [devices] "
        "peaks");
  }
  if (!ceiling.clocks.empty()) AddNote("with --clocks " + ceiling.clocks, peak.note);
  if (!ceiling.doubts.empty()) AddNote("what speaks against its run: " + ceiling.doubts, peak.note);
  device.peaks.push_back(std::move(peak));
  return device;
}

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
