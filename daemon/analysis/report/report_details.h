// Files of a report that are made straight of a run's parts, one or many of a kind, and only where somebody asks for
// them: tables, sources, what a person reads after the report itself. A new one is a function and a row.
//
// One thread, that of the parts.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/report/report.h"
#include "daemon/analysis/report/reported_run.h"
#include "storage/base/memory_charge.h"
#include "storage/base/status.h"

namespace kprof {

struct ReportDetail {
  std::string name;
  std::string media_type;
  std::string text;
};

// The files as they are made.
class ReportDetailList {
 public:
  explicit ReportDetailList(const TakeMemory& take_memory) : charge_(take_memory) {}

  // One whose name is taken has a number before its ending: source-f-2.md. REQUIRES: the name is one step of a path
  // (PathStep). Fails as take_memory does.
  Status Add(std::string name, std::string media_type, std::string text);

  std::vector<ReportDetail> Take() { return std::move(files_); }

 private:
  MemoryCharge charge_;
  std::vector<ReportDetail> files_;
};

struct ReportDetailMaker {
  std::string_view name;  // of its file; with a '*' where it makes many: "source-*.md"
  // Makes none where the parts have nothing for it.
  Status (*make)(const ReportedRun& of, const Report& report, const StopSignal& stop, ReportDetailList& files);
};

// In the order in which their files are given.
std::span<const ReportDetailMaker> ReportDetailMakers();

// Whether the maker's files can have that name.
bool MakesFile(const ReportDetailMaker& maker, std::string_view name);

// Makes the files whose names are asked for; `asked` empty: all. Fails as reading parts does.
Result<std::vector<ReportDetail>> MakeReportDetails(const ReportedRun& of, const Report& report,
                                                    std::span<const std::string> asked, const StopSignal& stop);

// The makers themselves.
Status MakeVerboseReport(const ReportedRun& of, const Report& report, const StopSignal& stop,
                         ReportDetailList& files);  // report_verbose.cc: all that was measured of each kernel
Status MakeAnnotatedSources(const ReportedRun& of, const Report& report, const StopSignal& stop,
                            ReportDetailList& files);  // annotated_source.cc: hot lines of kernels
Status MakeInstructionTables(const ReportedRun& of, const Report& report, const StopSignal& stop,
                             ReportDetailList& files);  // instruction_tables.cc: their machine code as CSV
Status MakePtxTexts(const ReportedRun& of, const Report& report, const StopSignal& stop,
                    ReportDetailList& files);  // ptx_texts.cc
Status MakeReportTables(const ReportedRun& of, const Report& report, const StopSignal& stop,
                        ReportDetailList& files);  // report_tables.cc: answers of analyses as CSV
Status MakeTimelineChart(const ReportedRun& of, const Report& report, const StopSignal& stop,
                         ReportDetailList& files);  // timeline_chart.cc: SVG; of a trace

}  // namespace kprof
