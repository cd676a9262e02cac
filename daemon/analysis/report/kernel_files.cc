#include "daemon/analysis/report/kernel_files.h"

#include <algorithm>

#include "daemon/analysis/report/report_words.h"

namespace kprof {

std::vector<std::string> KernelFileNames(const KernelReports& reports) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (const ReportKernel& kernel : reports.kernels()) {
    const std::string short_name = ShortKernelName(kernel.name);
    const std::string step = short_name.empty() ? "kernel" : PathStep(short_name);
    std::string free = step;
    for (int n = 2; !taken.insert(free).second; ++n) free = step + "-" + std::to_string(n);
    names.push_back(std::move(free));
  }
  return names;
}

std::set<size_t> DetailedKernels(const KernelReports& reports) {
  std::set<size_t> places;
  for (size_t i = 0; i < std::min(reports.kernels().size(), kMostDetailedKernels); ++i) places.insert(i);
  return places;
}

Status ForEachDetailedCode(const AnalysisTraces& traces, const StopSignal& stop, const VisitKernelCode& visit) {
  if (std::none_of(traces.parts().begin(), traces.parts().end(), &KernelCode::HasCode)) return OkStatus();
  ASSIGN_OR_RETURN(const KernelReports reports, KernelReports::Read(traces, {}, stop));
  const std::vector<std::string> names = KernelFileNames(reports);
  const std::set<size_t> kernels = DetailedKernels(reports);
  for (size_t part = 0; part < traces.parts().size(); ++part) {
    RETURN_IF_ERROR(KernelCode::ForEach(
        traces, reports, part, {.kernels = &kernels, .has_others = true}, stop,
        [&](const KernelCode& code) -> Status { return visit(reports, part, code, names[code.kernel()]); }));
  }
  return OkStatus();
}

std::string KernelTitle(const ReportKernel& kernel) {
  return ShortKernelName(kernel.name) + (kernel.rank ? ", rank " + std::to_string(*kernel.rank) : "");
}

}  // namespace kprof
