// What hangs on a run in tables of its own: devices, labels, trust reasons, artifacts, metrics, the parts of its
// trace. run_table.h puts rows together; others find whole runs there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/base/status.h"
#include "storage/catalog/run_row.h"
#include "storage/db/db.h"
#include "storage/db/statement.h"

namespace kprof {

// Reads the parts of one run or of a thousand: its statements are prepared once. Must not outlive its Db.
class RunDetailsReader {
 public:
  explicit RunDetailsReader(Db& db);

  // Fills in the parts of the run with the id `run.id`.
  Status Read(RunRow& run);

 private:
  Statement devices_, labels_, trust_, artifacts_, metrics_, trace_;
};

// All parts. The run itself must be there, its parts not.
Status InsertRunDetails(Db& db, const RunRow& run);

// Trust, artifacts, metrics and trace become those of `run`; devices and labels never change. Metrics of kernels are
// neither read nor touched: what it costs does not depend on how many there are.
Status UpdateRunDetails(Db& db, const RunRow& run);

// The positions of metrics of kernels begin here, behind any number of totals.
constexpr int64_t kFirstKernelMetric = 1'000'000;

// The few rows of a run's kernels that questions over all runs look at. RunRow does not have them: they are written
// once, with the run's end, and only SQL reads them. What was there before goes. The run must be there.
Status PutKernelMetrics(Db& db, const std::string& run_id, const std::vector<MetricRow>& metrics);

// Adds one artifact; one of that name is replaced. The run must be there.
Status PutArtifact(Db& db, const std::string& run_id, const ArtifactRow& artifact);

}  // namespace kprof
