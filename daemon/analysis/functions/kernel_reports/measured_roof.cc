#include "daemon/analysis/functions/kernel_reports/measured_roof.h"

#include <strings.h>

#include <algorithm>
#include <set>
#include <vector>

namespace kprof {
namespace {

bool IsSameName(const std::string& one, const std::string& other) {
  return ::strcasecmp(one.c_str(), other.c_str()) == 0;
}

// The key of the device that a kernel ran on. Empty: nobody knows it.
std::string KeyOfDevice(const KnownCeilings& known, const KernelReports& reports, const ReportKernel& kernel) {
  const auto found = known.devices_of_runs.find(kernel.run);
  if (found == known.devices_of_runs.end() || found->second.empty()) return "";
  const std::vector<std::string>& keys = found->second;
  if (keys.size() == 1) return keys.front();
  // A command sees the leased devices alone, numbered from 0 in their order.
  const std::optional<int64_t> device = reports.launches()[kernel.launches.front()].device;
  const bool is_one = device && *device >= 0 && *device < static_cast<int64_t>(keys.size());
  return is_one ? keys[static_cast<size_t>(*device)] : "";
}

bool KnowsDevices(const KnownCeilings& known, const std::string& run) {
  const auto found = known.devices_of_runs.find(run);
  if (found == known.devices_of_runs.end()) return false;
  return std::any_of(found->second.begin(), found->second.end(), [](const std::string& key) { return !key.empty(); });
}

}  // namespace

MeasuredRoof MeasuredRoof::Of(const KnownCeilings& known, const KernelReports& reports, const ReportKernel& kernel,
                              const KernelRoof& roof) {
  MeasuredRoof measured;
  if (known.rows.empty()) return measured;
  const std::string& name = roof.device_name();
  std::string key = KeyOfDevice(known, reports, kernel);
  if (key.empty()) {
    if (name.empty() || KnowsDevices(known, kernel.run)) return measured;
    std::set<std::string> devices;
    for (const CeilingRow& row : known.rows) {
      if (IsSameName(row.device_name, name)) devices.insert(row.device);
    }
    if (devices.size() > 1) {
      measured.warning_ = std::to_string(devices.size()) + " devices of the name " + name +
                          " have measured ceilings, and nobody knows which one this is";
    }
    if (devices.size() != 1) return measured;
    key = *devices.begin();
    measured.by_name_of_ = name;
  }
  if (const DevicePeaks* const peaks = roof.peaks(); peaks != nullptr) measured.ceilings_ = *peaks;
  for (const CeilingRow& row : known.rows) {
    // A part of a device has another name than the whole one, and a ceiling of the whole one says nothing of it.
    const bool is_other = !row.device_name.empty() && !name.empty() && !IsSameName(row.device_name, name);
    if (row.device != key || is_other) continue;
    Result<DevicePeaks> with = WithMeasuredCeiling(measured.ceilings_, MeasuredCeilingOf(row));
    if (with.ok()) measured.ceilings_ = *std::move(with);  // else the peak has changed since, and speaks against it
  }
  return measured;
}

std::optional<Ceiling> MeasuredRoof::Find(std::string_view quantity, std::string_view dtype,
                                          std::string_view accumulate) const {
  const Peak* const peak = ceilings_.FindMeasured(quantity, dtype, accumulate);
  if (peak == nullptr) return std::nullopt;
  if (by_name_of_.empty()) return CeilingOf(*peak);
  const PeakConfidence less =
      peak->confidence == PeakConfidence::kHigh ? PeakConfidence::kMedium : PeakConfidence::kLow;
  return Ceiling{
      peak->value, std::string(PeakConfidenceName(less)),
      peak->source + ", on the one " + by_name_of_ + " that has ceilings here: the kernel may be of another"};
}

std::optional<Ceiling> MeasuredRoof::RateOf(const WorkKind& kind) const {
  return Find(kDenseRate, kind.dtype, kind.accumulate());
}

std::optional<Ceiling> MeasuredRoof::Bandwidth() const {
  return Find(kMemoryBandwidth, {}, {});
}

std::string MeasuredBoth::confidence() const {
  if (!rate || !bandwidth) return rate ? rate->confidence : bandwidth ? bandwidth->confidence : "";
  const PeakConfidence one = PeakConfidenceByName(rate->confidence).value_or(PeakConfidence::kLow);
  const PeakConfidence other = PeakConfidenceByName(bandwidth->confidence).value_or(PeakConfidence::kLow);
  return std::string(PeakConfidenceName(std::min(one, other)));
}

std::string MeasuredBoth::source() const {
  if (!rate || !bandwidth) return rate ? rate->source : bandwidth ? bandwidth->source : "";
  return rate->source == bandwidth->source ? rate->source
                                           : "rate: " + rate->source + "; bandwidth: " + bandwidth->source;
}

}  // namespace kprof
