// The kernels that a report's details tell of, and what the files about each are called: source-NAME.md, sass-NAME.csv,
// ptx-NAME.ptx. Pure; any thread.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "daemon/analysis/functions/kernel_reports/kernel_reports.h"

namespace kprof {

// The longest kernels, so many of them, are told in detail.
inline constexpr size_t kMostDetailedKernels = 32;

// NAME of each kernel of the reports: its short name as a step of a path, with a number behind it where several have
// the same.
std::vector<std::string> KernelFileNames(const KernelReports& reports);

// The places of the longest kernels.
std::set<size_t> DetailedKernels(const KernelReports& reports);

// "flash_fwd<128>, rank 3"
std::string KernelTitle(const ReportKernel& kernel);

}  // namespace kprof
