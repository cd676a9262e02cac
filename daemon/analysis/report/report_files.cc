#include "daemon/analysis/report/report_files.h"

namespace kprof {
namespace {

constexpr ReportFile kReportFiles[] = {
    {"report.md", "text/markdown", &WriteReportMarkdown},  {"devlog.md", "text/markdown", &WriteDevelopmentLog},
    {"report.json", "application/json", &WriteReportJson}, {"roofline.svg", "image/svg+xml", &DrawRoofline},
    {"roofline.txt", "text/plain", &TypeRoofline},         {"stages.svg", "image/svg+xml", &DrawStages},
};

}  // namespace

std::span<const ReportFile> ReportFiles() {
  return kReportFiles;
}

}  // namespace kprof
