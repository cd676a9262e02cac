// Pins a run, or unpins it: one that is pinned survives retention and deletion.
#pragma once

#include <functional>
#include <string>

#include "daemon/runs/run_context.h"
#include "storage/base/status.h"
#include "storage/catalog/audit_table.h"
#include "storage/catalog/run_row.h"

namespace kprof {

// Io loop only; `done` is called from it, with the row as it is then. The audit says who it was, in the same
// transaction, where it changed anything. kNotFound when there is none.
void PinRun(const RunContext& parts, const std::string& id, bool pinned, const Actor& by,
            std::function<void(Result<RunRow>)> done);

}  // namespace kprof
