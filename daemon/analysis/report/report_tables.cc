// Answers of analyses as CSV, for spreadsheets and scripts: those about kernels that a profiler measured, or those
// about a trace, by what the run has.
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "daemon/analysis/functions/kernel_reports/kernel_reports.h"
#include "daemon/analysis/report/answer_table.h"
#include "daemon/analysis/report/report_details.h"
#include "daemon/analysis/report/report_words.h"

namespace kprof {
namespace {

struct ReportTable {
  const char* file;
  const char* kind;
  const char* table;
  bool takes_stages = false;  // the stages that the run's caller named
};

constexpr ReportTable kKernelTables[] = {
    {"kernels.csv", "kernels", "kernels"},
    {"roofline.csv", "roofline", "kernels", true},
    {"findings.csv", "findings", "findings", true},
};

constexpr ReportTable kTraceTables[] = {
    {"kernels.csv", "kernel-breakdown", "kernels"},
    {"timeline.csv", "temporal-breakdown", "ranks"},
    {"overlap.csv", "overlap", "ranks"},
    {"idle.csv", "idle-breakdown", "ranks"},
    {"findings.csv", "findings", "findings"},
};

std::string CsvCell(const AnalysisValue& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&value)) return JsonNumber(*real);
  const auto* text = std::get_if<std::string>(&value);
  return text == nullptr ? "" : CsvText(*text);
}

// Without the columns that tell runs apart: a report is of one.
std::string CsvOf(const AnalysisTable& table, std::span<const AnalysisAnswer::Row> rows) {
  std::string text;
  const auto add_line = [&](const auto& cell) {
    bool is_first = true;
    for (size_t i = 0; i < table.columns.size(); ++i) {
      if (table.columns[i].of_several_runs) continue;
      text += (is_first ? "" : ",") + cell(i);
      is_first = false;
    }
    text += "\r\n";
  };
  add_line([&table](size_t i) { return std::string(table.columns[i].name); });
  for (const AnalysisAnswer::Row& row : rows) add_line([&row](size_t i) { return CsvCell(row[i]); });
  return text;
}

}  // namespace

Status MakeReportTables(const ReportedRun& of, const Report& report, const StopSignal& stop, ReportDetailList& files) {
  static_cast<void>(report);  // has the notes on what does not fit, too
  std::vector<std::string> notes;
  bool has_kernels = false;
  bool has_slices = false;
  for (const TracePart& part : of.traces.parts()) {
    has_kernels |= KernelReports::HasReport(part);
    has_slices |= part.reader->rows(EventKind::kSlice) > 0;
  }
  const auto add = [&](std::span<const ReportTable> tables) -> Status {
    for (const ReportTable& one : tables) {
      std::map<std::string, std::string> given;
      if (one.takes_stages && !of.stages.empty()) given.emplace("stages", of.stages);
      ASSIGN_OR_RETURN(const std::optional<KindAnswer> answer,
                       AskKindIfItFits(one.kind, of.traces, given, stop, notes));
      if (!answer) continue;
      const std::vector<AnalysisTable>& answered = answer->kind->tables;
      for (size_t i = 0; i < answered.size(); ++i) {
        if (answered[i].name != std::string_view(one.table)) continue;
        RETURN_IF_ERROR(files.Add(one.file, "text/csv", CsvOf(answered[i], answer->answer.rows(i))));
      }
    }
    return OkStatus();
  };
  if (has_kernels) return add(kKernelTables);
  return has_slices ? add(kTraceTables) : OkStatus();
}

}  // namespace kprof
