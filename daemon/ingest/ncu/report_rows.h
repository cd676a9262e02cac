// Makes the rows of a report of a kernel profiler: metrics, and the side tables beside them (report_tables.h). Both
// readers of Nsight Compute's reports give what they find to it.
//
// One thread. Memory: a batch, and the different texts.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "daemon/ingest/assemble/batch_builder.h"
#include "storage/base/status.h"

namespace kprof {

// Texts are empty where the report does not say them.
struct ReportedLaunch {
  std::string_view kernel;
  std::string_view function;
  std::string_view mangled;
  bool is_range = false;
  std::optional<int64_t> process_id;
  std::string_view process;  // a path: its folders are not kept
  std::optional<int64_t> device;
  std::string_view device_name;
  std::string_view compute_capability;
  std::optional<int64_t> context;
  std::optional<int64_t> stream;
  std::array<std::optional<int64_t>, 3> grid;
  std::array<std::optional<int64_t>, 3> block;
  std::optional<int64_t> unix_ns;
  std::string_view range;
};

// A value of a metric, or the key of one of its instances: a number or a text.
struct ReportedValue {
  std::optional<double> number;
  std::string_view text;
};

struct ReportedRule {
  std::string_view rule;
  std::string_view title;
  std::string_view section;
  std::string_view type;
  std::string_view message;
  std::string_view speedup_type;
  std::optional<double> speedup_percent;
  std::string_view metric;
  std::optional<double> metric_value;
  std::string_view reason;
};

struct ReportSection {
  std::string_view section;
  std::string_view title;
  std::optional<int64_t> place;
  std::string_view metric;
  std::string_view label;
};

struct ReportInstruction {
  std::optional<int64_t> address;
  std::optional<int64_t> offset_bytes;
  std::string_view sass;
  std::string_view ptx;
  std::string_view file;
  std::optional<int64_t> line;
};

class ReportRows {
 public:
  // `sink` is borrowed.
  explicit ReportRows(BatchSink& sink) : builder_(sink) {}

  BatchSink& sink() { return builder_.sink(); }
  // The number of a text, for names and units that come often.
  uint32_t Text(std::string_view text) { return builder_.Text(text); }

  // Returns the launch's number, counted from 0. The others below take it.
  int64_t AddLaunch(const ReportedLaunch& launch);
  // A value that is not finite is no row; it is counted.
  void AddMetric(int64_t launch, uint32_t name, double value, uint32_t unit);
  void AddText(int64_t launch, uint32_t name, std::string_view text);
  void AddInstance(int64_t launch, uint32_t name, const ReportedValue& key, const ReportedValue& value);
  void AddRule(int64_t launch, const ReportedRule& rule);
  void AddSection(int64_t launch, const ReportSection& section);
  void AddInstruction(int64_t launch, const ReportInstruction& instruction);
  void AddSourceLine(std::string_view file, std::string_view language, int64_t line, std::string_view text);
  void AddDeviceAttribute(std::optional<int64_t> device, std::string_view name, const ReportedValue& value);

  // Hands a batch over when it is large enough. Call it between launches and between long lists of rows.
  Status GiveFull() { return builder_.GiveFull(); }
  Status Give() { return builder_.Give(); }

  int64_t launches() const { return static_cast<int64_t>(kernels_.size()); }
  int64_t rows() const { return rows_; }
  // Warns of the values that are not finite, if there are any.
  void WarnOfValues();

 private:
  int64_t TextOrNone(std::string_view text);
  void AddRow(const SideTable& table, std::span<const int64_t> row);

  BatchBuilder builder_;
  std::vector<uint32_t> kernels_;  // the name of each launch's kernel
  int64_t rows_ = 0;
  int64_t not_finite_ = 0;
};

// The last part of a path.
std::string_view WithoutFolders(std::string_view path);

// The name of a kernel without its result, scopes, template arguments and parameters: "f" of "void a::f<int>(int)".
std::string_view BareKernelName(std::string_view kernel);

}  // namespace kprof
