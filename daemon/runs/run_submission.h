// Makes a submitted run durable: its spool file, then its row. Queueing it is runs.h.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "daemon/runs/run_parts.h"
#include "daemon/runs/run_request.h"
#include "storage/base/status.h"
#include "storage/catalog/run_row.h"

namespace kprof {

struct SubmittedRun {
  RunRow row;
  bool is_new = true;  // false: the same caller submitted it before, with the same idempotency key
};

// Io loop only; `done` is called from it. Nothing of a run that fails is left.
void StoreSubmittedRun(const RunParts& parts, RunRequest request, std::vector<std::string> devices, std::string id,
                       std::function<void(Result<SubmittedRun>)> done);

}  // namespace kprof
