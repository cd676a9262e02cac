#include "daemon/analysis/functions/kernel_reports/measured_metrics.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "daemon/analysis/functions/kernel_reports/report_quantities.h"
#include "daemon/analysis/functions/kernel_reports/report_table_rows.h"
#include "storage/base/readable_text.h"
#include "storage/trace/format/report_tables.h"
#include "storage/trace/read/metric_table.h"

namespace kprof {
namespace {

constexpr size_t kMostMeasuredText = 200;  // bytes of a value

}  // namespace

// Reads the tables of one part.
class MeasuredMetrics::PartLoader {
 public:
  PartLoader(MeasuredMetrics& to, const AnalysisTraces& traces, const KernelReports& reports, size_t part,
             const StopSignal& stop)
      : to_(to), reports_(reports), part_(part), reader_(*traces.parts()[part].reader), stop_(stop) {}

  Status Load() {
    RETURN_IF_ERROR(LoadMeasured());
    for (auto& [key, sum] : sums_) {
      if (sum.metric == nullptr || sum.values == 0) continue;
      MeasuredMetric& metric = *At(sum);
      // Parts of one run may have the same kernel: their means weigh by launches.
      const double mean = sum.weights > 0 ? sum.weighted / sum.weights : sum.sum / static_cast<double>(sum.values);
      const auto before = static_cast<double>(metric.launches - sum.values);
      metric.mean =
          (metric.mean * before + mean * static_cast<double>(sum.values)) / static_cast<double>(metric.launches);
    }
    return LoadTexts();
  }

 private:
  // The sum for a kernel and the number of a metric's name.
  struct Sum {
    Kernel* metric = nullptr;  // whose metric it is; null: it is left out
    size_t place = 0;
    bool is_percent = false;
    bool is_by_time = false;
    size_t last_launch = SIZE_MAX;
    int64_t values = 0;
    double sum = 0;
    double weighted = 0;
    double weights = 0;
  };
  static MeasuredMetric* At(const Sum& sum) { return &sum.metric->metrics[sum.place]; }

  Result<Sum*> SumOf(size_t kernel, int64_t name) {
    const auto wanted = to_.kernels_.find(kernel);
    if (wanted == to_.kernels_.end() || name == kNoValue) return nullptr;
    const uint64_t key = static_cast<uint64_t>(kernel) << 40 ^ static_cast<uint64_t>(name);
    const auto [known, is_new] = sums_.try_emplace(key);
    Sum& sum = known->second;
    if (!is_new) return sum.metric == nullptr ? nullptr : &sum;
    RETURN_IF_ERROR(to_.charge_->Grow(sizeof(Sum) + 32));
    ASSIGN_OR_RETURN(std::string text, reader_.ReadString(name));
    Kernel& of = wanted->second;
    if (of.metrics.size() >= kMostMetrics && !of.places.contains(text)) {
      of.is_cut = true;
      return nullptr;
    }
    sum.metric = &of;
    sum.is_percent = IsPercentMetric(text);
    sum.is_by_time = IsMeanByTime(text);
    const auto [place, is_first] = of.places.try_emplace(text, of.metrics.size());
    sum.place = place->second;
    if (is_first) {
      RETURN_IF_ERROR(to_.charge_->Grow(static_cast<int64_t>(sizeof(MeasuredMetric) + 2 * text.size() + 64)));
      of.metrics.push_back({.name = std::move(text)});
    }
    return &sum;
  }

  Status LoadMeasured() {
    using enum MetricColumn;
    return ForEachReportRow(
        reader_, MetricSideTable(), {kLaunch, kName, kValue, kUnit}, stop_, [&](const auto& row) -> Status {
          const std::optional<size_t> launch = WantedLaunch(row[kLaunch]);
          if (!launch) return OkStatus();
          ASSIGN_OR_RETURN(Sum* const sum, SumOf(reports_.launches()[*launch].kernel, row[kName]));
          if (sum == nullptr || sum->last_launch == *launch) return OkStatus();
          const std::optional<double> value = KernelReports::Plausible(row.real(kValue), sum->is_percent);
          if (!value) return OkStatus();
          sum->last_launch = *launch;
          return Add(*sum, *value, row[kUnit]);
        });
  }

  Status Add(Sum& sum, double value, int64_t unit) {
    MeasuredMetric& metric = *At(sum);
    if (metric.launches == 0) {
      ASSIGN_OR_RETURN(metric.unit, ReadTableText(reader_, unit));
      metric.min = metric.max = value;
    }
    metric.min = std::min(metric.min, value);
    metric.max = std::max(metric.max, value);
    ++metric.launches;
    ++sum.values;
    sum.sum += value;
    if (!sum.is_by_time) return OkStatus();
    sum.weighted += value * last_ns_;
    sum.weights += last_ns_;
    return OkStatus();
  }

  Status LoadTexts() {
    using enum TextMetricColumn;
    return ForEachReportRow(reader_, TextMetricSideTable(), {kLaunch, kName, kText}, stop_,
                            [&](const auto& row) -> Status {
                              const std::optional<size_t> launch = WantedLaunch(row[kLaunch]);
                              if (!launch) return OkStatus();
                              ASSIGN_OR_RETURN(Sum* const sum, SumOf(reports_.launches()[*launch].kernel, row[kName]));
                              if (sum == nullptr || At(*sum)->texts.size() >= kMostTexts) return OkStatus();
                              ASSIGN_OR_RETURN(std::string text, ReadTableText(reader_, row[kText]));
                              text = ClippedText(text, kMostMeasuredText);
                              std::vector<std::string>& texts = At(*sum)->texts;
                              if (std::find(texts.begin(), texts.end(), text) != texts.end()) return OkStatus();
                              RETURN_IF_ERROR(to_.charge_->Grow(static_cast<int64_t>(text.size()) + 32));
                              texts.push_back(std::move(text));
                              return OkStatus();
                            });
  }

  // The launch of that number, where its kernel is one of those that are asked for. Rows of a launch stand together.
  std::optional<size_t> WantedLaunch(int64_t number) {
    if (number != last_number_) {
      last_number_ = number;
      last_place_ = reports_.FindLaunch(part_, number);
      if (last_place_ && !to_.kernels_.contains(reports_.launches()[*last_place_].kernel)) last_place_.reset();
      last_ns_ = last_place_ ? reports_.DurationNs(*last_place_).value_or(0) : 0;
    }
    return last_place_;
  }

  MeasuredMetrics& to_;
  const KernelReports& reports_;
  const size_t part_;
  PartReader& reader_;
  const StopSignal& stop_;
  std::unordered_map<uint64_t, Sum> sums_;
  int64_t last_number_ = kNoValue;
  std::optional<size_t> last_place_;
  double last_ns_ = 0;
};

Result<MeasuredMetrics> MeasuredMetrics::Read(const AnalysisTraces& traces, const KernelReports& reports,
                                              const std::set<size_t>& kernels, const StopSignal& stop) {
  MeasuredMetrics metrics(traces);
  for (const size_t kernel : kernels) metrics.kernels_.try_emplace(kernel);
  for (size_t part = 0; part < traces.parts().size(); ++part) {
    RETURN_IF_ERROR(PartLoader(metrics, traces, reports, part, stop).Load());
  }
  return metrics;
}

const std::vector<MeasuredMetric>& MeasuredMetrics::Of(size_t kernel) const {
  static const std::vector<MeasuredMetric> kNone;
  const auto found = kernels_.find(kernel);
  return found == kernels_.end() ? kNone : found->second.metrics;
}

const MeasuredMetric* MeasuredMetrics::Find(size_t kernel, std::string_view name) const {
  const auto found = kernels_.find(kernel);
  if (found == kernels_.end()) return nullptr;
  const auto place = found->second.places.find(name);
  return place == found->second.places.end() ? nullptr : &found->second.metrics[place->second];
}

bool MeasuredMetrics::is_cut(size_t kernel) const {
  const auto found = kernels_.find(kernel);
  return found != kernels_.end() && found->second.is_cut;
}

}  // namespace kprof
