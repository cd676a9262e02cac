// What a start does about the runs of the daemon before it: ends processes that nobody supervises any more, fails what
// was in flight (`lost_daemon`), keeps the queue, puts what belongs to no run out of the way.
#pragma once

#include <stop_token>
#include <vector>

#include "daemon/base/clock.h"
#include "storage/base/files.h"
#include "storage/base/status.h"
#include "storage/catalog/catalog.h"
#include "storage/catalog/run_row.h"

namespace kprof {

struct RecoveredRuns {
  std::vector<RunRow> queued;  // in their order, ready to be queued again
  // As they ended, which could not be written down, as on a full disk.
  struct Unstored {
    RunRow row;
    Status why;
  };
  std::vector<Unstored> unstored;
};
// Before serving; blocking.
Result<RecoveredRuns> RecoverRuns(Catalog& catalog, Files& files, const Clock& clock);

// Folders of no run and files of no artifact go to lost/, never away: perhaps it is the catalog that is too old. Spool
// files of no queued run are removed. Not urgent: from a worker, once the daemon serves. Runs that are submitted
// meanwhile are safe: only names older than `before_id` are looked at.
Status RemoveOrphans(Catalog& catalog, Files& files, const std::string& before_id, std::stop_token stop);

}  // namespace kprof
