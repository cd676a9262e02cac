#include "daemon/analysis/functions/device_roof.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <span>

#include "daemon/devices/peaks/peaks_in_use.h"
#include "storage/trace/read/part_reader.h"

namespace kprof {
namespace {

struct RateName {
  std::string_view dtype;
  std::string_view accumulate;
};
constexpr RateName kBf16Rates[] = {{"bf16", "fp32"}};
constexpr RateName kFp16Rates[] = {{"fp16", "fp32"}};
constexpr RateName kFp8Rates[] = {{"fp8", "fp32"}};
constexpr RateName kFloatRates[] = {{"fp32", ""}, {"tf32", "fp32"}};  // the trace does not say which

// Types that are multiplied: of others no rate is known.
std::span<const RateName> RatesOf(std::string_view type) {
  if (type == "c10::BFloat16") return kBf16Rates;
  if (type == "c10::Half") return kFp16Rates;
  if (type.starts_with("c10::Float8_e")) return kFp8Rates;
  if (type == "float") return kFloatRates;
  return {};
}

// The type of the first two tensors of a list of types: ["c10::BFloat16","c10::BFloat16","Scalar"]. Empty: they differ.
std::string_view TypeOfFactors(std::string_view types) {
  std::string_view first;
  for (size_t begin = types.find('"'); begin != std::string_view::npos; begin = types.find('"', begin)) {
    const size_t end = types.find('"', ++begin);
    if (end == std::string_view::npos) break;
    const std::string_view type = types.substr(begin, end - begin);
    begin = end + 1;
    if (type.empty() || type.starts_with("Scalar") || type.starts_with("TensorList")) continue;
    if (!first.empty()) return type == first ? first : "";
    first = type;
  }
  return "";
}

struct NamedDevice {
  std::optional<int64_t> id;
  std::string name;
};

// The devices of a list like PyTorch's: [{"id":0,"name":"NVIDIA H100",...},...].
std::vector<NamedDevice> DevicesOfList(std::string_view list) {
  constexpr std::string_view kId = "\"id\":";
  constexpr std::string_view kName = "\"name\":";
  std::vector<NamedDevice> devices;
  while (!list.empty()) {
    const size_t end = std::min(list.find('}'), list.size());
    const std::string_view one = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    const size_t name = one.find(kName);
    if (name == std::string_view::npos) continue;
    const size_t begin = one.find('"', name + kName.size());
    const size_t last = begin == std::string_view::npos ? begin : one.find('"', begin + 1);
    if (last == std::string_view::npos) continue;
    NamedDevice device{.name = std::string(one.substr(begin + 1, last - begin - 1))};
    if (const size_t id = one.find(kId); id != std::string_view::npos) {
      size_t at = id + kId.size();
      while (at < one.size() && one[at] == ' ') ++at;
      int64_t number = 0;
      if (std::from_chars(one.data() + at, one.data() + one.size(), number).ec == std::errc()) device.id = number;
    }
    devices.push_back(std::move(device));
  }
  return devices;
}

std::string RateText(const Peak& peak) {
  return peak.dtype + " " + PeakNumberText(peak.value) + " " + peak.unit + " (" + peak.source + ")";
}

}  // namespace

Result<DeviceRoof> DeviceRoof::Find(const TracePart& part) {
  DeviceRoof roof;
  const std::vector<NamedDevice> devices = DevicesOfList(part.reader->TextFact("source.deviceProperties").value_or(""));
  std::set<int64_t> at_work;
  for (const TrackRow& track : part.reader->tracks()) {
    if (track.device && track.kind == "gpu_stream") at_work.insert(*track.device);
  }
  std::set<std::string> all;
  std::set<std::string> names;
  for (const NamedDevice& device : devices) {
    all.insert(device.name);
    if (!device.id || at_work.contains(*device.id)) names.insert(device.name);
  }
  if (all.size() == 1) names = all;  // numbers may differ where a program sees some of the devices alone
  roof.names_.assign(names.begin(), names.end());
  if (roof.names_.size() != 1) return roof;
  ASSIGN_OR_RETURN(const PeakTable* const table, PeaksInUse());
  for (const DeviceKind kind : {DeviceKind::kNvidia, DeviceKind::kAmd}) {
    if (const DevicePeaks* const found = table->Find(kind, roof.names_.front())) roof.peaks_ = *found;
  }
  return roof;
}

std::optional<RoofTime> DeviceRoof::TimeOf(const OperatorCost& cost, std::string_view types) {
  if (!peaks_ || !cost.bytes || !cost.flops) return std::nullopt;
  const Peak* const bandwidth = peaks_->Find(kMemoryBandwidth);
  const std::span<const RateName> rates = RatesOf(TypeOfFactors(types));
  if (bandwidth == nullptr || rates.empty()) return std::nullopt;
  const double memory_ns = *cost.bytes / bandwidth->value;  // GB/s are bytes in a nanosecond
  std::optional<RoofTime> time;
  std::set<std::string> taken;
  for (const RateName& rate : rates) {
    const Peak* const peak = peaks_->Find(kDenseRate, rate.dtype, rate.accumulate);
    if (peak == nullptr) return std::nullopt;
    const double compute_ns = *cost.flops / (peak->value * 1e3);
    const RoofTime at_rate{std::max(compute_ns, memory_ns), compute_ns > memory_ns};
    if (time && time->ns != at_rate.ns) return std::nullopt;
    time = at_rate;
    taken.insert(RateText(*peak));
  }
  rates_.merge(taken);
  return time;
}

std::string DeviceRoof::Text() const {
  if (names_.empty()) return "peak_percent is not known: the trace does not name its device";
  if (names_.size() > 1) return "peak_percent is not known: the trace has devices of several kinds";
  const Peak* const bandwidth = peaks_ ? peaks_->Find(kMemoryBandwidth) : nullptr;
  if (bandwidth == nullptr) return "peak_percent is not known: the table of peaks does not have " + names_.front();
  if (rates_.empty()) return "peak_percent is not known: no rate of " + names_.front() + " is that of these operators";
  std::string rates;
  for (const std::string& rate : rates_) rates += rate + ", ";
  return "peak_percent is of " + names_.front() + ": " + rates + "memory " + PeakNumberText(bandwidth->value) + " " +
         bandwidth->unit + " (" + bandwidth->source + ")";
}

}  // namespace kprof
