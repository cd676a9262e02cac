#include "daemon/ingest/ncu/ncu_csv_reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "daemon/ingest/ncu/csv_columns.h"
#include "daemon/ingest/ncu/csv_records.h"
#include "daemon/ingest/ncu/metric_units.h"
#include "daemon/ingest/ncu/printed_numbers.h"
#include "daemon/ingest/ncu/report_rows.h"
#include "daemon/ingest/ncu/section_names.h"

namespace kprof {
namespace {

constexpr const char* kReadAsNcuCsv = "read it as CSV of Nsight Compute";
constexpr const char* kWriteCsvAgain =
    "have ncu write it: ncu --import REPORT --page raw --csv, or ncu --csv --log-file FILE ...";
constexpr int64_t kSurveyedBytes = 8 << 20;  // of which the numbers tell how they are written
constexpr size_t kMostCsvColumns = 65'536;
constexpr int64_t kMostCsvLaunches = 1 << 22;
constexpr size_t kMostShownMetrics = 65'536;  // kept at once
constexpr int64_t kRowsPerLook = 1024;
constexpr size_t kToldBytes = 200;           // of what ncu says
constexpr std::string_view kLogMark = "==";  // begins a line of ncu's own

std::optional<int64_t> WholeOf(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

// "(256, 1, 1)": numbers with a comma and a space between.
std::array<std::optional<int64_t>, 3> SizesOf(std::string_view text) {
  std::array<std::optional<int64_t>, 3> sizes;
  const std::string_view mark = text.find(", ") == text.npos ? "," : ", ";
  for (std::optional<int64_t>& size : sizes) {
    const size_t end = std::min(text.find(mark), text.size());
    std::string digits(text.substr(0, end));
    std::erase_if(digits, [](char c) { return c < '0' || c > '9'; });
    size = WholeOf(digits);
    text.remove_prefix(std::min(end + mark.size(), text.size()));
  }
  return sizes;
}

class NcuCsvReading {
 public:
  NcuCsvReading(TextSource& text, BatchSink& sink, size_t most_row_bytes)
      : text_(text), rows_(sink), most_row_bytes_(most_row_bytes) {}

  Status Read() {
    RETURN_IF_ERROR(SurveyNumbers());
    CsvRecords records(text_, most_row_bytes_, false);
    int64_t lines = 0;
    while (true) {
      ASSIGN_OR_RETURN(const bool has_line, records.NextLine());
      if (!has_line) break;
      RETURN_IF_ERROR(ReadLine(records));
      RETURN_IF_ERROR(rows_.GiveFull());
      if (++lines % kRowsPerLook == 0) RETURN_IF_ERROR(TellProgress(records.offset_bytes()));
    }
    return Finish(records.offset_bytes());
  }

 private:
  // Of the raw page.
  struct MetricColumn {
    size_t place = 0;
    uint32_t name_text = 0;
    uint32_t unit_text = 0;
    double factor = 1;
  };
  // A metric of the details page, under its section and label.
  struct ShownMetric {
    uint32_t name = 0;
    uint32_t unit = 0;
    double factor = 1;
    std::string_view section;
    std::string_view title;
    std::optional<int64_t> place;
    std::string metric;
    bool is_asked = false;
  };

  // How the numbers of the text are written: what most of those say that are written in one way alone.
  Status SurveyNumbers() {
    CsvRecords records(text_, most_row_bytes_, true);
    std::optional<char> delimiter;
    std::vector<bool> has_values;  // of each column: others (an address, 7.5 of the device) are alike in every locale
    int64_t points = 0;
    int64_t commas = 0;
    while (records.offset_bytes() < kSurveyedBytes) {
      ASSIGN_OR_RETURN(const bool has_line, records.NextLine());
      if (!has_line) break;
      const std::string_view line = records.line();
      if (const std::optional<char> found = DelimiterOfHead(line)) {
        delimiter = found;
        SplitRecord(WithoutMark(line), *found, fields_, unescaped_);
        has_values.clear();
        for (const std::string_view name : fields_) has_values.push_back(HasValues(name));
        continue;
      }
      if (!delimiter || line.starts_with(kLogMark)) continue;
      SplitRecord(line, *delimiter, fields_, unescaped_);
      for (size_t i = 0; i < fields_.size(); ++i) {
        if (i >= has_values.size() || !has_values[i]) continue;
        const std::optional<NumberStyle> style = StyleOfNumber(fields_[i]);
        if (style) ++(*style == NumberStyle::kPoint ? points : commas);
      }
    }
    style_ = commas > points ? NumberStyle::kComma : NumberStyle::kPoint;
    return OkStatus();
  }

  Status ReadLine(CsvRecords& records) {
    const std::string_view line = records.line();
    if (DelimiterOfHead(line)) return ReadHead(line);
    if (!has_head_ && IsHeadOfSummary(line)) {
      return Fail(ErrorCode::kBadInput, kReadAsNcuCsv, "it is a summary over launches, and has none of them",
                  "leave --print-summary out");
    }
    if (line.starts_with("==ERROR==") && told_error_.empty()) told_error_ = line.substr(0, kToldBytes);
    if (line.starts_with(kLogMark) || line.find_first_not_of(" \t") == line.npos) return OkStatus();
    if (!has_head_ || !BeginsCsvRow(line)) {
      if (has_head_) ++others_;
      return OkStatus();
    }
    ASSIGN_OR_RETURN(const bool is_closed, records.CloseQuotes(BeginsCsvRow));
    if (!is_closed) {
      ++broken_;
      return OkStatus();
    }
    SplitRecord(records.line(), columns_.delimiter, fields_, unescaped_);
    return columns_.is_raw ? ReadRawRow() : ReadDetailsRow();
  }

  Status ReadHead(std::string_view line) {
    const std::optional<char> delimiter = DelimiterOfHead(line);
    metric_columns_.clear();
    launches_.clear();  // numbers begin anew
    last_ = Last();
    SplitRecord(WithoutMark(line), *delimiter, fields_, unescaped_);
    if (fields_.size() > kMostCsvColumns) {
      return Fail(ErrorCode::kBadInput, kReadAsNcuCsv,
                  "its table has " + std::to_string(fields_.size()) + " columns, and at most " +
                      std::to_string(kMostCsvColumns) + " are read",
                  "ask ncu for fewer metrics");
    }
    columns_ = ReadCsvHead(fields_, *delimiter);
    for (size_t i = 0; i < fields_.size(); ++i) {
      if (fields_[i].empty() || !HasValues(fields_[i]) || fields_[i] == "Metric Value" ||
          fields_[i] == "Estimated Speedup")
        continue;
      MetricColumn column{.place = i};
      column.name_text = rows_.Text(fields_[i]);
      column.unit_text = rows_.Text(UnitOfMetric(fields_[i]));
      metric_columns_.push_back(column);
    }
    has_head_ = true;
    return OkStatus();
  }

  std::string_view Field(size_t place) const { return place < fields_.size() ? fields_[place] : std::string_view(); }

  // The row of units has no launch: a kernel may be called anything.
  bool IsRowOfUnits() const { return Field(columns_.id).empty() && Field(columns_.kernel).empty(); }

  void ReadUnits() {
    for (MetricColumn& column : metric_columns_) {
      const BaseUnit unit = BaseUnitOf(Field(column.place));
      column.unit_text = rows_.Text(unit.unit);
      column.factor = unit.factor;
    }
  }

  Status ReadRawRow() {
    if (IsRowOfUnits()) {
      ReadUnits();
      return OkStatus();
    }
    if (Field(columns_.kernel).empty()) {
      ++broken_;
      return OkStatus();
    }
    ASSIGN_OR_RETURN(const int64_t launch, AddLaunch(Field(columns_.device_name)));
    for (const MetricColumn& column : metric_columns_) {
      AddValue(launch, column.name_text, column.unit_text, column.factor, Field(column.place));
    }
    return OkStatus();
  }

  Status ReadDetailsRow() {
    if (Field(columns_.id).empty() || Field(columns_.kernel).empty() || fields_.size() <= columns_.value) {
      ++broken_;
      return OkStatus();
    }
    ASSIGN_OR_RETURN(const int64_t launch, LaunchOfRow());
    const std::string_view name = Field(columns_.metric);
    if (!name.empty()) ReadMetric(launch, name);
    if (!Field(columns_.rule).empty()) ReadRule(launch);
    if (name.empty() && Field(columns_.rule).empty()) ++broken_;
    return OkStatus();
  }

  void ReadMetric(int64_t launch, std::string_view label) {
    const ShownMetric& metric = MetricShownAs(Field(columns_.section), label, Field(columns_.unit));
    AddValue(launch, metric.name, metric.unit, metric.factor, Field(columns_.value));
    rows_.AddSection(launch, {.section = metric.section,
                              .title = metric.title,
                              .place = metric.place,
                              .metric = metric.metric,
                              .label = metric.is_asked ? std::string_view() : label});
  }

  const ShownMetric& MetricShownAs(std::string_view title, std::string_view label, std::string_view unit) {
    const auto key = std::tuple(std::string(title), std::string(label), std::string(unit));
    const auto found = shown_.find(key);
    if (found != shown_.end()) return found->second;
    if (shown_.size() >= kMostShownMetrics) shown_.clear();
    auto& [stored, metric] = *shown_.try_emplace(key).first;
    const BaseUnit base = BaseUnitOf(unit);
    const SectionName* section = FindSection(title);
    metric.is_asked = title == kAskedMetricsTitle;
    metric.title = section != nullptr ? section->title : std::string_view(std::get<0>(stored));
    metric.section = section != nullptr ? section->identifier : metric.title;
    if (section != nullptr) metric.place = section->place;
    metric.metric = FindMetricOfSection(metric.section, label, base.unit);
    if (metric.metric.empty()) metric.metric = label;
    metric.name = rows_.Text(metric.metric);
    metric.unit = rows_.Text(base.unit);
    metric.factor = base.factor;
    return metric;
  }

  void ReadRule(int64_t launch) {
    const std::string_view section = Field(columns_.section);
    const SectionName* known = FindSection(section);
    rows_.AddRule(launch, {.rule = Field(columns_.rule),
                           .section = known != nullptr ? known->identifier : section,
                           .type = Field(columns_.rule_type),
                           .message = Field(columns_.rule_text),
                           .speedup_type = Field(columns_.speedup_type),
                           .speedup_percent = ParsePrintedNumber(Field(columns_.speedup), style_)});
  }

  // A value may have those of its instances behind it: 6 (1; 2; 3), or (name: 1; other: 2).
  void AddValue(int64_t launch, uint32_t name, uint32_t unit, double factor, std::string_view printed) {
    if (const std::optional<double> number = ParsePrintedNumber(printed, style_)) {
      return rows_.AddMetric(launch, name, *number * factor, unit);
    }
    if (IsNoPrintedValue(printed)) return;
    const size_t open = printed.find(" (");
    const std::optional<double> total = open != printed.npos && printed.ends_with(')')
                                            ? ParsePrintedNumber(printed.substr(0, open), style_)
                                            : std::nullopt;
    if (!total) return rows_.AddText(launch, name, printed);
    rows_.AddMetric(launch, name, *total * factor, unit);
    std::string_view rest = printed.substr(open + 2, printed.size() - open - 3);
    for (double position = 0; !rest.empty(); ++position) {
      const size_t end = std::min(rest.find(';'), rest.size());
      std::string_view value = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      ReportedValue key{.number = position, .text = {}};
      const size_t colon = value.find_last_of(':');
      if (colon != value.npos) {
        key = {.number = std::nullopt, .text = value.substr(std::min(value.find_first_not_of(' '), colon))};
        key.text = key.text.substr(0, key.text.find_last_of(':'));
        value.remove_prefix(colon + 1);
      }
      const std::optional<double> number = ParsePrintedNumber(value, style_);
      if (number) rows_.AddInstance(launch, name, key, {.number = *number * factor, .text = {}});
    }
  }

  // Rows of a launch stand together; where they do not, it is found again.
  Result<int64_t> LaunchOfRow() {
    const std::string_view id = Field(columns_.id);
    const std::string_view process = Field(columns_.process_id);
    const std::string_view kernel = Field(columns_.kernel);
    if (last_.launch && last_.id == id && last_.process == process && last_.kernel == kernel) return *last_.launch;
    last_ = {std::string(id), std::string(process), std::string(kernel), std::nullopt};
    const auto [found, is_new] = launches_.try_emplace(std::tuple(last_.id, last_.process, rows_.Text(kernel)), 0);
    if (is_new) {
      ASSIGN_OR_RETURN(found->second, AddLaunch({}));
    }
    last_.launch = found->second;
    return found->second;
  }

  Result<int64_t> AddLaunch(std::string_view device_name) {
    if (rows_.launches() >= kMostCsvLaunches) {
      return Fail(ErrorCode::kBadInput, kReadAsNcuCsv,
                  "it has more than " + std::to_string(kMostCsvLaunches) + " launches", "split it");
    }
    const std::string_view kernel = Field(columns_.kernel);
    return rows_.AddLaunch({.kernel = kernel,
                            .function = BareKernelName(kernel),
                            .process_id = WholeOf(Field(columns_.process_id)),
                            .process = Field(columns_.process),
                            .device = WholeOf(Field(columns_.device)),
                            .device_name = device_name,
                            .compute_capability = Field(columns_.capability),
                            .context = WholeOf(Field(columns_.context)),
                            .stream = WholeOf(Field(columns_.stream)),
                            .grid = SizesOf(Field(columns_.grid)),
                            .block = SizesOf(Field(columns_.block)),
                            .unix_ns = std::nullopt});
  }

  Status TellProgress(int64_t offset_bytes) {
    return rows_.sink().Progress(text_.SourceBytesAt(offset_bytes), rows_.rows());
  }

  Status Finish(int64_t offset_bytes) {
    BatchSink& sink = rows_.sink();
    const std::optional<Status> cut = text_.WhyCut();
    if (rows_.launches() == 0) {
      if (cut) return cut->In(kReadAsNcuCsv);
      const std::string what = has_head_ ? "its table has no launch" : "it has no line that begins a table of ncu";
      const std::string told = told_error_.empty() ? "" : "; ncu says: " + told_error_;
      return Fail(ErrorCode::kBadInput, kReadAsNcuCsv, what + told, kWriteCsvAgain);
    }
    if (cut) sink.Warn("it cannot be read to its end: " + cut->why() + "; what is whole before was kept");
    RETURN_IF_ERROR(sink.SetFact("source.page", columns_.is_raw ? "raw" : "details"));
    if (style_ == NumberStyle::kComma) RETURN_IF_ERROR(sink.SetFact("source.decimals", "comma"));
    const auto warn = [&](int64_t count, const char* what) {
      if (count > 0) sink.Warn(std::to_string(count) + what);
    };
    warn(broken_, " rows are cut off, or of no launch: they were left out");
    warn(others_, " lines among the rows are of another program: they were left out");
    if (!told_error_.empty()) sink.Warn("ncu says: " + told_error_);
    rows_.WarnOfValues();
    RETURN_IF_ERROR(rows_.Give());
    return TellProgress(offset_bytes);
  }

  TextSource& text_;
  ReportRows rows_;
  const size_t most_row_bytes_;
  NumberStyle style_ = NumberStyle::kPoint;
  bool has_head_ = false;
  CsvColumns columns_;
  std::vector<MetricColumn> metric_columns_;
  std::map<std::tuple<std::string, std::string, std::string>, ShownMetric> shown_;
  std::map<std::tuple<std::string, std::string, uint32_t>, int64_t> launches_;  // by id, process and kernel
  struct Last {
    std::string id;
    std::string process;
    std::string kernel;
    std::optional<int64_t> launch;
  } last_;
  std::vector<std::string_view> fields_;  // of the row
  std::deque<std::string> unescaped_;
  int64_t broken_ = 0;
  int64_t others_ = 0;
  std::string told_error_;
};

}  // namespace

Status ReadNcuCsv(TextSource& text, BatchSink& sink, int64_t most_row_bytes) {
  return NcuCsvReading(text, sink, static_cast<size_t>(most_row_bytes)).Read();
}

bool LooksLikeNcuCsv(std::span<const char> first) {
  std::string_view text(first.data(), first.size());
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    // The first bytes may end within a wide head.
    if (DelimiterOfHead(line) || IsHeadOfSummary(line) || line.starts_with("==PROF== ")) return true;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return false;
}

}  // namespace kprof
