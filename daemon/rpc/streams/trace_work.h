// Work on the parts of runs within limits of time and memory, as the answer to one call: the parts open, the signal
// that ends the work, the memory that it takes, and the failure that its caller is told.
//
// On one thread of the stream's pool at a time. The context outlives it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/rpc/service_context.h"
#include "storage/base/status.h"
#include "storage/catalog/run_row.h"
#include "storage/sandbox/memory_quota.h"
#include "storage/sandbox/work_budget.h"
#include "storage/trace/read/part_pool.h"
#include "storage/trace_sql/parts/open_part.h"

namespace kprof {

class TraceWork {
 public:
  struct Limits {
    int64_t timeout_ms = 0;
    int64_t memory_bytes = 0;
  };
  // `act`: its name in messages, "analyze summary".
  TraceWork(std::string act, const Limits& limits, std::stop_token stop, LongWork long_work);

  WorkBudget& budget() { return budget_; }
  StopSignal signal();

  // Opens the parts at these places, and reads the ceilings that are recorded by now. Of several, one that is lost or
  // broken is left out, and named in `broken`. Fails where none is left. The traces are good until Close.
  Result<AnalysisTraces> Open(const ServiceContext& context, std::span<const TracePlace> places,
                              std::vector<TrustReason>& broken);

  // The parts are other questions' again.
  void Close() { leases_.clear(); }

  // A failure of the work as its caller is told it: the limit that ended it, where one did.
  Status Explained(const Status& failure) const;

 private:
  const std::string act_;
  const Limits limits_;
  WorkBudget budget_;
  MemoryQuota memory_;  // of answers, too; asks the budget
  std::vector<PartLease> leases_;
};

}  // namespace kprof
