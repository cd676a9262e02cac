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
  std::string stages;  // of its stages.json: what stages do, as their maker knows it
};

// Reads the two from the run's folder; one that is larger than any that a caller may give is left out. Fails as reading
// does. `traces` are those of `run`.
Result<ReportedRun> ReadReportedRun(const RunRow& run, AnalysisTraces traces, Files& files, const Layout& layout);

}  // namespace kprof
