// Changes stored runs: stores the end of a run, pins a run, deletes one that has ended. Open runs are runs.h's
// business.
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

// The end of a run, and what is stored with it: the audit's entry of its lease, and the devices that its processes may
// still use.
struct RunEndToStore {
  RunRow row;
  std::optional<AuditEntry> entry;
  std::vector<LeftoverRow> told;  // notes that it was told: over
  std::vector<LeftoverRow> left;  // notes for the next run there
  std::vector<MetricRow> kernel_metrics{};
};

// Commits what must not be lost, or makes room: on a full disk once more, with the space of the catalog's reserve,
// which storage_room.h takes back. Any thread; `done` is called on any thread.
void SubmitWithReserve(const RunContext& context, Writer::Job job, Writer::Done done);

// True if the file system of the state folder has less left than the reserve, so that files which are removed make room
// for what is written next. Where writes fail for another reason (a quota, inodes), removing files first would lose
// them for nothing. From a worker.
bool RemovalMakesRoom(const RunContext& context);

// Stores all of it, or nothing; with the reserve on a full disk. Trying again after a failure is runs.h. Io loop only;
// `done` is called from it.
void StoreRunEnd(const RunContext& context, RunEndToStore end, std::function<void(const Status&)> done);

// The same, and deletes the run in the same transaction, which takes less space than two. Its files are the caller's.
void StoreRunEndAndDelete(const RunContext& context, RunEndToStore end, const Actor& by,
                          std::function<void(const Status&)> done);

// Pins a run, or unpins it: a pinned run survives retention and deletion. Io loop only; `done` is called from it, with
// the row as it is then. Where it changed anything, the audit says who it was, in the same transaction. kNotFound when
// there is none.
void PinRun(const RunContext& context, const std::string& id, bool pinned, const Actor& by,
            std::function<void(Result<RunRow>)> done);

// Deletes a run that has ended: its row, then its files; the row itself says whether it may go. Io loop only; `done` is
// called from it. The audit says who it was, in the same transaction. On a full disk it uses the catalog's reserve, and
// fills it again afterwards; where that is not enough and RemovalMakesRoom, the files go first. Fails with kUsage when
// the run is open or pinned, kNotFound when there is none.
//
// A crash between row and files, a moment long, leaves a folder of no run. The next start cannot tell it from a folder
// that an older catalog does not know, and keeps it in lost/ (recovery.h), where only a person removes it.
void DeleteEndedRun(const RunContext& context, const std::string& id, const Actor& by,
                    std::function<void(Status)> done);

}  // namespace kprof
