// Reading of kernel reports: the side tables of each part become launches, kernels, and columns of numbers.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "daemon/analysis/functions/kernel_reports/kernel_reports.h"
#include "daemon/analysis/functions/kernel_reports/report_table_rows.h"
#include "storage/trace/format/report_tables.h"
#include "storage/trace/read/metric_table.h"

namespace kprof {
namespace {

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();
constexpr size_t kMostNamesLeftOut = 5;
constexpr int64_t kBytesOfLaunch = 200;
constexpr int64_t kBytesOfText = 96;

std::optional<int64_t> KnownNumber(int64_t value) {
  return value == kNoValue ? std::nullopt : std::optional(value);
}

}  // namespace

// Reads the tables of one part.
class KernelReports::PartLoader {
 public:
  PartLoader(KernelReports& to, size_t part, const StopSignal& stop)
      : to_(to), part_(part), reader_(*to.traces_->parts()[part].reader), stop_(stop) {}

  Status Load() {
    RETURN_IF_ERROR(LoadLaunches());
    RETURN_IF_ERROR(LoadNumbers());
    return LoadTexts();
  }

 private:
  static constexpr size_t kNotWanted = SIZE_MAX;
  static constexpr size_t kNotSeen = SIZE_MAX - 1;
  static constexpr int64_t kMostDirectNames = 1 << 16;
  static constexpr std::string_view kRange = "range";  // a kind of launches
  struct LaunchWords {
    int64_t kernel = kNoValue;
    int64_t function = kNoValue;
    int64_t kind = kNoValue;
    int64_t device_name = kNoValue;
    int64_t capability = kNoValue;
    int64_t range = kNoValue;  // of results of ranges alone
    bool operator<(const LaunchWords& other) const {
      return std::tie(kernel, function, kind, device_name, capability, range) <
             std::tie(other.kernel, other.function, other.kind, other.device_name, other.capability, other.range);
    }
  };

  Result<std::string> TextOf(int64_t number) {
    if (number == kNoValue) return std::string();
    return reader_.ReadString(number);
  }

  Result<bool> IsRange(int64_t kind) {
    const auto [known, is_new] = range_kinds_.try_emplace(kind, false);
    if (is_new) {
      ASSIGN_OR_RETURN(const std::string text, TextOf(kind));
      known->second = text == kRange;
    }
    return known->second;
  }

  // The place of the kernel that these words name; kNotWanted.
  Result<size_t> KernelOf(const LaunchWords& words) {
    const auto [known, is_new] = kernels_.try_emplace(words, kNotWanted);
    if (!is_new) return known->second;
    ReportKernel kernel{.run = to_.traces_->run(part_), .rank = to_.traces_->parts()[part_].rank};
    ASSIGN_OR_RETURN(kernel.name, TextOf(words.kernel));
    ASSIGN_OR_RETURN(kernel.function, TextOf(words.function));
    ASSIGN_OR_RETURN(const std::string range, TextOf(words.range));
    ASSIGN_OR_RETURN(kernel.is_range, IsRange(words.kind));
    ASSIGN_OR_RETURN(kernel.device_name, TextOf(words.device_name));
    ASSIGN_OR_RETURN(kernel.compute_capability, TextOf(words.capability));
    // A profiler calls all results of ranges alike.
    if (!range.empty()) kernel.name = std::string(kRange) + " " + range;
    if (!to_.wanted_.kernel.empty() && kernel.name.find(to_.wanted_.kernel) == kernel.name.npos) {
      if (to_.names_left_out_.size() < kMostNamesLeftOut) to_.names_left_out_.insert(kernel.name);
      return known->second;
    }
    std::string key = kernel.run + '\n' + (kernel.rank ? std::to_string(*kernel.rank) : "") + '\n' + kernel.device_name;
    key += '\n' + kernel.name;
    RETURN_IF_ERROR(to_.charge_->Grow(static_cast<int64_t>(key.size() + kernel.name.size()) + kBytesOfLaunch));
    const auto [same, is_first] = to_.kernel_places_.try_emplace(std::move(key), to_.kernels_.size());
    if (is_first) to_.kernels_.push_back(std::move(kernel));
    known->second = same->second;
    return known->second;
  }

  Result<size_t> AddLaunch(int64_t number, const LaunchWords& words, std::optional<int64_t> device) {
    ASSIGN_OR_RETURN(const size_t kernel, KernelOf(words));
    RETURN_IF_ERROR(to_.charge_->Grow(kBytesOfLaunch));
    if (kernel == kNotWanted || (to_.wanted_.device && device != to_.wanted_.device)) {
      ++to_.left_out_;
      launches_[number] = kNotWanted;
      return kNotWanted;
    }
    const size_t place = to_.launches_.size();
    launches_[number] = place;
    to_.numbers_[{part_, number}] = place;
    to_.launches_.push_back({.part = part_, .number = number, .kernel = kernel, .device = device});
    to_.kernels_[kernel].launches.push_back(place);
    return place;
  }

  Status LoadLaunches() {
    const StoredSideTable* const table = FindReportTable(reader_, LaunchSideTable());
    if (table == nullptr) return OkStatus();
    for (const SideSegment& segment : table->segments) {
      RETURN_IF_ERROR(StillWanted(stop_));
      std::vector<DecodedColumn> columns(table->table.columns.size());
      for (size_t i = 0; i < columns.size(); ++i) {
        ASSIGN_OR_RETURN(columns[i], reader_.ReadSide(segment, i));
      }
      for (size_t row = 0; row < segment.rows; ++row) {
        const auto at = [&](LaunchColumn column) { return (*columns[static_cast<size_t>(column)])[row]; };
        if (launches_.contains(at(LaunchColumn::kLaunch))) continue;
        LaunchWords words{at(LaunchColumn::kKernel), at(LaunchColumn::kFunction), at(LaunchColumn::kKind),
                          at(LaunchColumn::kDeviceName), at(LaunchColumn::kComputeCapability)};
        ASSIGN_OR_RETURN(const bool is_range, IsRange(words.kind));
        if (is_range) words.range = at(LaunchColumn::kRange);
        ASSIGN_OR_RETURN(const size_t place,
                         AddLaunch(at(LaunchColumn::kLaunch), words, KnownNumber(at(LaunchColumn::kDevice))));
        if (place == kNotWanted) continue;
        ReportLaunch& launch = to_.launches_[place];
        launch.stream = KnownNumber(at(LaunchColumn::kStream));
        launch.grid = {KnownNumber(at(LaunchColumn::kGridX)), KnownNumber(at(LaunchColumn::kGridY)),
                       KnownNumber(at(LaunchColumn::kGridZ))};
        launch.block = {KnownNumber(at(LaunchColumn::kBlockX)), KnownNumber(at(LaunchColumn::kBlockY)),
                        KnownNumber(at(LaunchColumn::kBlockZ))};
        ASSIGN_OR_RETURN(launch.range, RangeOf(at(LaunchColumn::kRange)));
      }
    }
    return OkStatus();
  }

  Result<size_t> RangeOf(int64_t number) {
    if (number == kNoValue) return size_t{0};
    const auto [known, is_new] = ranges_.try_emplace(number, 0);
    if (is_new) {
      ASSIGN_OR_RETURN(std::string range, reader_.ReadString(number));
      const auto same = std::find(to_.ranges_.begin(), to_.ranges_.end(), range);
      known->second = static_cast<size_t>(same - to_.ranges_.begin());
      RETURN_IF_ERROR(to_.charge_->Grow(static_cast<int64_t>(range.size()) + 64));
      if (same == to_.ranges_.end()) to_.ranges_.push_back(std::move(range));
    }
    return known->second;
  }

  // The launch of a row of numbers, whose kernel is named where no table of launches does; kNotWanted.
  Result<size_t> LaunchOf(int64_t number, int64_t kernel) {
    if (number == kNoValue || number < 0) return kNotWanted;
    const auto known = launches_.find(number);
    if (known != launches_.end()) return known->second;
    return AddLaunch(number, {.kernel = kernel}, std::nullopt);
  }

  Result<size_t> ColumnOf(int64_t name) {
    if (direct_.empty()) {
      const int64_t size = std::clamp<int64_t>(reader_.strings_end(), 0, kMostDirectNames);
      RETURN_IF_ERROR(to_.charge_->Grow(size * static_cast<int64_t>(sizeof(size_t))));
      direct_.assign(static_cast<size_t>(size), kNotSeen);
    }
    ASSIGN_OR_RETURN(const size_t place, PlaceOfColumn(name));
    if (static_cast<uint64_t>(name) < direct_.size()) direct_[static_cast<size_t>(name)] = place;
    return place;
  }

  Result<size_t> PlaceOfColumn(int64_t name) {
    const auto [known, is_new] = columns_.try_emplace(name, kNotWanted);
    if (!is_new || name == kNoValue) return known->second;
    ASSIGN_OR_RETURN(const std::string text, reader_.ReadString(name));
    const bool is_asked = !to_.wanted_.metric.empty() && text.find(to_.wanted_.metric) != text.npos;
    if (!is_asked && !IsReportMetric(text)) return known->second;
    const auto [place, is_first] = to_.places_.try_emplace(text, to_.metrics_.size());
    if (is_first) {
      to_.metrics_.push_back(text);
      to_.columns_.emplace_back();
    }
    known->second = place->second;
    return known->second;
  }

  Status LoadNumbers() {
    const StoredSideTable* const table = FindReportTable(reader_, MetricSideTable());
    if (table == nullptr) return OkStatus();
    for (const SideSegment& segment : table->segments) {
      RETURN_IF_ERROR(StillWanted(stop_));
      const auto read = [&](MetricColumn column) { return reader_.ReadSide(segment, static_cast<size_t>(column)); };
      // A table has up to fifty million rows: kernels and units are read only where a row asks for them.
      const auto read_first = [&](DecodedColumn& column, MetricColumn which) -> Status {
        if (column == nullptr) {
          ASSIGN_OR_RETURN(column, read(which));
        }
        return OkStatus();
      };
      DecodedColumn kernels;
      DecodedColumn units;
      ASSIGN_OR_RETURN(const DecodedColumn launches, read(MetricColumn::kLaunch));
      ASSIGN_OR_RETURN(const DecodedColumn names, read(MetricColumn::kName));
      ASSIGN_OR_RETURN(const DecodedColumn values, read(MetricColumn::kValue));
      int64_t number = kNoValue;
      size_t launch = kNotWanted;
      for (size_t row = 0; row < segment.rows; ++row) {
        if ((*launches)[row] != number) {
          number = (*launches)[row];
          if (!launches_.contains(number)) RETURN_IF_ERROR(read_first(kernels, MetricColumn::kKernel));
          ASSIGN_OR_RETURN(launch, LaunchOf(number, kernels == nullptr ? kNoValue : (*kernels)[row]));
        }
        if (launch == kNotWanted) continue;
        size_t place = FindColumn((*names)[row]);
        if (place == kNotSeen) {
          ASSIGN_OR_RETURN(place, ColumnOf((*names)[row]));
        }
        if (place == kNotWanted) continue;
        if (to_.columns_[place].values.empty()) {
          RETURN_IF_ERROR(read_first(units, MetricColumn::kUnit));
          RETURN_IF_ERROR(SetUnit(place, (*units)[row]));
        }
        RETURN_IF_ERROR(SetNumber(launch, place, std::bit_cast<double>((*values)[row])));
      }
    }
    return OkStatus();
  }

  // The place of a metric by the number of its name; kNotSeen: ask ColumnOf.
  size_t FindColumn(int64_t name) const {
    const auto at = static_cast<uint64_t>(name);
    return at < direct_.size() ? direct_[at] : kNotSeen;
  }

  Status SetUnit(size_t place, int64_t unit) {
    Column& column = to_.columns_[place];
    if (!column.unit.empty()) return OkStatus();
    ASSIGN_OR_RETURN(column.unit, TextOf(unit));
    return OkStatus();
  }

  // The first number of a metric counts: display names may stand for two.
  Status SetNumber(size_t launch, size_t place, double value) {
    Column& column = to_.columns_[place];
    if (column.values.size() <= launch) {
      RETURN_IF_ERROR(to_.charge_->Grow(static_cast<int64_t>((launch + 1 - column.values.size()) * sizeof(double))));
      column.values.resize(launch + 1, kNoNumber);
    }
    if (!std::isfinite(value)) {
      RETURN_IF_ERROR(to_.charge_->Grow(kBytesOfText));
      to_.texts_.try_emplace({launch, place}, "not a number");
    } else if (std::isnan(column.values[launch])) {
      column.values[launch] = value;
    }
    return OkStatus();
  }

  Status LoadTexts() {
    const StoredSideTable* const table = FindReportTable(reader_, TextMetricSideTable());
    if (table == nullptr) return OkStatus();
    for (const SideSegment& segment : table->segments) {
      RETURN_IF_ERROR(StillWanted(stop_));
      const auto read = [&](TextMetricColumn column) { return reader_.ReadSide(segment, static_cast<size_t>(column)); };
      ASSIGN_OR_RETURN(const DecodedColumn kernels, read(TextMetricColumn::kKernel));
      ASSIGN_OR_RETURN(const DecodedColumn launches, read(TextMetricColumn::kLaunch));
      ASSIGN_OR_RETURN(const DecodedColumn names, read(TextMetricColumn::kName));
      ASSIGN_OR_RETURN(const DecodedColumn texts, read(TextMetricColumn::kText));
      for (size_t row = 0; row < segment.rows; ++row) {
        ASSIGN_OR_RETURN(const size_t launch, LaunchOf((*launches)[row], (*kernels)[row]));
        if (launch == kNotWanted) continue;
        ASSIGN_OR_RETURN(const size_t place, ColumnOf((*names)[row]));
        if (place == kNotWanted) continue;
        ASSIGN_OR_RETURN(std::string text, TextOf((*texts)[row]));
        RETURN_IF_ERROR(to_.charge_->Grow(static_cast<int64_t>(text.size()) + kBytesOfText));
        to_.texts_.try_emplace({launch, place}, std::move(text));
      }
    }
    return OkStatus();
  }

  KernelReports& to_;
  const size_t part_;
  PartReader& reader_;
  const StopSignal& stop_;
  std::map<LaunchWords, size_t> kernels_;
  std::unordered_map<int64_t, bool> range_kinds_;  // by the numbers of kinds
  std::unordered_map<int64_t, size_t> launches_;   // by their numbers
  std::unordered_map<int64_t, size_t> columns_;    // by the numbers of names
  std::vector<size_t> direct_;                     // of columns_, those with small numbers; kNotSeen
  std::unordered_map<int64_t, size_t> ranges_;
};

Result<KernelReports> KernelReports::Read(const AnalysisTraces& traces, const Wanted& wanted, const StopSignal& stop) {
  KernelReports reports(traces, wanted);
  for (size_t part = 0; part < traces.parts().size(); ++part) {
    RETURN_IF_ERROR(StillWanted(stop));
    RETURN_IF_ERROR(PartLoader(reports, part, stop).Load());
  }
  reports.Sort();
  return reports;
}

}  // namespace kprof
