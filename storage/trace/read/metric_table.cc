#include "storage/trace/read/metric_table.h"

#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

namespace kprof {
namespace {

// Metrics beyond the bounds are told apart up to here.
constexpr size_t kMostCountedLeftOut = 1 << 16;

// What is known of a metric of a kernel while rows are read.
struct MetricSum {
  size_t place = 0;  // among the metrics kept
  double sum = 0;
  int64_t values = 0;
};

class KernelMetricSums {
 public:
  KernelMetricSums(PartReader& part, const KernelMetricBounds& bounds) : part_(part), bounds_(bounds) {}

  Status Add(int64_t kernel, int64_t name, int64_t unit, int64_t value) {
    ++all_.rows;
    const auto found = sums_.find({kernel, name, unit});
    if (found != sums_.end()) {
      Count(found->second, value);
      return OkStatus();
    }
    if (kernel == kNoValue || name == kNoValue) return OkStatus();
    const uint64_t left_out = static_cast<uint64_t>(kernel) << 32 ^ static_cast<uint64_t>(name);
    if (left_out_.contains(left_out)) return OkStatus();
    ASSIGN_OR_RETURN(const bool is_kept, Keep(kernel, name, unit));
    if (is_kept) {
      Count(sums_.at({kernel, name, unit}), value);
    } else if (left_out_.size() < kMostCountedLeftOut) {
      left_out_.insert(left_out);
    }
    return OkStatus();
  }

  KernelMetrics Take() {
    for (const auto& [key, sum] : sums_) {
      KernelMetric& metric = all_.metrics[sum.place];
      metric.mean =
          sum.values > 0 ? sum.sum / static_cast<double>(sum.values) : std::numeric_limits<double>::quiet_NaN();
    }
    all_.left_out = static_cast<int64_t>(left_out_.size());
    return std::move(all_);
  }

 private:
  void Count(MetricSum& sum, int64_t value) {
    ++all_.metrics[sum.place].launches;
    const auto real = std::bit_cast<double>(value);
    if (std::isnan(real)) return;
    sum.sum += real;
    ++sum.values;
  }

  Result<bool> Keep(int64_t kernel, int64_t name, int64_t unit) {
    const auto names = names_.find(kernel);
    if (names == names_.end() && names_.size() >= bounds_.most_kernels) return false;
    if (names != names_.end() && names->second >= bounds_.most_names) return false;
    KernelMetric metric;
    ASSIGN_OR_RETURN(metric.kernel, part_.ReadString(kernel));
    ASSIGN_OR_RETURN(metric.name, part_.ReadString(name));
    if (unit != kNoValue) {
      ASSIGN_OR_RETURN(metric.unit, part_.ReadString(unit));
    }
    if (metric.kernel.empty() || metric.name.empty() || metric.kernel.size() > bounds_.most_text_bytes ||
        metric.name.size() > bounds_.most_text_bytes || metric.unit.size() > bounds_.most_text_bytes) {
      return false;
    }
    ++names_[kernel];
    sums_[{kernel, name, unit}].place = all_.metrics.size();
    all_.metrics.push_back(std::move(metric));
    return true;
  }

  PartReader& part_;
  const KernelMetricBounds bounds_;
  KernelMetrics all_;
  std::map<std::tuple<int64_t, int64_t, int64_t>, MetricSum> sums_;  // by the numbers of kernel, name, unit
  std::unordered_map<int64_t, size_t> names_;                        // of each kernel, how many metrics are kept
  std::unordered_set<uint64_t> left_out_;
};

}  // namespace

const SideTable& MetricSideTable() {
  static const SideTable kTable{.name = "metric",
                                .columns = {{"kernel", SideType::kText, ""},
                                            {"launch", SideType::kInteger, ""},
                                            {"name", SideType::kText, ""},
                                            {"value", SideType::kReal, ""},
                                            {"unit", SideType::kText, ""}}};
  return kTable;
}

Result<KernelMetrics> SumKernelMetrics(PartReader& part, const KernelMetricBounds& bounds) {
  const StoredSideTable* table = part.FindSideTable(MetricSideTable().name);
  if (table == nullptr || table->table != MetricSideTable()) return KernelMetrics();
  KernelMetricSums sums(part, bounds);
  for (const SideSegment& segment : table->segments) {
    const auto read = [&](MetricColumn column) { return part.ReadSide(segment, static_cast<size_t>(column)); };
    ASSIGN_OR_RETURN(const DecodedColumn kernels, read(MetricColumn::kKernel));
    ASSIGN_OR_RETURN(const DecodedColumn names, read(MetricColumn::kName));
    ASSIGN_OR_RETURN(const DecodedColumn values, read(MetricColumn::kValue));
    ASSIGN_OR_RETURN(const DecodedColumn units, read(MetricColumn::kUnit));
    for (size_t row = 0; row < segment.rows; ++row) {
      RETURN_IF_ERROR(sums.Add((*kernels)[row], (*names)[row], (*units)[row], (*values)[row]));
    }
  }
  return sums.Take();
}

}  // namespace kprof
