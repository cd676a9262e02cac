#include "daemon/devices/peaks/device_peaks.h"

#include <cstdio>

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

}  // namespace kprof
