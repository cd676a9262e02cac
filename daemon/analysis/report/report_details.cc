#include "daemon/analysis/report/report_details.h"

#include <algorithm>
#include <utility>

namespace kprof {
namespace {

constexpr ReportDetailMaker kReportDetailMakers[] = {
    {"timeline.svg", &MakeTimelineChart},   {"report-verbose.md", &MakeVerboseReport},
    {"source-*.md", &MakeAnnotatedSources}, {"sass-*.csv", &MakeInstructionTables},
    {"ptx-*.ptx", &MakePtxTexts},           {"*.csv", &MakeReportTables},
};

}  // namespace

Status ReportDetailList::Add(std::string name, std::string media_type, std::string text) {
  RETURN_IF_ERROR(charge_.Grow(static_cast<int64_t>(name.size() + text.size())));
  const auto is_taken = [this](const std::string& one) {
    return std::any_of(files_.begin(), files_.end(), [&one](const ReportDetail& file) { return file.name == one; });
  };
  const size_t ending = std::min(name.rfind('.'), name.size());
  std::string free = name;
  for (int n = 2; is_taken(free); ++n) free = name.substr(0, ending) + "-" + std::to_string(n) + name.substr(ending);
  files_.push_back({std::move(free), std::move(media_type), std::move(text)});
  return OkStatus();
}

std::span<const ReportDetailMaker> ReportDetailMakers() {
  return kReportDetailMakers;
}

bool MakesFile(const ReportDetailMaker& maker, std::string_view name) {
  const size_t star = maker.name.find('*');
  if (star == std::string_view::npos) return name == maker.name;
  const std::string_view ending = maker.name.substr(star + 1);
  return name.size() >= maker.name.size() && name.starts_with(maker.name.substr(0, star)) && name.ends_with(ending);
}

Result<std::vector<ReportDetail>> MakeReportDetails(const ReportedRun& of, const Report& report,
                                                    std::span<const std::string> asked, const StopSignal& stop) {
  ReportDetailList files(of.traces.take_memory());
  for (const ReportDetailMaker& maker : kReportDetailMakers) {
    const bool is_asked = asked.empty() || std::any_of(asked.begin(), asked.end(), [&maker](const std::string& name) {
                            return MakesFile(maker, name);
                          });
    if (is_asked) RETURN_IF_ERROR(maker.make(of, report, stop, files));
  }
  std::vector<ReportDetail> made = files.Take();
  std::erase_if(made, [asked](const ReportDetail& file) {
    return !asked.empty() && std::find(asked.begin(), asked.end(), file.name) == asked.end();
  });
  return made;
}

}  // namespace kprof
