// A run that is reported on: its row, its open traces, and what its caller gave as files. A value, with the thread of
// its parts.
#pragma once

#include <string>

#include "daemon/analysis/analysis_kind.h"
#include "storage/base/files.h"
#include "storage/base/status.h"
#include "storage/catalog/run_row.h"
#include "storage/db/layout.h"

namespace kprof {

struct ReportedRun {
  RunRow run;
  AnalysisTraces traces;
  std::string params;  // the text of its params.json; empty: it has none
  std::string stages;  // what its stages do, as their maker knows it, for the option of analyses; empty: not told
  std::string stages_fault = {};  // why what was given is left out
  std::string policy = {};        // of the roofline, as its option; empty: the usual one
};

// Reads params.json and stages.json from the run's folder; one that is larger than any that a caller may give is left
// out. Stages are those of stages.json, or else of params.json. Fails as reading does. `traces` are those of `run`.
Result<ReportedRun> ReadReportedRun(const RunRow& run, AnalysisTraces traces, Files& files, const Layout& layout);

}  // namespace kprof
