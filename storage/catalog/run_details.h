// The details of a run that have tables of their own: devices, labels, trust reasons, artifacts, metrics, the verdict,
// the parts of its trace. run_table.h joins them to the run's row; use it to find whole runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/base/status.h"
#include "storage/catalog/run_row.h"
#include "storage/db/db.h"
#include "storage/db/statement.h"

namespace kprof {

// Reads the details of one run or of a thousand: its statements are prepared once. Must not outlive its Db.
class RunDetailsReader {
 public:
  explicit RunDetailsReader(Db& db);

  // Fills in the details of the run with the id `run.id`.
  Status Read(RunRow& run);

 private:
  Statement devices_, labels_, trust_, artifacts_, metrics_, verdict_, trace_;
};

// Inserts all details. The run itself must be there, its details not.
Status InsertRunDetails(Db& db, const RunRow& run);

// Trust, artifacts, metrics, verdict and trace become those of `run`; devices and labels never change. Neither reads
// nor touches the metrics of kernels: the cost does not depend on their number.
Status UpdateRunDetails(Db& db, const RunRow& run);

// The positions of metrics of kernels begin here, behind any number of totals.
constexpr int64_t kFirstKernelMetric = 1'000'000;

// Stores the few rows of a run's kernels that questions over all runs look at, in place of earlier ones. RunRow does
// not have them: they are written once, with the run's end, and only SQL reads them. The run must be there.
Status PutKernelMetrics(Db& db, const std::string& run_id, const std::vector<MetricRow>& metrics);

// Adds one artifact; replaces one of the same name. The run must be there.
Status PutArtifact(Db& db, const std::string& run_id, const ArtifactRow& artifact);

}  // namespace kprof
