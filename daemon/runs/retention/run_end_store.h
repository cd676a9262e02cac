// Makes the end of a run durable, and with it what goes with it: what the audit says of its lease, and which devices
// may still be used by what it left. Trying again where that fails is runs.h.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "daemon/runs/run_context.h"
#include "storage/base/status.h"
#include "storage/catalog/audit_table.h"
#include "storage/catalog/leftover_table.h"
#include "storage/catalog/run_row.h"

namespace kprof {

struct RunEndToStore {
  RunRow row;
  std::optional<AuditEntry> entry;
  std::vector<LeftoverRow> told;  // what it was told of its devices: over
  std::vector<LeftoverRow> left;  // what is to be told to the next one there
  std::vector<MetricRow> kernel_metrics{};
};

// All of it, or none. Io loop only; `done` is called from it.
void StoreRunEnd(const RunContext& parts, RunEndToStore end, std::function<void(const Status&)> done);

}  // namespace kprof
