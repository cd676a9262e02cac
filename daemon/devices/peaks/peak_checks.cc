#include "daemon/devices/peaks/peak_checks.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "storage/base/readable_text.h"

namespace kprof {
namespace {

// Each range leaves room for devices to come, and none for a number in the neighbouring unit.
struct Quantity {
  std::string_view name;
  bool of_dtype;
  std::string_view unit;
  std::string_view other_unit;
  double low;  // of rates the dtype's range counts
  double high;
};

constexpr Quantity kQuantities[] = {
    {kDenseRate, true, "TFLOP/s", "TFLOP/s", 0, 0},
    {kCoreDenseRate, true, "TFLOP/s", "TFLOP/s", 0, 0},
    {kMemoryBandwidth, false, "GB/s", "GB/s", 10, 100'000},
    {kMemoryBandwidthDriver, false, "GB/s", "GB/s", 10, 100'000},
    {kMemorySize, false, "GB", "GiB", 0.5, 8'192},
    {kCoreCount, false, "count", "count", 1, 10'000},
    {kL2Size, false, "MB", "MiB", 0.1, 4'096},
    {kSbufSize, false, "MB", "MiB", 0.1, 4'096},
};

struct Dtype {
  std::string_view name;
  bool only_accumulates;  // only the tensor or matrix units' rate is of interest
  double high;
};

constexpr double kLeastRate = 0.1;
constexpr Dtype kDtypes[] = {
    {"fp64", false, 2'000}, {"fp32", false, 5'000}, {"tf32", true, 20'000}, {"bf16", true, 50'000},
    {"fp16", true, 50'000}, {"fp8", true, 100'000}, {"fp6", true, 100'000}, {"fp4", true, 200'000},
};

constexpr std::string_view kAccumulates[] = {"fp16", "fp32", "fp64"};

template <typename Known, size_t kCount>
const Known* Named(const Known (&all)[kCount], std::string_view name) {
  const Known* found = std::find_if(all, all + kCount, [&](const Known& known) { return known.name == name; });
  return found == all + kCount ? nullptr : found;
}

template <typename Known, size_t kCount>
std::string NamesOf(const Known (&all)[kCount]) {
  std::string names;
  for (const Known& known : all) names += (names.empty() ? "" : ", ") + std::string(known.name);
  return names;
}

PeakComplaint Refusal(std::string why, std::string remedy) {
  return {.refuses = true, .why = std::move(why), .remedy = std::move(remedy)};
}

std::string Quoted(std::string_view text) {
  return "'" + ClippedText(text, 60) + "'";
}

bool SaysSparse(std::string_view text) {
  std::string lower;
  for (char c : text) lower += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower.find("spars") != lower.npos || lower.find("2:4") != lower.npos;
}

std::optional<PeakComplaint> CheckNames(const Peak& peak) {
  for (const std::string& text : {peak.quantity, peak.dtype, peak.accumulate, peak.unit}) {
    if (SaysSparse(text)) {
      return Refusal(Quoted(text) + " says that it is a sparse rate", "give the dense one; of 2:4 sparsity it is half");
    }
  }
  const Quantity* quantity = Named(kQuantities, peak.quantity);
  if (quantity == nullptr) {
    return Refusal("the quantity " + Quoted(peak.quantity) + " is not known", "use one of " + NamesOf(kQuantities));
  }
  if (peak.quantity == kMemoryBandwidthDriver && peak.origin != PeakOrigin::kDriver &&
      peak.origin != PeakOrigin::kScaled) {
    return Refusal(peak.quantity + " is what the driver says", "write it as " + std::string(kMemoryBandwidth));
  }
  if (peak.unit != quantity->unit && peak.unit != quantity->other_unit) {
    std::string units(quantity->unit);
    if (quantity->other_unit != quantity->unit) units += " or " + std::string(quantity->other_unit);
    return Refusal("the unit of " + peak.quantity + " is " + units + ", not " + Quoted(peak.unit),
                   "convert it to " + units);
  }
  if (!quantity->of_dtype) {
    if (peak.dtype.empty() && peak.accumulate.empty()) return std::nullopt;
    return Refusal(peak.quantity + " has neither dtype nor accumulate", "leave both empty");
  }
  const Dtype* dtype = Named(kDtypes, peak.dtype);
  if (dtype == nullptr) {
    return Refusal("the dtype " + Quoted(peak.dtype) + " is not known", "use one of " + NamesOf(kDtypes));
  }
  if (peak.accumulate.empty() && dtype->only_accumulates) {
    return Refusal("the rate of " + peak.dtype + " does not say what it accumulates in",
                   "write fp32 or fp16 as its accumulate; rates without it are not those of the tensor units");
  }
  const bool known =
      std::find(std::begin(kAccumulates), std::end(kAccumulates), peak.accumulate) != std::end(kAccumulates);
  if (!peak.accumulate.empty() && !known) {
    return Refusal("the accumulate " + Quoted(peak.accumulate) + " is not known", "use fp16, fp32 or fp64");
  }
  return std::nullopt;
}

// REQUIRES: the names are fine.
std::optional<PeakComplaint> CheckValue(const Peak& peak) {
  const Quantity& quantity = *Named(kQuantities, peak.quantity);
  const double low = quantity.of_dtype ? kLeastRate : quantity.low;
  const double high = quantity.of_dtype ? Named(kDtypes, peak.dtype)->high : quantity.high;
  const std::string range = PeakNumberText(low) + " to " + PeakNumberText(high) + " " + peak.unit;
  const std::string remedy = "give it in " + peak.unit + ", from " + range;
  if (!std::isfinite(peak.value)) return Refusal("the value is not finite", remedy);
  if (peak.value <= 0) return Refusal("the value " + PeakNumberText(peak.value) + " is not above 0", remedy);
  if (peak.value < low || peak.value > high) {
    return Refusal("the value " + PeakNumberText(peak.value) + " is out of any device's range", remedy);
  }
  if (peak.quantity == kCoreCount && peak.value != std::floor(peak.value)) {
    return Refusal("the value " + PeakNumberText(peak.value) + " is not a whole number", "count them");
  }
  return std::nullopt;
}

// Of a rate that the checks above let through.
std::optional<PeakComplaint> CheckRidge(const DevicePeaks& device) {
  const Peak* rate = device.Find(kDenseRate, "bf16", "fp32");
  if (rate == nullptr) rate = device.Find(kDenseRate, "fp16", "fp32");
  const Peak* bandwidth = device.Find(kMemoryBandwidth);
  if (rate == nullptr || bandwidth == nullptr) return std::nullopt;
  const double ridge = rate->value * 1e12 / (bandwidth->value * 1e9);
  if (ridge >= kLeastRidge && ridge <= kSuspectRidge) return std::nullopt;
  PeakComplaint complaint;
  complaint.refuses = ridge < kLeastRidge || ridge > kMostRidge;
  complaint.peak = static_cast<size_t>(rate - device.peaks.data());
  complaint.beside = static_cast<size_t>(bandwidth - device.peaks.data());
  complaint.why = PeakNumberText(rate->value) + " TFLOP/s of " + rate->dtype + " and " +
                  PeakNumberText(bandwidth->value) + " GB/s make a ridge point of " + PeakNumberText(ridge) + " FLOP/B";
  if (complaint.refuses) {
    complaint.why += ", outside of " + PeakNumberText(kLeastRidge) + " to " + PeakNumberText(kMostRidge);
    complaint.remedy = "one of the two is wrong, perhaps by 1000: look at their units";
  } else {
    complaint.why += ", above " + PeakNumberText(kSuspectRidge) + ": the rate looks like a sparse figure";
    complaint.remedy = "make sure that it is the dense one";
  }
  return complaint;
}

}  // namespace

std::optional<PeakComplaint> CheckPeak(const Peak& peak) {
  std::optional<PeakComplaint> complaint = CheckNames(peak);
  return complaint ? complaint : CheckValue(peak);
}

std::vector<PeakComplaint> CheckPeaks(const DevicePeaks& device) {
  std::vector<PeakComplaint> complaints;
  for (size_t i = 0; i < device.peaks.size(); ++i) {
    const Peak& peak = device.peaks[i];
    if (std::optional<PeakComplaint> complaint = CheckPeak(peak)) {
      complaint->peak = i;
      complaints.push_back(*std::move(complaint));
      continue;
    }
    const Peak* first = device.Find(peak.quantity, peak.dtype, peak.accumulate);
    if (peak.origin == PeakOrigin::kMeasured || first == &peak) continue;
    complaints.push_back({.refuses = true,
                          .peak = i,
                          .beside = static_cast<size_t>(first - device.peaks.data()),
                          .why = PeakText(peak) + " is there twice",
                          .remedy = "leave one of them"});
  }
  // Of numbers that are wrong already it would say nothing new.
  if (complaints.empty()) {
    if (std::optional<PeakComplaint> ridge = CheckRidge(device)) complaints.push_back(*std::move(ridge));
  }
  return complaints;
}

}  // namespace kprof
