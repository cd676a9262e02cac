// The files that a report is given as, a row of one list each. A new form of report is a function and a row. Pure; any
// thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "daemon/analysis/report/report.h"

namespace kprof {

struct ReportFile {
  std::string_view name;  // "report.md"
  std::string_view media_type;
  std::string (*write)(const Report& report);
};

// In the order in which they are given.
std::span<const ReportFile> ReportFiles();

// The forms themselves.
std::string WriteReportMarkdown(const Report& report);  // report_markdown.cc: the contract of docs/reports.md
std::string WriteDevelopmentLog(const Report& report);  // development_log.cc
std::string WriteReportJson(const Report& report);      // report_json.cc
std::string DrawRoofline(const Report& report);         // roofline_chart.cc: SVG
std::string TypeRoofline(const Report& report);         // roofline_chart.cc: characters, for terminals
std::string DrawStages(const Report& report);           // stage_chart.cc: SVG

}  // namespace kprof
