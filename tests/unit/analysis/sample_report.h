// Parts that are kernel reports, for tests: launches with numbers, rules and instructions, as readers of reports write
// them.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/kinds/analysis_kinds.h"
#include "storage/trace/format/report_tables.h"
#include "storage/trace/read/metric_table.h"
#include "tests/unit/analysis/sample_trace.h"

namespace kprof {

using Numbers = std::vector<std::pair<std::string, double>>;

inline constexpr char kDurationName[] = "gpu__time_duration.sum";
inline constexpr char kComputeName[] = "sm__throughput.avg.pct_of_peak_sustained_elapsed";
inline constexpr char kMemoryName[] = "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed";
inline constexpr char kDramName[] = "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed";
inline constexpr char kTensorName[] = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active";

class SampleReport {
 public:
  explicit SampleReport(const std::string& path)
      : part_(path),
        launches_(LaunchSideTable()),
        metrics_(MetricSideTable()),
        texts_(TextMetricSideTable()),
        rules_(RuleSideTable()),
        instances_(InstanceSideTable()),
        instructions_(InstructionSideTable()),
        sources_(SourceTextSideTable()),
        sections_(SectionSideTable()),
        attributes_(DeviceAttributeSideTable()) {}

  // The result of a range that was measured as a whole. A profiler calls each of them "range".
  int64_t AddRange(const std::string& range, const Numbers& numbers, const std::string& device_name) {
    return AddLaunch("range", numbers, device_name, range, 0, "", "range");
  }
  // Its number. Without a device name the launch has rows of `metric` alone.
  int64_t AddLaunch(const std::string& kernel, const Numbers& numbers,
                    const std::string& device_name = "NVIDIA H100 80GB HBM3", const std::string& range = "",
                    int64_t device = 0, const std::string& mangled = "", const std::string& kind = "kernel") {
    const int64_t launch = count_++;
    if (!device_name.empty()) {
      std::vector<int64_t> row(launches_.columns.size(), kNoValue);
      const auto set = [&row](LaunchColumn column, int64_t value) { row[static_cast<size_t>(column)] = value; };
      set(LaunchColumn::kLaunch, launch);
      set(LaunchColumn::kKernel, part_.StringNumber(kernel));
      set(LaunchColumn::kFunction, part_.StringNumber(kernel.substr(0, kernel.find('('))));
      set(LaunchColumn::kKind, part_.StringNumber(kind));
      set(LaunchColumn::kDevice, device);
      set(LaunchColumn::kDeviceName, part_.StringNumber(device_name));
      set(LaunchColumn::kComputeCapability, part_.StringNumber("9.0"));
      if (!mangled.empty()) set(LaunchColumn::kMangled, part_.StringNumber(mangled));
      if (!range.empty()) set(LaunchColumn::kRange, part_.StringNumber(range));
      launches_.Add(row);
    }
    for (const auto& [name, value] : numbers) AddNumber(kernel, launch, name, value);
    return launch;
  }
  void AddNumber(const std::string& kernel, int64_t launch, const std::string& name, double value) {
    metrics_.Add(std::vector<int64_t>{part_.StringNumber(kernel), launch, part_.StringNumber(name),
                                      std::bit_cast<int64_t>(value), part_.StringNumber("")});
  }
  void AddText(const std::string& kernel, int64_t launch, const std::string& name, const std::string& text) {
    texts_.Add(
        std::vector<int64_t>{part_.StringNumber(kernel), launch, part_.StringNumber(name), part_.StringNumber(text)});
  }
  void AddRule(int64_t launch, const std::string& rule, const std::string& type, const std::string& message,
               double speedup_percent, const std::string& metric = "", double metric_value = 0,
               const std::string& speedup_type = "global", const std::string& section = "Section") {
    rules_.Add(std::vector<int64_t>{launch, kNoValue, part_.StringNumber(rule), part_.StringNumber(rule + " title"),
                                    part_.StringNumber(section), part_.StringNumber(type), part_.StringNumber(message),
                                    part_.StringNumber(speedup_type), std::bit_cast<int64_t>(speedup_percent),
                                    metric.empty() ? kNoValue : part_.StringNumber(metric),
                                    std::bit_cast<int64_t>(metric_value), kNoValue});
  }
  void AddInstance(int64_t launch, const std::string& name, int64_t address, double value) {
    instances_.Add(std::vector<int64_t>{launch, part_.StringNumber(name), kNoValue, address,
                                        std::bit_cast<int64_t>(value), kNoValue});
  }
  void AddInstruction(int64_t launch, int64_t address, const std::string& sass, const std::string& file, int64_t line) {
    instructions_.Add(std::vector<int64_t>{launch, address, address - 0x100, part_.StringNumber(sass), kNoValue,
                                           file.empty() ? kNoValue : part_.StringNumber(file),
                                           file.empty() ? kNoValue : line});
  }
  void AddSource(const std::string& file, int64_t line, const std::string& text, const std::string& language = "cuda") {
    sources_.Add(
        std::vector<int64_t>{part_.StringNumber(file), part_.StringNumber(language), line, part_.StringNumber(text)});
  }
  void AddSection(int64_t launch, const std::string& section, const std::string& title, int64_t place,
                  const std::string& metric, const std::string& label) {
    sections_.Add(std::vector<int64_t>{launch, part_.StringNumber(section), part_.StringNumber(title), place,
                                       part_.StringNumber(metric), part_.StringNumber(label)});
  }
  void AddAttribute(const std::string& name, double value) {
    attributes_.Add(std::vector<int64_t>{0, part_.StringNumber(name), std::bit_cast<int64_t>(value), kNoValue});
  }

  SamplePart& Finish() {
    uint32_t number = 0;
    for (const SideRows* rows :
         {&launches_, &metrics_, &texts_, &rules_, &instances_, &instructions_, &sources_, &sections_, &attributes_}) {
      if (rows->size() == 0) continue;
      EXPECT_TRUE(part_.writer().AddSideTable(number, rows->table).ok());
      const Status added = part_.writer().AddSideSegment(EncodeSideRows(number, *rows, 0, rows->size()));
      EXPECT_TRUE(added.ok()) << added.ToString();
      ++number;
    }
    return part_;
  }

 private:
  SamplePart part_;
  SideRows launches_;
  SideRows metrics_;
  SideRows texts_;
  SideRows rules_;
  SideRows instances_;
  SideRows instructions_;
  SideRows sources_;
  SideRows sections_;
  SideRows attributes_;
  int64_t count_ = 0;
};

// The percentages that every report has, by a launch of `ns`.
inline Numbers SolOf(double ns, double compute, double memory, Numbers more = {}) {
  Numbers numbers = {{kDurationName, ns}, {kComputeName, compute}, {kMemoryName, memory}};
  numbers.insert(numbers.end(), more.begin(), more.end());
  return numbers;
}

// An answer with its values by the names of tables and columns.
class NamedAnswer {
 public:
  NamedAnswer(const AnalysisKind& kind, AnalysisAnswer answer) : kind_(kind), answer_(std::move(answer)) {}

  size_t rows(std::string_view table) const { return answer_.rows(TableAt(table)).size(); }
  const AnalysisValue& At(std::string_view table, size_t row, std::string_view column) const {
    const size_t at = TableAt(table);
    const std::vector<AnalysisColumn>& columns = kind_.tables[at].columns;
    for (size_t i = 0; i < columns.size(); ++i) {
      if (columns[i].name == column) return answer_.rows(at)[row][i];
    }
    ADD_FAILURE() << "no column " << column;
    static const AnalysisValue kNothing;
    return kNothing;
  }
  bool IsNull(std::string_view table, size_t row, std::string_view column) const {
    return std::holds_alternative<std::monostate>(At(table, row, column));
  }
  // NaN where it is null.
  double Real(std::string_view table, size_t row, std::string_view column) const {
    const auto* real = std::get_if<double>(&At(table, row, column));
    return real == nullptr ? std::numeric_limits<double>::quiet_NaN() : *real;
  }
  int64_t Integer(std::string_view table, size_t row, std::string_view column) const {
    const auto* integer = std::get_if<int64_t>(&At(table, row, column));
    return integer == nullptr ? INT64_MIN : *integer;
  }
  std::string Text(std::string_view table, size_t row, std::string_view column) const {
    const auto* text = std::get_if<std::string>(&At(table, row, column));
    return text == nullptr ? "" : *text;
  }
  // The first row whose column has that text; rows() where there is none.
  size_t Find(std::string_view table, std::string_view column, std::string_view text) const {
    size_t row = 0;
    while (row < rows(table) && Text(table, row, column) != text) ++row;
    return row;
  }
  const AnalysisAnswer& answer() const { return answer_; }

 private:
  size_t TableAt(std::string_view table) const {
    for (size_t i = 0; i < kind_.tables.size(); ++i) {
      if (kind_.tables[i].name == table) return i;
    }
    ADD_FAILURE() << "no table " << table;
    return 0;
  }

  const AnalysisKind& kind_;
  AnalysisAnswer answer_;
};

inline Result<NamedAnswer> AskReport(const std::string& name, const TracePart& part,
                                     const std::map<std::string, std::string>& given = {},
                                     const KnownCeilings& ceilings = {}) {
  ASSIGN_OR_RETURN(const AnalysisKind* const kind, FindAnalysisKind(name));
  ASSIGN_OR_RETURN(const AnalysisOptions options, AnalysisOptions::Read("ask", kind->options, given));
  ASSIGN_OR_RETURN(AnalysisAnswer answer,
                   Analyze(*kind, AnalysisTraces({part}, {"r1"}, nullptr, ceilings), options, {}));
  return NamedAnswer(*kind, std::move(answer));
}

// One report and its answers.
class ReportTest : public testing::Test {
 protected:
  SampleReport& report() {
    if (!report_) report_ = std::make_unique<SampleReport>(trace_.NewPath());
    return *report_;
  }
  NamedAnswer Ask(const std::string& name, const std::map<std::string, std::string>& given = {}) {
    Result<NamedAnswer> answer = TryToAsk(name, given);
    EXPECT_TRUE(answer.ok()) << answer.status().ToString();
    return *std::move(answer);
  }
  Result<NamedAnswer> TryToAsk(const std::string& name, const std::map<std::string, std::string>& given = {}) {
    if (report_) trace_.Take(report_->Finish());
    report_.reset();
    return AskReport(name, trace_.part(0), given, ceilings_);
  }

  KnownCeilings ceilings_;  // that are recorded; its run is r1

 private:
  SampleTrace trace_;
  std::unique_ptr<SampleReport> report_;
};

}  // namespace kprof
