#include "daemon/analysis/functions/kernel_reports/kernel_reports.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>
#include <tuple>

#include "daemon/analysis/functions/kernel_reports/report_table_rows.h"
#include "storage/base/readable_text.h"
#include "storage/trace/format/neuron_device_tables.h"
#include "storage/trace/format/report_tables.h"
#include "storage/trace/read/metric_table.h"

namespace kprof {
namespace {

constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();
// Counters are read in several passes over a kernel, so a percentage may be a little above 100. Above this it is none.
constexpr double kMostPercent = 110;

std::string ShortNumber(double value) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.6g", value);
  return text;
}

// gpu__time_duration.sum is in ns; a source that does not know base units says its own.
double NsOfUnit(std::string_view unit) {
  if (unit == "us" || unit == "usecond") return 1e3;
  if (unit == "ms" || unit == "msecond") return 1e6;
  if (unit == "s" || unit == "second") return 1e9;
  return 1;
}

// Nothing: of one value alone.
std::optional<double> SampleDeviation(const std::vector<double>& values, double mean) {
  if (values.size() < 2) return std::nullopt;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

}  // namespace

KernelReports::KernelReports(const AnalysisTraces& traces, Wanted wanted)
    : traces_(&traces), wanted_(std::move(wanted)), charge_(std::make_unique<MemoryCharge>(traces.take_memory())) {}

KernelReports::Wanted KernelReports::WantedOf(const AnalysisOptions& options) {
  return {.kernel = options.text("kernel"), .device = options.integer("device")};
}

bool KernelReports::HasReport(const TracePart& part) {
  // A device profile has counters of one execution, and no launches of kernels.
  if (part.reader->TextFact(kNeuronProfileFact)) return false;
  const StoredSideTable* const launches = FindReportTable(*part.reader, LaunchSideTable());
  const StoredSideTable* const numbers = FindReportTable(*part.reader, MetricSideTable());
  return (launches != nullptr && launches->rows > 0) || (numbers != nullptr && numbers->rows > 0);
}

Status KernelReports::CheckSome() const {
  if (!launches_.empty() || left_out_ == 0) return OkStatus();
  if (!names_left_out_.empty()) {
    std::string names;
    for (const std::string& name : names_left_out_) names += (names.empty() ? "'" : "', '") + ReadableText(name);
    return Fail(ErrorCode::kUsage, "choose kernels", "no kernel has '" + ReadableText(wanted_.kernel) + "' in its name",
                "there are " + names + "'");
  }
  return Fail(ErrorCode::kUsage, "choose device " + std::to_string(wanted_.device.value_or(0)),
              "no launch of these reports ran on it",
              "leave it out: columns device and device_name name those there are");
}

void KernelReports::Sort() {
  for (size_t i = 0; i < launches_.size(); ++i) {
    const std::optional<ReportValue> found = Find(i, Quantity::kDuration);
    const bool is_known = found && found->value >= 0;
    durations_ns_.push_back(is_known ? found->value * NsOfUnit(UnitOf(found->metric)) : kAbsent);
  }
  std::vector<double> total_ns(kernels_.size(), 0);
  for (size_t i = 0; i < launches_.size(); ++i) total_ns[launches_[i].kernel] += DurationNs(i).value_or(0);
  std::vector<size_t> order(kernels_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::tie(total_ns[b], kernels_[a].run, kernels_[a].rank, kernels_[a].name, kernels_[a].device_name) <
           std::tie(total_ns[a], kernels_[b].run, kernels_[b].rank, kernels_[b].name, kernels_[b].device_name);
  });
  std::vector<ReportKernel> sorted;
  for (const size_t place : order) {
    if (kernels_[place].launches.empty()) continue;  // those of other devices
    for (const size_t launch : kernels_[place].launches) launches_[launch].kernel = sorted.size();
    sorted.push_back(std::move(kernels_[place]));
  }
  kernels_ = std::move(sorted);
}

const std::string& KernelReports::UnitOf(std::string_view metric) const {
  static const std::string kNone;
  const auto place = places_.find(metric);
  return place == places_.end() ? kNone : columns_[place->second].unit;
}

std::optional<size_t> KernelReports::FindLaunch(size_t part, int64_t number) const {
  const auto found = numbers_.find({part, number});
  return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<double> KernelReports::Raw(size_t launch, std::string_view metric) const {
  const auto place = places_.find(metric);
  if (place == places_.end()) return std::nullopt;
  const std::vector<double>& values = columns_[place->second].values;
  if (launch >= values.size() || std::isnan(values[launch])) return std::nullopt;
  return values[launch];
}

std::optional<double> KernelReports::Guarded(const Column& column, size_t launch, bool is_percent) {
  if (launch >= column.values.size()) return std::nullopt;
  return Plausible(column.values[launch], is_percent);
}

std::optional<double> KernelReports::Plausible(double value, bool is_percent) {
  if (!std::isfinite(value)) return std::nullopt;
  if (!is_percent) return value;
  if (value < 0 || value > kMostPercent) return std::nullopt;
  return std::min(value, 100.0);
}

std::optional<double> KernelReports::Find(size_t launch, std::string_view metric) const {
  const auto place = places_.find(metric);
  if (place == places_.end()) return std::nullopt;
  return Guarded(columns_[place->second], launch, IsPercentMetric(metric));
}

std::optional<ReportValue> KernelReports::Find(size_t launch, Quantity quantity) const {
  std::optional<ReportValue> found;
  for (const std::string_view name : WordsOf(quantity).names) {
    if (found && !AreTensorPeers(found->metric, name)) continue;
    const std::optional<double> value = Find(launch, name);
    if (value && (!found || *value > found->value)) found = ReportValue{*value, name};
  }
  return found;
}

std::optional<double> KernelReports::DurationNs(size_t launch) const {
  const double ns = durations_ns_[launch];
  return std::isnan(ns) ? std::nullopt : std::optional(ns);
}

std::optional<ReportSpread> KernelReports::SpreadBy(
    const ReportKernel& kernel, bool is_by_time,
    const std::function<std::optional<double>(size_t launch)>& value) const {
  std::vector<double> values;
  double weights = 0;
  double weighted = 0;
  ReportSpread spread;
  for (const size_t launch : kernel.launches) {
    const std::optional<double> of = value(launch);
    if (!of) continue;
    values.push_back(*of);
    spread.sum += *of;
    const double weight = DurationNs(launch).value_or(0);
    weights += weight;
    weighted += *of * weight;
  }
  if (values.empty()) return std::nullopt;
  // From above: what is sought next lies before what was found.
  size_t end = values.size();
  const auto percentile = [&values, &end](size_t percent) {
    const size_t at = (values.size() * percent + 99) / 100 - 1;
    if (at < end) {
      const auto first = values.begin();
      std::nth_element(first, first + static_cast<ptrdiff_t>(at), first + static_cast<ptrdiff_t>(end));
      end = at;
    }
    return values[at];
  };
  spread.p99 = percentile(99);
  spread.p95 = percentile(95);
  spread.p75 = percentile(75);
  spread.p50 = percentile(50);
  spread.p25 = percentile(25);
  spread.std = SampleDeviation(values, spread.sum / static_cast<double>(values.size()));
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  spread.min = *least;
  spread.max = *most;
  spread.launches = static_cast<int64_t>(values.size());
  // Launches without a time weigh alike.
  const bool has_weights = is_by_time && weights > 0;
  spread.mean = has_weights ? weighted / weights : spread.sum / static_cast<double>(values.size());
  return spread;
}

std::optional<ReportSpread> KernelReports::SpreadOf(const ReportKernel& kernel, std::string_view metric) const {
  std::optional<ReportSpread> spread =
      SpreadBy(kernel, IsMeanByTime(metric), [&](size_t launch) { return Find(launch, metric); });
  if (spread) spread->metric = metric;
  return spread;
}

std::optional<ReportSpread> KernelReports::SpreadOf(const ReportKernel& kernel, Quantity quantity) const {
  struct NamedColumn {
    std::string_view name;
    const Column* column = nullptr;
    bool is_percent = false;
  };
  std::vector<NamedColumn> there;
  for (const std::string_view name : WordsOf(quantity).names) {
    const auto place = places_.find(name);
    if (place != places_.end()) there.push_back({name, &columns_[place->second], IsPercentMetric(name)});
  }
  if (there.empty()) return std::nullopt;
  std::string_view metric;
  const bool is_by_time = IsMeanByTime(there.front().name);
  std::optional<ReportSpread> spread = SpreadBy(kernel, is_by_time, [&](size_t launch) -> std::optional<double> {
    std::string_view of;
    std::optional<double> found;
    for (const NamedColumn& one : there) {
      if (found && !AreTensorPeers(of, one.name)) continue;
      const std::optional<double> value = Guarded(*one.column, launch, one.is_percent);
      if (!value || (found && *value <= *found)) continue;
      found = value;
      of = one.name;
    }
    if (found && metric.empty()) metric = of;
    return found && quantity == Quantity::kDuration ? DurationNs(launch) : found;
  });
  if (spread) spread->metric = metric;
  return spread;
}

std::vector<std::string> KernelReports::DoubtsOf(const ReportKernel& kernel, Quantity quantity) const {
  std::vector<std::string> doubts;
  const QuantityWords& words = WordsOf(quantity);
  const auto say = [&](int64_t launches, std::string_view metric, const std::string& what) {
    if (launches == 0) return;
    doubts.push_back(std::string(metric) + ": " + what + " in " + std::to_string(launches) + " of " +
                     std::to_string(kernel.launches.size()) + (kernel.launches.size() == 1 ? " launch" : " launches"));
  };
  for (const std::string_view name : words.names) {
    const auto place = places_.find(name);
    if (place == places_.end()) continue;
    int64_t none = 0, texts = 0, cut = 0, impossible = 0;
    double most = 0;
    double wrong = 0;
    std::string text;
    for (const size_t launch : kernel.launches) {
      const auto as_text = texts_.find({launch, place->second});
      const std::optional<double> value = Raw(launch, name);
      if (!value && as_text != texts_.end()) {
        ++texts;
        text = as_text->second.substr(0, 40);
      } else if (!value) {
        ++none;
      } else if (IsPercentMetric(name) && (*value < 0 || *value > kMostPercent)) {
        ++impossible;
        wrong = *value;
      } else if (IsPercentMetric(name) && *value > 100) {
        ++cut;
        most = std::max(most, *value);
      }
    }
    const bool has_some = none < static_cast<int64_t>(kernel.launches.size());
    if (has_some) say(none, name, "no number");
    say(texts, name, "the text '" + ReadableText(text) + "' in place of a number");
    say(impossible, name, ShortNumber(wrong) + " is no percentage, left out");
    say(cut, name, "up to " + ShortNumber(most) + ", taken as 100,");
    if (has_some) break;
  }
  return doubts;
}

}  // namespace kprof
