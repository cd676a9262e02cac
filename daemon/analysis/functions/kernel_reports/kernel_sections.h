// The sections of kernel reports, as the profiler's own page shows them: which metrics head each, under which words,
// and what its rules said there, over all launches of a kernel.
//
// One thread, that of the readers. Memory, which the traces' take_memory is asked for: the texts of sections and of
// kMostRules rules for each kernel. Costs a pass over both tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/kernel_reports/kernel_reports.h"
#include "storage/base/memory_charge.h"
#include "storage/base/status.h"

namespace kprof {

// A rule's message about the launches of a kernel: of several, that with the largest estimate.
struct FiredRule {
  std::string rule;                       // its identifier
  std::string title;                      // empty: the report has none
  std::string type;                       // OPT, WRN, INF
  std::string message;                    // without marks of links
  std::string speedup_type;               // local, global; empty: it makes no estimate
  std::optional<double> speedup_percent;  // the mean by time, over launches with an estimate
  double most_speedup_percent = -1;       // of a launch
  int64_t launches = 0;                   // that it fired for
};

struct KernelSection {
  std::string id;  // "SpeedOfLight"
  std::string title;
  int64_t place = 0;
  std::vector<std::pair<std::string, std::string>> metrics;  // with their labels, which may be empty
  std::vector<FiredRule> rules;
};

class KernelSections {
 public:
  static constexpr size_t kMostRules = 200;     // of a kernel
  static constexpr size_t kMostSections = 100;  // of a kernel

  // Reads those of these kernels, which are places among KernelReports::kernels(). Fails as reading does.
  static Result<KernelSections> Read(const AnalysisTraces& traces, const KernelReports& reports,
                                     const std::set<size_t>& kernels, const StopSignal& stop);

  // In the profiler's order. Rules of a section without metrics, as MemoryWorkloadAnalysis_Tables, stand with those of
  // the one that it is a part of.
  const std::vector<KernelSection>& Of(size_t kernel) const;

 private:
  class PartLoader;

  explicit KernelSections(const AnalysisTraces& traces)
      : charge_(std::make_unique<MemoryCharge>(traces.take_memory())) {}
  void Sort();

  std::unique_ptr<MemoryCharge> charge_;
  std::map<size_t, std::vector<KernelSection>> kernels_;
};

// A message of a rule without the marks of links that Nsight Compute has in it: "@section:Occupancy:the occupancy@" is
// "the occupancy". At most 2,000 bytes.
std::string PlainRuleMessage(const std::string& message);

}  // namespace kprof
