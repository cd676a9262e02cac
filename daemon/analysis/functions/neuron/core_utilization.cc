#include "daemon/analysis/functions/neuron/core_utilization.h"

#include <algorithm>
#include <string>

namespace kprof {

std::optional<double> SummedOr(const DeviceProfile& profile, const ProfileWork& work, const ProfileWindow& window,
                               std::optional<int64_t> InstructionSums::*of, const char* counter) {
  std::optional<double> sum;
  for (const auto& [core, sums] : work.sums) {
    if (sums.*of) sum = sum.value_or(0) + static_cast<double>(*(sums.*of));
  }
  if (sum || !window.is_whole() || work.is_one_of_several) return sum;
  return profile.Find(counter);
}

std::vector<CoreUtilization> UtilizationOf(const DeviceProfile& profile, const ProfileWork& work,
                                           const CorePeaks& peaks, const ProfileTotal& total,
                                           const ProfileWindow& window) {
  const bool is_all = window.is_whole() && !work.is_one_of_several;
  // The summary's time is finer than ns.
  const bool is_told = window.is_whole() && total.source == "total_time";
  const double total_ns = is_told ? *profile.Find("total_time") : static_cast<double>(total.ns);
  const double total_s = total_ns / 1e9 * static_cast<double>(std::max<size_t>(work.cores.size(), 1));
  const std::optional<double> hardware = SummedOr(profile, work, window, &InstructionSums::flops, "hardware_flops");
  const std::optional<double> transposes =
      SummedOr(profile, work, window, &InstructionSums::transpose_flops, "transpose_flops");
  const std::optional<double> read = SummedOr(profile, work, window, &InstructionSums::hbm_read, "hbm_read_bytes");
  const std::optional<double> written = SummedOr(profile, work, window, &InstructionSums::hbm_write, "hbm_write_bytes");
  const std::optional<double> model = is_all ? profile.Find("model_flops") : std::nullopt;
  const std::optional<double> inputs = is_all ? profile.Find("inputs_and_weights_size_bytes") : std::nullopt;
  const auto useful = hardware && transposes ? std::optional(*hardware - *transposes) : std::nullopt;
  const auto bytes = read || written ? std::optional(read.value_or(0) + written.value_or(0)) : std::nullopt;
  const auto of_peak = [&](std::optional<double> amount, const std::optional<CorePeak>& peak) -> std::optional<double> {
    if (!amount || !peak || !(total_s > 0)) return std::nullopt;
    return 100 * *amount / (total_s * peak->value);
  };
  const auto ratio = [](std::optional<double> a, std::optional<double> b) -> std::optional<double> {
    if (!a || !b || !(*b > 0)) return std::nullopt;
    return *a / *b;
  };
  const auto peak_value = [](const std::optional<CorePeak>& peak) {
    return peak ? std::optional(peak->value) : std::nullopt;
  };
  const std::optional<double> ridge = ratio(peak_value(peaks.tensor_flops), peak_value(peaks.hbm_bytes));
  std::optional<double> achievable = ratio(ratio(model, bytes), ridge);
  if (achievable) achievable = 100 * std::min(*achievable, 1.0);
  const struct {
    const char* name;
    const char* unit;
    std::optional<double> value;
    const char* counter;
    const char* definition;
  } kRows[] = {
      {"mfu", "percent", of_peak(model, peaks.tensor_flops), "mfu_estimated_percent",
       "model_flops / (total x cores x tensor peak): matrix products of the model"},
      {"mfu_inst", "percent", of_peak(useful, peaks.tensor_flops), "mfu_inst_estimated_percent",
       "(hardware_flops - transpose_flops) / (total x cores x tensor peak): matrix products that ran"},
      {"hfu", "percent", of_peak(hardware, peaks.tensor_flops), "hfu_estimated_percent",
       "hardware_flops / (total x cores x tensor peak): all that the tensor engine did"},
      {"mbu", "percent", of_peak(bytes, peaks.hbm_bytes), "mbu_estimated_percent",
       "(hbm_read_bytes + hbm_write_bytes) / (total x cores x HBM peak)"},
      {"mbu_min_read", "percent", of_peak(inputs, peaks.hbm_bytes), "mbu_min_read_util_percent",
       "inputs_and_weights_size_bytes / (total x cores x HBM peak): each is read once"},
      {"arithmetic_intensity", "flop/byte", ratio(useful, bytes), "mm_arithmetic_intensity",
       "(hardware_flops - transpose_flops) / (hbm_read_bytes + hbm_write_bytes)"},
      {"ridge", "flop/byte", ridge, "peak_flops_bandwidth_ratio",
       "tensor peak / HBM peak: below it memory bounds, above it the tensor engine"},
      {"mfu_max_achievable", "percent", achievable, "mfu_max_achievable_estimated_percent",
       "(model_flops / HBM bytes) / ridge, at most 100"},
  };
  std::vector<CoreUtilization> made;
  for (const auto& row : kRows) {
    const std::optional<double> told = is_all ? profile.Find(row.counter) : std::nullopt;
    if (row.value || told) made.push_back({row.name, row.unit, row.value, told, row.definition});
  }
  return made;
}

std::optional<double> FindUtilization(const std::vector<CoreUtilization>& of, std::string_view name) {
  for (const CoreUtilization& one : of) {
    if (name == one.name) return one.value ? one.value : one.told;
  }
  return std::nullopt;
}

}  // namespace kprof
