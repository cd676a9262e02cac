// Deletes a run that has ended: its row, then its files. Whether it may go is asked of the row itself; runs that are
// open are runs.h's business.
//
// A crash between the two, a moment long, leaves a folder of no run. The next start cannot tell it from one that an
// older catalog does not know, and keeps it in lost/ (stray_files.h), where only a person removes it.
#pragma once

#include <functional>
#include <string>

#include "daemon/runs/run_context.h"
#include "storage/base/status.h"
#include "storage/catalog/audit_table.h"

namespace kprof {

// Io loop only; `done` is called from it. The audit says who it was, in the same transaction. On a full disk it uses
// the catalog's reserve, and fills it again afterwards. Fails with kUsage when the run is open or pinned, kNotFound
// when there is none.
void DeleteEndedRun(const RunContext& parts, const std::string& id, const Actor& by, std::function<void(Status)> done);

}  // namespace kprof
