#include "daemon/analysis/functions/neuron/core_peaks.h"

#include <cstdio>
#include <string_view>

#include "daemon/devices/peaks/peaks_in_use.h"

namespace kprof {
namespace {

constexpr const char* kOfMetadata = "the profile's metadata";

// The tensor engine of an architecture as the profiler's metadata has it, and as its MFU is made of. The data sheet
// rounds up: 190 TFLOP/s for the two cores of a NeuronCore-v2 chip are 95 for one, the array at its clock gives 91.75.
struct TensorArray {
  std::string_view architecture;
  double rows;
  double columns;
  double clock_ghz;
};
constexpr TensorArray kTensorArrays[] = {{"NeuronCore-v2", 128, 128, 2.8}};

// A multiply-add is two operations.
double RateOf(double rows, double columns, double clock_ghz) {
  return rows * columns * 2 * clock_ghz * 1e9;
}

// "trn1" of trn1n.32xlarge: the table knows families of instances.
std::string FamilyOf(std::string_view instance_type) {
  std::string_view family = instance_type.substr(0, instance_type.find('.'));
  const size_t digits = family.find_last_of("0123456789");
  return std::string(digits == family.npos ? family : family.substr(0, digits + 1));
}

std::string OfTable(const Peak& peak, const DevicePeaks& device, bool is_share) {
  return "the table of peaks: " + device.device + (is_share ? ", shared by its cores" : "") + " (" + peak.source + ")";
}

std::string OfArray(const TensorArray& array) {
  char text[120];
  std::snprintf(text, sizeof(text), "as neuron-profile takes it for a %.*s: %.0f x %.0f x 2 x %.1f GHz",
                static_cast<int>(array.architecture.size()), array.architecture.data(), array.rows, array.columns,
                array.clock_ghz);
  return text;
}

std::string PeakPart(const char* what, const std::optional<CorePeak>& peak, double unit, const char* unit_name) {
  if (!peak) return std::string(what) + " not known";
  char number[40];
  std::snprintf(number, sizeof(number), "%.4g", peak->value / unit);
  return std::string(what) + " " + number + " " + unit_name + " (" + peak->source + ")";
}

}  // namespace

Result<CorePeaks> CorePeaks::Find(const DeviceProfile& profile) {
  CorePeaks peaks;
  const auto of_profile = [&](std::string_view counter) -> std::optional<CorePeak> {
    const std::optional<double> value = profile.Find(counter);
    if (!value || !(*value > 0)) return std::nullopt;
    return CorePeak{*value, kOfMetadata, true};
  };
  const std::optional<double> rows = profile.Find("tensor_engine_num_rows");
  const std::optional<double> columns = profile.Find("tensor_engine_num_cols");
  const std::optional<double> clock = profile.Find("tensor_engine_clock_freq");
  if (rows && columns && clock && *rows > 0 && *columns > 0 && *clock > 0) {
    peaks.tensor_flops = CorePeak{RateOf(*rows, *columns, *clock), kOfMetadata, true};
  }
  peaks.hbm_bytes = of_profile("hbm_ddr_bandwidth");
  peaks.dma_bytes = of_profile("dma_ddr_bandwidth");
  if ((peaks.tensor_flops && peaks.hbm_bytes && peaks.dma_bytes) || profile.instance_type.empty()) return peaks;

  ASSIGN_OR_RETURN(const PeakTable* const table, PeaksInUse());
  const DevicePeaks* const device = table->Find(DeviceKind::kNeuron, FamilyOf(profile.instance_type));
  if (device == nullptr) return peaks;
  const Peak* const cores = device->Find(kCoreCount);
  const Peak* const of_core = device->Find(kCoreDenseRate, "bf16", "fp32");
  const Peak* const rate = device->Find(kDenseRate, "bf16", "fp32");
  const Peak* const bandwidth = device->Find(kMemoryBandwidth);
  if (!peaks.tensor_flops && of_core != nullptr) {
    peaks.tensor_flops = CorePeak{of_core->value * 1e12, OfTable(*of_core, *device, false), false};
  }
  for (const TensorArray& array : kTensorArrays) {
    if (peaks.tensor_flops || array.architecture != device->architecture) continue;
    peaks.tensor_flops = CorePeak{RateOf(array.rows, array.columns, array.clock_ghz), OfArray(array), false};
  }
  if (cores == nullptr || !(cores->value > 0)) return peaks;
  if (!peaks.tensor_flops && rate != nullptr) {
    peaks.tensor_flops = CorePeak{rate->value * 1e12 / cores->value, OfTable(*rate, *device, true), false};
  }
  if (bandwidth == nullptr) return peaks;
  const CorePeak share{bandwidth->value * 1e9 / cores->value, OfTable(*bandwidth, *device, true), false};
  if (!peaks.hbm_bytes) peaks.hbm_bytes = share;
  // DMA engines cannot move more than the memory gives.
  if (!peaks.dma_bytes) peaks.dma_bytes = share;
  return peaks;
}

std::string CorePeaks::Text() const {
  return "peaks of a core: " + PeakPart("tensor", tensor_flops, 1e12, "TFLOP/s") + "; " +
         PeakPart("HBM", hbm_bytes, 1e9, "GB/s") + "; " + PeakPart("DMA", dma_bytes, 1e9, "GB/s");
}

}  // namespace kprof
