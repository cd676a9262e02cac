// Kernels, the numbers that a profiler measured of them, with the ranges in which they are healthy. Docs:
// docs/analyses/kernels.md.
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/kernel_reports/judged_kernels.h"
#include "daemon/analysis/functions/kernel_reports/kernel_reports.h"
#include "daemon/analysis/functions/kernel_reports/report_quantities.h"

namespace kprof {
namespace {

enum KernelsTable : size_t { kKernelRows, kMetricRows, kLaunchRows };

constexpr AnalysisOption kKernelsOptions[] = {
    {"metric", AnalysisType::kText, "", "", "Also metrics whose names have this text, of all that the report has"},
    {"per-launch", AnalysisType::kBoolean, "false", "", "Also the metrics of each launch"},
};

// The columns of a kernel's row that are a quantity.
constexpr Quantity kHeadline[] = {Quantity::kTensorPipe,
                                  Quantity::kDramThroughput,
                                  Quantity::kAchievedOccupancy,
                                  Quantity::kL2Hit,
                                  Quantity::kWaves,
                                  Quantity::kComputeSol,
                                  Quantity::kMemorySol,
                                  Quantity::kL1Throughput,
                                  Quantity::kL2Throughput,
                                  Quantity::kL1Hit,
                                  Quantity::kTheoreticalOccupancy,
                                  Quantity::kRegisters,
                                  Quantity::kSharedPerBlock,
                                  Quantity::kSpillBytes,
                                  Quantity::kLocalLoads,
                                  Quantity::kLocalStores,
                                  Quantity::kGridBlocks,
                                  Quantity::kBlockThreads,
                                  Quantity::kSmClock};

AnalysisValue NumberOrNull(double value) {
  return std::isfinite(value) ? AnalysisValue(value) : AnalysisValue();
}

// "64,1,1"; null where the report does not say.
AnalysisValue SizesOf(const std::array<std::optional<int64_t>, 3>& sizes) {
  std::string text;
  for (const std::optional<int64_t>& size : sizes) {
    if (!size) return AnalysisValue();
    text += (text.empty() ? "" : ",") + std::to_string(*size);
  }
  return text;
}

class KernelsMaker {
 public:
  KernelsMaker(const AnalysisTraces& traces, const KernelReports& reports, const StopSignal& stop)
      : traces_(traces), reports_(reports), stop_(stop), answer_(traces) {
    for (size_t i = 0; i < kQuantities; ++i) {
      const QuantityWords& words = WordsOf(static_cast<Quantity>(i));
      for (const std::string_view name : words.names) by_name_.emplace(name, &words);
    }
  }

  Result<AnalysisAnswer> Make(bool is_per_launch) {
    std::map<std::pair<std::string, std::optional<int64_t>>, double> whole_ns;
    for (const ReportKernel& kernel : reports_.kernels()) {
      whole_ns[{kernel.run, kernel.rank}] += TotalNs(kernel).value_or(0);
    }
    for (const ReportKernel& kernel : reports_.kernels()) {
      RETURN_IF_ERROR(StillWanted(stop_));
      RETURN_IF_ERROR(AddKernel(kernel, whole_ns[{kernel.run, kernel.rank}]));
      RETURN_IF_ERROR(AddMetrics(kernel));
      if (is_per_launch) RETURN_IF_ERROR(AddLaunches(kernel));
    }
    AddReportNotes(traces_, reports_, answer_);
    return std::move(answer_);
  }

 private:
  std::optional<double> TotalNs(const ReportKernel& kernel) const {
    const auto spread = reports_.SpreadOf(kernel, Quantity::kDuration);
    return spread ? std::optional(spread->sum) : std::nullopt;
  }

  Status AddKernel(const ReportKernel& kernel, double whole_ns) {
    const auto duration = reports_.SpreadOf(kernel, Quantity::kDuration);
    const ReportLaunch& first = reports_.launches()[kernel.launches.front()];
    AnalysisAnswer::Row row = {
        kernel.run,
        ValueOf(kernel.rank),
        kernel.name,
        static_cast<int64_t>(kernel.launches.size()),
        duration ? AnalysisValue(duration->mean) : AnalysisValue(),
        duration ? AnalysisValue(duration->sum) : AnalysisValue(),
        duration && whole_ns > 0 ? AnalysisValue(100 * duration->sum / whole_ns) : AnalysisValue()};
    std::vector<std::string> unhealthy;
    std::vector<std::string> warnings;
    for (const Quantity quantity : kHeadline) {
      const auto spread = reports_.SpreadOf(kernel, quantity);
      row.push_back(spread ? NumberOrNull(spread->mean) : AnalysisValue());
      const QuantityWords& words = WordsOf(quantity);
      if (spread && !IsHealthy(words, spread->mean)) unhealthy.emplace_back(words.label);
      for (std::string& doubt : reports_.DoubtsOf(kernel, quantity)) warnings.push_back(std::move(doubt));
    }
    const auto of_duration = [&duration](double ReportSpread::*number) {
      return duration ? AnalysisValue((*duration).*number) : AnalysisValue();
    };
    for (AnalysisValue& value : std::vector<AnalysisValue>{
             JsonOfTexts(unhealthy), SizesOf(first.grid), SizesOf(first.block), of_duration(&ReportSpread::min),
             of_duration(&ReportSpread::p50), of_duration(&ReportSpread::max), ValueOf(first.device),
             kernel.device_name.empty() ? AnalysisValue() : AnalysisValue(kernel.device_name),
             kernel.function.empty() ? AnalysisValue() : AnalysisValue(kernel.function), JsonOfTexts(warnings),
             of_duration(&ReportSpread::p25), of_duration(&ReportSpread::p75), of_duration(&ReportSpread::p95),
             of_duration(&ReportSpread::p99),
             duration && duration->std ? AnalysisValue(*duration->std) : AnalysisValue()}) {
      row.push_back(std::move(value));
    }
    return answer_.AddRow(kKernelRows, std::move(row));
  }

  Status AddMetrics(const ReportKernel& kernel) {
    for (const std::string& metric : reports_.metrics()) {
      const auto spread = reports_.SpreadOf(kernel, metric);
      if (!spread) continue;
      const auto known = by_name_.find(metric);
      const QuantityWords* const words = known == by_name_.end() ? nullptr : known->second;
      const auto text = [](const char* of) { return *of == '\0' ? AnalysisValue() : AnalysisValue(std::string(of)); };
      const std::string& unit = reports_.UnitOf(metric);
      const bool has_range = words != nullptr && *words->healthy != '\0';
      const bool is_healthy = has_range && IsHealthy(*words, spread->mean);
      RETURN_IF_ERROR(answer_.AddRow(
          kMetricRows, {kernel.run,
                        ValueOf(kernel.rank),
                        kernel.name,
                        metric,
                        NumberOrNull(spread->mean),
                        unit.empty() && words != nullptr ? text(words->unit) : text(unit.c_str()),
                        words != nullptr ? AnalysisValue(std::string(LabelOf(*words, metric))) : AnalysisValue(),
                        words != nullptr ? text(words->section) : AnalysisValue(),
                        has_range ? text(words->healthy) : AnalysisValue(),
                        has_range ? AnalysisValue(static_cast<int64_t>(is_healthy)) : AnalysisValue(),
                        has_range && !is_healthy ? text(words->issue) : AnalysisValue(),
                        has_range && !is_healthy ? text(words->hint) : AnalysisValue(),
                        NumberOrNull(spread->min),
                        NumberOrNull(spread->p50),
                        NumberOrNull(spread->max),
                        spread->launches,
                        NumberOrNull(spread->p25),
                        NumberOrNull(spread->p75),
                        NumberOrNull(spread->p95),
                        NumberOrNull(spread->p99),
                        spread->std ? NumberOrNull(*spread->std) : AnalysisValue()}));
    }
    return OkStatus();
  }

  Status AddLaunches(const ReportKernel& kernel) {
    for (const size_t place : kernel.launches) {
      const ReportLaunch& launch = reports_.launches()[place];
      for (const std::string& metric : reports_.metrics()) {
        const auto value = reports_.Raw(place, metric);
        if (!value) continue;
        const std::string& unit = reports_.UnitOf(metric);
        RETURN_IF_ERROR(answer_.AddRow(
            kLaunchRows, {kernel.run, ValueOf(kernel.rank), launch.number, kernel.name, metric, *value,
                          unit.empty() ? AnalysisValue() : AnalysisValue(unit), SizesOf(launch.grid),
                          SizesOf(launch.block), ValueOf(launch.device), ValueOf(launch.stream),
                          launch.range == 0 ? AnalysisValue() : AnalysisValue(reports_.ranges()[launch.range])}));
      }
    }
    return OkStatus();
  }

  const AnalysisTraces& traces_;
  const KernelReports& reports_;
  const StopSignal& stop_;
  AnalysisAnswer answer_;
  std::map<std::string_view, const QuantityWords*, std::less<>> by_name_;
};

Result<AnalysisAnswer> AnswerKernels(const AnalysisTraces& traces, const AnalysisOptions& options,
                                     const StopSignal& stop) {
  KernelReports::Wanted wanted = KernelReports::WantedOf(options);
  wanted.metric = options.text("metric");
  ASSIGN_OR_RETURN(const KernelReports reports, KernelReports::Read(traces, wanted, stop));
  RETURN_IF_ERROR(reports.CheckSome());
  return KernelsMaker(traces, reports, stop).Make(options.boolean("per-launch"));
}

}  // namespace

AnalysisKind Kernels() {
  using enum AnalysisType;
  return {.name = "kernels",
          .version = 1,
          .question = "What did the profiler measure of each kernel, and which numbers are not healthy?",
          .options = {kReportScope, kKernelsOptions},
          .tables = {{"kernels",
                      {{"run", kText, "", "The run", true},
                       {"rank", kInteger, "", "The rank; null where nobody knows it"},
                       {"name", kText, "", "The kernel"},
                       {"launches", kInteger, "", "That were measured"},
                       {"duration_ns", kReal, "ns", "Of a launch, on average"},
                       {"total_ns", kReal, "ns", "Of all launches"},
                       {"percent", kReal, "percent", "total_ns of that of all measured kernels"},
                       {"tensor_percent", kReal, "percent", "Tensor pipe active; healthy above 60"},
                       {"dram_percent", kReal, "percent", "DRAM throughput; healthy above 70"},
                       {"occupancy_percent", kReal, "percent", "Achieved occupancy; healthy above 25"},
                       {"l2_hit_percent", kReal, "percent", "Healthy above 80"},
                       {"waves_per_sm", kReal, "", "Healthy above 1"},
                       {"compute_sol_percent", kReal, "percent", "Compute throughput"},
                       {"memory_sol_percent", kReal, "percent", "Throughput of the busiest memory unit"},
                       {"l1_percent", kReal, "percent", "L1 throughput"},
                       {"l2_percent", kReal, "percent", "L2 throughput"},
                       {"l1_hit_percent", kReal, "percent", "Sectors found in L1"},
                       {"theoretical_occupancy_percent", kReal, "percent", "That its resources allow"},
                       {"registers_per_thread", kReal, "", "As compiled"},
                       {"shared_memory_bytes", kReal, "bytes", "Of a block"},
                       {"local_bytes", kReal, "bytes", "Traffic of local memory in a launch; healthy: 0"},
                       {"local_loads", kReal, "", "Instructions in a launch"},
                       {"local_stores", kReal, "", "Instructions in a launch"},
                       {"blocks", kReal, "", "Of its grid"},
                       {"threads_per_block", kReal, "", "Of a block"},
                       {"sm_clock_hz", kReal, "hz", "While it was measured"},
                       {"unhealthy", kJson, "", "The numbers that are out of their range"},
                       {"grid", kText, "", "x,y,z of the first launch"},
                       {"block", kText, "", "x,y,z of the first launch"},
                       {"min_ns", kReal, "ns", "The shortest launch"},
                       {"p50_ns", kReal, "ns", "The median one"},
                       {"max_ns", kReal, "ns", "The longest one"},
                       {"device", kInteger, "", "Its number; of several the first"},
                       {"device_name", kText, "", "Its kind"},
                       {"function", kText, "", "The bare name"},
                       {"warnings", kJson, "", "What is missing or in doubt"},
                       {"p25_ns", kReal, "ns", "A quarter of the launches is not longer"},
                       {"p75_ns", kReal, "ns", "Three quarters are not longer"},
                       {"p95_ns", kReal, "ns", "95 % are not longer"},
                       {"p99_ns", kReal, "ns", "99 % are not longer"},
                       {"std_ns", kReal, "ns", "Sample standard deviation; null: of one launch"}}},
                     {"metrics",
                      {{"run", kText, "", "The run", true},
                       {"rank", kInteger, "", "The rank; null where nobody knows it"},
                       {"name", kText, "", "The kernel"},
                       {"metric", kText, "", "As the profiler calls it"},
                       {"value", kReal, "", "Of a launch on average; percentages and rates by time"},
                       {"unit", kText, "", "Of value"},
                       {"label", kText, "", "For people"},
                       {"section", kText, "", "Where it belongs"},
                       {"healthy", kText, "", "The range; null: there is none"},
                       {"is_healthy", kBoolean, "", "The value is in it"},
                       {"issue", kText, "", "What it means that it is not"},
                       {"hint", kText, "", "What to look at"},
                       {"min", kReal, "", "Of a launch"},
                       {"p50", kReal, "", "The median"},
                       {"max", kReal, "", "Of a launch"},
                       {"launches", kInteger, "", "That have it"},
                       {"p25", kReal, "", "A quarter of the launches has no more"},
                       {"p75", kReal, "", "Three quarters have no more"},
                       {"p95", kReal, "", "95 % have no more"},
                       {"p99", kReal, "", "99 % have no more"},
                       {"std", kReal, "", "Sample standard deviation; null: of one launch"}}},
                     {"launches",
                      {{"run", kText, "", "The run", true},
                       {"rank", kInteger, "", "The rank; null where nobody knows it"},
                       {"launch", kInteger, "", "Its number in the part"},
                       {"name", kText, "", "The kernel"},
                       {"metric", kText, "", "As the profiler calls it"},
                       {"value", kReal, "", "As it was recorded"},
                       {"unit", kText, "", "Of value"},
                       {"grid", kText, "", "x,y,z"},
                       {"block", kText, "", "x,y,z"},
                       {"device", kInteger, "", "The device"},
                       {"stream", kInteger, "", "The stream"},
                       {"range", kText, "", "The NVTX ranges around it"}}}},
          .answer = &AnswerKernels};
}

}  // namespace kprof
