// Deletes a run that has ended: its row, then its files. Whether it may go is asked of the row itself; runs that are
// open are runs.h's business.
//
// A crash between the two, a moment long, leaves a folder of no run. The next start cannot tell it from one that an
// older catalog does not know, and keeps it in lost/ (recovery.h), where only a person removes it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "daemon/runs/run_context.h"
#include "storage/base/status.h"
#include "storage/catalog/audit_table.h"
#include "storage/catalog/device_records.h"
#include "storage/catalog/run_row.h"

namespace kprof {

// Makes the end of a run durable, and with it what goes with it: what the audit says of its lease, and which devices
// may still be used by what it left. Trying again where that fails is runs.h.
struct RunEndToStore {
  RunRow row;
  std::optional<AuditEntry> entry;
  std::vector<LeftoverRow> told;  // what it was told of its devices: over
  std::vector<LeftoverRow> left;  // what is to be told to the next one there
  std::vector<MetricRow> kernel_metrics{};
};

// All of it, or none. Io loop only; `done` is called from it.
void StoreRunEnd(const RunContext& context, RunEndToStore end, std::function<void(const Status&)> done);

// Pins a run, or unpins it: one that is pinned survives retention and deletion.

// Io loop only; `done` is called from it, with the row as it is then. The audit says who it was, in the same
// transaction, where it changed anything. kNotFound when there is none.
void PinRun(const RunContext& context, const std::string& id, bool pinned, const Actor& by,
            std::function<void(Result<RunRow>)> done);

// Io loop only; `done` is called from it. The audit says who it was, in the same transaction. On a full disk it uses
// the catalog's reserve, and fills it again afterwards. Fails with kUsage when the run is open or pinned, kNotFound
// when there is none.
void DeleteEndedRun(const RunContext& context, const std::string& id, const Actor& by,
                    std::function<void(Status)> done);

}  // namespace kprof
