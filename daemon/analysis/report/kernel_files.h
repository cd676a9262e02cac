// The kernels that a report's details tell of, and what the files about each are called: source-NAME.md, sass-NAME.csv,
// ptx-NAME.ptx. One thread, that of the parts.
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "daemon/analysis/functions/kernel_reports/kernel_code.h"
#include "daemon/analysis/functions/kernel_reports/kernel_reports.h"

namespace kprof {

// The longest kernels, so many of them, are told in detail.
inline constexpr size_t kMostDetailedKernels = 32;

// NAME of each kernel of the reports: its short name as a step of a path, with a number behind it where several have
// the same.
std::vector<std::string> KernelFileNames(const KernelReports& reports);

// The places of the longest kernels.
std::set<size_t> DetailedKernels(const KernelReports& reports);

// Shows `visit` the code of each of these kernels, part by part, with its NAME. Nothing where no part has code. Fails
// as reading and `visit` do.
using VisitKernelCode =
    std::function<Status(const KernelReports& reports, size_t part, const KernelCode& code, const std::string& name)>;
Status ForEachDetailedCode(const AnalysisTraces& traces, const StopSignal& stop, const VisitKernelCode& visit);

// "flash_fwd<128>, rank 3"
std::string KernelTitle(const ReportKernel& kernel);

}  // namespace kprof
