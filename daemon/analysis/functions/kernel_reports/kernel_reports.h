// Launches as reports of kernel profilers have them, from the parts' side tables `metric`, `kernel_launch` and
// `kernel_text`: every launch with its numbers, and kernels with the spread of theirs. A kernel is one name, on one
// kind of device, of one rank of a run: its launches are added up, and none stands for the others.
//
// Percentages and rates of a kernel are weighted by the time of its launches. A number that cannot be (a text, NaN, a
// percentage above 100) is left out, or cut, and said so.
//
// One thread, that of the readers. Memory, which the traces' take_memory is asked for: eight bytes for each launch and
// metric that analyses use (report_quantities.h), and about 200 for each launch. Costs a pass over the tables.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/kernel_reports/report_quantities.h"
#include "storage/base/memory_charge.h"
#include "storage/base/status.h"

namespace kprof {

// These choose launches of kernel reports.
inline constexpr AnalysisOption kReportScope[] = {
    {"rank", AnalysisType::kInteger, "", "", "Only this rank", "", 0},
    {"device", AnalysisType::kInteger, "", "", "Only this device", "", 0},
    {"kernel", AnalysisType::kText, "", "", "Only kernels whose names have this text"},
    {"limit", AnalysisType::kInteger, "", "", "At most so many rows of each table", "", 1},
};

struct ReportLaunch {
  size_t part = 0;
  int64_t number = 0;  // of its part
  size_t kernel = 0;   // its place among kernels()
  std::optional<int64_t> device;
  std::optional<int64_t> stream;
  std::array<std::optional<int64_t>, 3> grid;
  std::array<std::optional<int64_t>, 3> block;
  size_t range = 0;  // its place among ranges()
};

// The launches of one kernel.
struct ReportKernel {
  std::string run;
  std::optional<int64_t> rank;
  std::string name;
  std::string function;            // the bare name; empty: not told
  std::string device_name;         // empty: not told
  std::string compute_capability;  // "9.0"; empty: not told
  bool is_range = false;           // launches that were measured together; each NVTX range is one: "range prefill"
  std::vector<size_t> launches;    // in recorded order
};

// Numbers of the launches of a kernel that have one.
struct ReportSpread {
  double mean = 0;  // by time where IsMeanByTime
  double sum = 0;
  double min = 0;
  double p50 = 0;
  double max = 0;
  // The percentile p of n numbers is the least of them that at least p % of them do not exceed.
  double p25 = 0;
  double p75 = 0;
  double p95 = 0;
  double p99 = 0;
  std::optional<double> std;  // of a sample; nothing: one launch alone
  int64_t launches = 0;
  std::string_view metric;  // the one that gave it; of several, that of the first launch
};

// A number of a launch, and the metric that gave it.
struct ReportValue {
  double value = 0;
  std::string_view metric;
};

class KernelReports {
 public:
  struct Wanted {
    std::string kernel;  // a text in the names; empty: all
    std::string metric;  // keeps metrics with this text in their names, too; empty: those of IsReportMetric alone
    std::optional<int64_t> device;
  };
  // Takes `kernel` and `device` of the options.
  static Wanted WantedOf(const AnalysisOptions& options);

  // Reads all parts of `traces`. A part without the tables has no launches. Fails as reading does. `traces` must
  // outlive it.
  static Result<KernelReports> Read(const AnalysisTraces& traces, const Wanted& wanted, const StopSignal& stop);
  // True if the part has launches, or numbers of them.
  static bool HasReport(const TracePart& part);
  // Fails with kUsage where reports have launches, and none of them is wanted; the remedy names some that there are.
  Status CheckSome() const;

  const std::vector<ReportLaunch>& launches() const { return launches_; }
  // The longest in all first.
  const std::vector<ReportKernel>& kernels() const { return kernels_; }
  // Texts of ranges, the outermost first, with '/' between. The first is empty: no range.
  const std::vector<std::string>& ranges() const { return ranges_; }
  // Names of the metrics that are kept, in the order in which they came.
  const std::vector<std::string>& metrics() const { return metrics_; }
  // As the report has it; empty: none.
  const std::string& UnitOf(std::string_view metric) const;

  // The place of a part's launch; nothing: it is not wanted, or not there.
  std::optional<size_t> FindLaunch(size_t part, int64_t number) const;

  // Nothing for a number that is none, or a percentage that cannot be; one that is a little above 100 is 100.
  static std::optional<double> Plausible(double value, bool is_percent);
  // The number as it was recorded.
  std::optional<double> Raw(size_t launch, std::string_view metric) const;
  // The same, where it is Plausible.
  std::optional<double> Find(size_t launch, std::string_view metric) const;
  std::optional<ReportValue> Find(size_t launch, Quantity quantity) const;
  std::optional<double> DurationNs(size_t launch) const;

  // Nothing: no launch of the kernel has it.
  std::optional<ReportSpread> SpreadOf(const ReportKernel& kernel, std::string_view metric) const;
  std::optional<ReportSpread> SpreadOf(const ReportKernel& kernel, Quantity quantity) const;
  // The same of numbers that `value` works out of a launch's place.
  std::optional<ReportSpread> SpreadBy(const ReportKernel& kernel, bool is_by_time,
                                       const std::function<std::optional<double>(size_t launch)>& value) const;

  // Why numbers of a kernel's metric are not all there, or not as they were recorded: one sentence for each reason.
  std::vector<std::string> DoubtsOf(const ReportKernel& kernel, Quantity quantity) const;

 private:
  class PartLoader;
  struct Column {
    std::string unit;
    std::vector<double> values;  // by launch; NaN, or not there: none
  };

  KernelReports(const AnalysisTraces& traces, Wanted wanted);
  void Sort();
  // The number in a column, guarded as Find does.
  static std::optional<double> Guarded(const Column& column, size_t launch, bool is_percent);

  const AnalysisTraces* traces_;
  Wanted wanted_;
  std::unique_ptr<MemoryCharge> charge_;
  std::vector<ReportLaunch> launches_;
  std::vector<ReportKernel> kernels_;
  std::vector<std::string> ranges_{""};
  std::vector<std::string> metrics_;
  std::vector<Column> columns_;                             // one for each of the metrics
  std::vector<double> durations_ns_;                        // of launches; NaN: not known
  std::map<std::string, size_t, std::less<>> places_;       // of metrics
  std::map<std::string, size_t> kernel_places_;             // by all that tells kernels apart
  std::map<std::pair<size_t, size_t>, std::string> texts_;  // by launch and metric: a value that is no number
  std::map<std::pair<size_t, int64_t>, size_t> numbers_;    // places of launches, by part and number
  int64_t left_out_ = 0;                                    // launches that are not wanted
  std::set<std::string> names_left_out_;                    // some of their kernels
};

}  // namespace kprof
