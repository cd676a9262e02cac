#include "daemon/devices/peaks/peak_scaling.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

namespace kprof {
namespace {

constexpr double kGibOfShare = 1 << 30;

Status Refuse(const DevicePeaks& device, const std::string& why, std::string remedy) {
  return Fail(ErrorCode::kBadInput, "scale the peaks of " + device.device, why, std::move(remedy));
}

// "scaled: 42 of 132 SMs; of 989 TFLOP/s (table): stas00/ml-engineering"
Peak Scaled(const Peak& whole, double value, const std::string& part) {
  Peak peak = whole;
  peak.value = value;
  peak.source = "scaled: " + part + "; of " + PeakNumberText(whole.value) + " " + whole.unit + " (" +
                std::string(PeakOriginName(whole.origin)) + "): " + whole.source;
  peak.origin = PeakOrigin::kScaled;
  return peak;
}

// The number of cores that the device has as a whole; 0: not known.
uint32_t CoreCountOf(const DevicePeaks& device) {
  const Peak* count = device.Find(kCoreCount);
  if (count == nullptr || !(count->value >= 1 && count->value <= 1e6)) return 0;
  return static_cast<uint32_t>(count->value);
}

bool HasLogicalCores(const DevicePeaks& device) {
  return device.architecture == "NeuronCore-v3" || device.architecture == "NeuronCore-v4";
}

bool IsRate(const Peak& peak) {
  return peak.quantity == kDenseRate;
}

bool IsOfMemory(const Peak& peak) {
  return peak.quantity == kMemoryBandwidth || peak.quantity == kMemoryBandwidthDriver || peak.quantity == kL2Size;
}

}  // namespace

std::optional<int> MemorySlicesOf(uint64_t instance_bytes, uint64_t device_bytes) {
  if (instance_bytes == 0 || device_bytes == 0 || instance_bytes > device_bytes) return std::nullopt;
  // An instance has a little less than its slices: some of each is the driver's.
  const double slices = kMemorySlices * (static_cast<double>(instance_bytes) / static_cast<double>(device_bytes));
  return std::max(1, static_cast<int>(std::lround(slices)));
}

Result<DevicePeaks> ScaledToMig(const DevicePeaks& device, const MigShare& share) {
  const uint32_t all_sms = CoreCountOf(device);
  if (device.vendor != "nvidia") return Refuse(device, "it is no NVIDIA GPU, and only these have MIG", "");
  if (!share.gpu_slices || !share.compute_slices) {
    return Refuse(device, "it is not known whether the instance has a GPU instance of its own", "update the driver");
  }
  if (*share.compute_slices != *share.gpu_slices) {
    return Refuse(device,
                  "the compute instance has " + std::to_string(*share.compute_slices) + " of the " +
                      std::to_string(*share.gpu_slices) + " slices of its GPU instance, whose bandwidth is not its own",
                  "give it a whole GPU instance to have peaks");
  }
  if (!share.sm_count || *share.sm_count == 0 || all_sms == 0) {
    return Refuse(device, "it is not known how many SMs the instance has, or the device", "update the driver");
  }
  if (*share.sm_count > all_sms) {
    return Refuse(
        device,
        "the instance has " + std::to_string(*share.sm_count) + " SMs, and the device " + std::to_string(all_sms),
        "give the device its own peaks in the file of [devices] peaks");
  }
  if (!share.memory_slices || *share.memory_slices < 1 || *share.memory_slices > kMemorySlices) {
    return Refuse(device, "it is not known which part of the memory the instance has", "update the driver");
  }
  const std::string of_sms = std::to_string(*share.sm_count) + " of " + std::to_string(all_sms) + " SMs";
  const std::string of_memory =
      std::to_string(*share.memory_slices) + " of " + std::to_string(kMemorySlices) + " memory slices";
  DevicePeaks part = device;
  part.peaks.clear();
  for (const Peak& peak : device.peaks) {
    if (peak.origin == PeakOrigin::kMeasured) continue;
    if (IsRate(peak)) part.peaks.push_back(Scaled(peak, peak.value * *share.sm_count / all_sms, of_sms));
    if (IsOfMemory(peak)) {
      part.peaks.push_back(Scaled(peak, peak.value * *share.memory_slices / kMemorySlices, of_memory));
    }
    if (peak.quantity == kCoreCount) part.peaks.push_back(Scaled(peak, *share.sm_count, of_sms));
    if (peak.quantity == kMemorySize && share.memory_bytes) {
      Peak size = Scaled(peak, static_cast<double>(*share.memory_bytes) / kGibOfShare,
                         of_memory + ", " + std::to_string(*share.memory_bytes) + " B");
      size.unit = "GiB";
      part.peaks.push_back(std::move(size));
    }
  }
  return part;
}

Result<DevicePeaks> ScaledToCores(const DevicePeaks& device, const NeuronShare& share) {
  const uint32_t all_cores = CoreCountOf(device);
  if (device.core_kind != "NeuronCore" || all_cores == 0) {
    return Refuse(device, "it is not known how many NeuronCores it has", "add its core_kind and core_count");
  }
  const int lnc = share.physical_per_logical;
  if (lnc != 1 && !(lnc == 2 && HasLogicalCores(device))) {
    return Refuse(device, "it has no logical cores of " + std::to_string(lnc) + " physical ones",
                  HasLogicalCores(device) ? "LNC is 1 or 2" : "LNC is 1");
  }
  const int64_t cores = int64_t{share.logical_cores} * lnc;
  if (cores < 1 || cores > all_cores) {
    return Refuse(device, std::to_string(cores) + " of its " + std::to_string(all_cores) + " cores cannot be used",
                  "give the logical cores of this device, and its LNC");
  }
  if (cores == all_cores) return device;
  std::string of_cores = std::to_string(cores) + " of " + std::to_string(all_cores) + " cores";
  if (lnc != 1) of_cores += " (" + std::to_string(share.logical_cores) + " logical)";
  DevicePeaks part = device;
  part.peaks.clear();
  for (const Peak& peak : device.peaks) {
    if (peak.origin == PeakOrigin::kMeasured) continue;
    if (peak.quantity == kCoreDenseRate) {
      part.peaks.push_back(peak);
      continue;
    }
    const Peak* of_one = IsRate(peak) ? device.Find(kCoreDenseRate, peak.dtype, peak.accumulate) : nullptr;
    if (of_one != nullptr) {
      Peak rate = Scaled(*of_one, of_one->value * static_cast<double>(cores), of_cores);
      rate.quantity = peak.quantity;
      part.peaks.push_back(std::move(rate));
      continue;
    }
    Peak scaled = Scaled(peak, peak.value * static_cast<double>(cores) / all_cores, of_cores);
    if (peak.quantity == kMemoryBandwidth) scaled.confidence = std::min(scaled.confidence, PeakConfidence::kMedium);
    part.peaks.push_back(std::move(scaled));
  }
  return part;
}

}  // namespace kprof
