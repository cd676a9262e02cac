// Makes a submitted run durable: its spool file, then its row. Queueing it is runs.h.
#pragma once

#include <functional>

#include "daemon/runs/command/run_place.h"
#include "daemon/runs/command/run_request.h"
#include "daemon/runs/run_context.h"
#include "storage/base/status.h"
#include "storage/catalog/run_row.h"

namespace kprof {

struct SubmittedRun {
  RunRow row;
  bool is_new = true;  // false: the same caller submitted it before, with the same idempotency key
};

// Io loop only; `done` is called from it. Nothing of a run that fails is left. A run of a session becomes its next
// round; kLeaseLost when that ends meanwhile. `account`: the user whom its caller counts as.
void StoreSubmittedRun(const RunContext& parts, RunRequest request, uint32_t account, RunPlace place,
                       std::function<void(Result<SubmittedRun>)> done);

}  // namespace kprof
