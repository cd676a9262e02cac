#include "daemon/ingest/ncu/report_rows.h"

#include <bit>
#include <cmath>
#include <string>

#include "storage/trace/format/report_tables.h"
#include "storage/trace/read/metric_table.h"

namespace kprof {
namespace {

constexpr std::string_view kUnnamedScope = "(anonymous namespace)::";

int64_t IntegerOrNone(std::optional<int64_t> value) {
  return value.value_or(kNoValue);
}

int64_t RealOrNone(std::optional<double> value) {
  return value && std::isfinite(*value) ? std::bit_cast<int64_t>(*value) : kNoReal;
}

}  // namespace

int64_t ReportRows::TextOrNone(std::string_view text) {
  return text.empty() ? kNoValue : int64_t{builder_.Text(text)};
}

void ReportRows::AddRow(const SideTable& table, std::span<const int64_t> row) {
  builder_.AddSideRow(table, row);
  ++rows_;
}

int64_t ReportRows::AddLaunch(const ReportedLaunch& launch) {
  const int64_t number = launches();
  kernels_.push_back(builder_.Text(launch.kernel));
  const std::array<int64_t, 20> row = {number,
                                       int64_t{kernels_.back()},
                                       TextOrNone(launch.function),
                                       TextOrNone(launch.mangled),
                                       TextOrNone(launch.is_range ? "range" : "kernel"),
                                       IntegerOrNone(launch.process_id),
                                       TextOrNone(WithoutFolders(launch.process)),
                                       IntegerOrNone(launch.device),
                                       TextOrNone(launch.device_name),
                                       TextOrNone(launch.compute_capability),
                                       IntegerOrNone(launch.context),
                                       IntegerOrNone(launch.stream),
                                       IntegerOrNone(launch.grid[0]),
                                       IntegerOrNone(launch.grid[1]),
                                       IntegerOrNone(launch.grid[2]),
                                       IntegerOrNone(launch.block[0]),
                                       IntegerOrNone(launch.block[1]),
                                       IntegerOrNone(launch.block[2]),
                                       IntegerOrNone(launch.unix_ns),
                                       TextOrNone(launch.range)};
  AddRow(LaunchSideTable(), row);
  return number;
}

void ReportRows::AddMetric(int64_t launch, uint32_t name, double value, uint32_t unit) {
  if (!std::isfinite(value)) {
    ++not_finite_;
    return;
  }
  const std::array<int64_t, 5> row = {int64_t{kernels_[static_cast<size_t>(launch)]}, launch, int64_t{name},
                                      std::bit_cast<int64_t>(value), int64_t{unit}};
  AddRow(MetricSideTable(), row);
}

void ReportRows::AddText(int64_t launch, uint32_t name, std::string_view text) {
  const std::array<int64_t, 4> row = {int64_t{kernels_[static_cast<size_t>(launch)]}, launch, int64_t{name},
                                      int64_t{builder_.Text(text)}};
  AddRow(TextMetricSideTable(), row);
}

void ReportRows::AddInstance(int64_t launch, uint32_t name, const ReportedValue& key, const ReportedValue& value) {
  if (value.number && !std::isfinite(*value.number)) {
    ++not_finite_;
    return;
  }
  // A key is a whole number, as addresses are, or a text.
  constexpr double kMostKey = 9e18;
  const bool is_whole = key.number && std::abs(*key.number) < kMostKey;
  const std::array<int64_t, 6> row = {launch,
                                      int64_t{name},
                                      TextOrNone(key.text),
                                      is_whole ? static_cast<int64_t>(*key.number) : kNoValue,
                                      RealOrNone(value.number),
                                      TextOrNone(value.text)};
  AddRow(InstanceSideTable(), row);
}

void ReportRows::AddRule(int64_t launch, const ReportedRule& rule) {
  const std::array<int64_t, 12> row = {launch,
                                       int64_t{kernels_[static_cast<size_t>(launch)]},
                                       TextOrNone(rule.rule),
                                       TextOrNone(rule.title),
                                       TextOrNone(rule.section),
                                       TextOrNone(rule.type),
                                       TextOrNone(rule.message),
                                       TextOrNone(rule.speedup_type),
                                       RealOrNone(rule.speedup_percent),
                                       TextOrNone(rule.metric),
                                       RealOrNone(rule.metric_value),
                                       TextOrNone(rule.reason)};
  AddRow(RuleSideTable(), row);
}

void ReportRows::AddSection(int64_t launch, const ReportSection& section) {
  const std::array<int64_t, 6> row = {launch,
                                      TextOrNone(section.section),
                                      TextOrNone(section.title),
                                      IntegerOrNone(section.place),
                                      TextOrNone(section.metric),
                                      TextOrNone(section.label)};
  AddRow(SectionSideTable(), row);
}

void ReportRows::AddInstruction(int64_t launch, const ReportInstruction& instruction) {
  const std::array<int64_t, 7> row = {launch,
                                      IntegerOrNone(instruction.address),
                                      IntegerOrNone(instruction.offset_bytes),
                                      TextOrNone(instruction.sass),
                                      TextOrNone(instruction.ptx),
                                      TextOrNone(instruction.file),
                                      IntegerOrNone(instruction.line)};
  AddRow(InstructionSideTable(), row);
}

void ReportRows::AddSourceLine(std::string_view file, std::string_view language, int64_t line, std::string_view text) {
  const std::array<int64_t, 4> row = {int64_t{builder_.Text(file)}, int64_t{builder_.Text(language)}, line,
                                      int64_t{builder_.Text(text)}};
  AddRow(SourceTextSideTable(), row);
}

void ReportRows::AddDeviceAttribute(std::optional<int64_t> device, std::string_view name, const ReportedValue& value) {
  const std::array<int64_t, 4> row = {IntegerOrNone(device), int64_t{builder_.Text(name)}, RealOrNone(value.number),
                                      TextOrNone(value.text)};
  AddRow(DeviceAttributeSideTable(), row);
}

void ReportRows::WarnOfValues() {
  if (not_finite_ == 0) return;
  sink().Warn(std::to_string(not_finite_) + " values are not finite (NaN, infinity): they are absent");
}

std::string_view WithoutFolders(std::string_view path) {
  const size_t slash = path.find_last_of("/\\");
  return slash == path.npos ? path : path.substr(slash + 1);
}

std::string_view BareKernelName(std::string_view kernel) {
  size_t begin = 0;
  size_t at = 0;
  int nested = 0;  // in template arguments
  while (at < kernel.size()) {
    const char c = kernel[at];
    if (nested == 0 && kernel.substr(at).starts_with(kUnnamedScope)) {
      at += kUnnamedScope.size();
      begin = at;
      continue;
    }
    if (c == '<') ++nested;
    if (c == '>' && nested > 0) --nested;
    if (nested == 0 && (c == '(' || c == '[')) break;
    // Scopes with template arguments end here, too.
    if (nested == 0 && (c == ':' || c == ' ')) begin = at + 1;
    ++at;
  }
  const std::string_view name = kernel.substr(begin, at - begin);
  return name.substr(0, name.find('<'));
}

}  // namespace kprof
