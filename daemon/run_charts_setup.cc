#include "daemon/run_charts_setup.h"

#include <utility>

#include "daemon/analysis/report/answer_table.h"
#include "daemon/analysis/report/report.h"
#include "daemon/analysis/report/report_details.h"
#include "daemon/analysis/report/report_files.h"
#include "daemon/analysis/report/samples_chart.h"
#include "daemon/capture/tools.h"
#include "storage/catalog/device_records.h"

namespace kprof {
namespace {

constexpr int64_t kChartMemoryBytes = int64_t{64} << 20;  // of what is made of the parts
constexpr std::string_view kPicture = "image/svg+xml";
constexpr std::string_view kPictureEnding = ".svg";

// A connection is held no longer than for that.
Result<KnownCeilings> CeilingsNow(Catalog& catalog, const std::vector<std::string>& runs) {
  ASSIGN_OR_RETURN(ReaderPool::Lease reader, catalog.readers().Borrow());
  return ReadKnownCeilings(*reader, runs);
}

}  // namespace

DrawRunCharts MakeDrawRunCharts(Files& files, Catalog& catalog, PartPool& parts) {
  return [&files, &catalog, &parts](const RunRow& run, const std::stop_token& stop) -> Result<std::vector<RunChart>> {
    const Layout& layout = catalog.layout();
    std::vector<PartLease> leases;
    std::vector<TracePart> open;
    for (const TracePartRow& row : run.trace) {
      ASSIGN_OR_RETURN(PartLease lease, parts.Borrow(layout.TracePartPath(run.id, row.name)));
      TracePart part = PartOf(*lease);
      if (row.rank) part.rank = row.rank;
      open.push_back(part);
      leases.push_back(std::move(lease));
    }
    int64_t used_bytes = 0;
    const TakeMemory take_memory = [&used_bytes](int64_t bytes) {
      used_bytes += bytes;
      if (used_bytes <= kChartMemoryBytes) return OkStatus();
      return Fail(ErrorCode::kUsage, "draw its charts",
                  "they need more than " + std::to_string(kChartMemoryBytes >> 20) + " MiB",
                  "ask for a part of it: kprofctl analyze");
    };
    const std::vector<std::string> runs(open.size(), run.id);
    ASSIGN_OR_RETURN(KnownCeilings ceilings, CeilingsNow(catalog, runs));
    AnalysisTraces traces(open, runs, take_memory, std::move(ceilings));
    if (const Tool* tool = FindTool(run.tool); tool != nullptr && tool->takes_turns) {
      ASSIGN_OR_RETURN(const KindAnswer samples, AskKind("samples", traces, {}, StopSignal(stop)));
      return std::vector<RunChart>{{"samples.svg", DrawSamples(samples)}};
    }
    ASSIGN_OR_RETURN(const ReportedRun of, ReadReportedRun(run, std::move(traces), files, layout));
    ASSIGN_OR_RETURN(const Report report, MakeReport(of, nullptr, StopSignal(stop)));
    std::vector<RunChart> charts;
    for (const ReportFile& file : ReportFiles()) {
      if (file.media_type == kPicture) charts.push_back({std::string(file.name), file.write(report)});
    }
    std::vector<std::string> drawn_of_parts;
    for (const ReportDetailMaker& maker : ReportDetailMakers()) {
      if (maker.name.ends_with(kPictureEnding)) drawn_of_parts.emplace_back(maker.name);
    }
    ASSIGN_OR_RETURN(std::vector<ReportDetail> details,
                     MakeReportDetails(of, report, drawn_of_parts, StopSignal(stop)));
    for (ReportDetail& detail : details) charts.push_back({std::move(detail.name), std::move(detail.text)});
    return charts;
  };
}

}  // namespace kprof
