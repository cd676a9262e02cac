// Recovers, at a start, the runs of the daemon before: ends processes that nobody supervises any more, fails runs that
// were in flight (`lost_daemon`), keeps the queue. Later, files of no run are put away.
//
// Processes that others started for the daemon cannot be ended before it serves: such a run stays open until none of
// them is left (LostRun).
//
// In a catalog that is a backup an open run may have ended long since. Such a run is `lost_daemon`, too, but not said
// to have died, and its files go to lost/ (PutStraysAway). If it is in flight all the same, it keeps its devices as any
// other, whatever the backup has of its session.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "daemon/process/launchers/launcher.h"
#include "daemon/runs/command/run_end.h"
#include "daemon/runs/run_context.h"
#include "storage/base/clock.h"
#include "storage/base/descriptors.h"
#include "storage/base/files.h"
#include "storage/base/status.h"
#include "storage/catalog/audit_table.h"
#include "storage/catalog/catalog.h"
#include "storage/catalog/device_records.h"
#include "storage/catalog/run_row.h"
#include "storage/catalog/session_row.h"
#include "storage/db/layout.h"

namespace kprof {

// The error of a run that was in flight when its daemon was killed.
Status LostWithDaemon(const RunRow& row);

// Such a run as it ends, when nobody writes to its logs any more: finishes them. Blocking: from a worker, or at the
// start.
RunRow EndOfLostRun(RunRow row, Files& files, const Layout& layout, int64_t now_unix_ns);

// A run that was in flight when the daemon before this one was killed: from the start that found it until its end is
// known. Its remaining processes are ended, or their end is awaited (Launcher::EndRemains). Then, as at any end,
// `collecting` is committed and told, and only then the logs are finished: that changes the files under their readers.
// Until then the run is open and keeps its devices, so that the next one on them is alone. If this daemon is killed,
// too, the next start finds the run as this one did. Does not commit the end; that is runs.h, which owns it.
//
// Io loop only. Ends in exactly one call of `ended`, after which it may be destroyed (not from inside the call).
class LostRun {
 public:
  struct Events {
    std::function<void(const RunRow&)> changed;  // a new state is durable
    std::function<void(EndedRun)> ended;         // as in LifeEvents
  };
  // `row`: as it was found, with LostWithDaemon as its error for those who look meanwhile.
  LostRun(const RunContext& context, RunRow row, Events events);

  void Begin();

 private:
  void EndRemains(UniqueFd progress);
  void OnRemainsEnded(const Status& ended);
  void BeginCollecting();
  void Collect();

  const RunContext context_;
  const Events events_;
  RunRow row_;
  bool may_live_on_ = false;
};

// Puts away files in the state folder that belong to no run: left by a crash in the middle of something, or by a
// catalog that was put back from before it. Folders of no run and files of no artifact go to lost/, never away: perhaps
// the catalog is too old. Spool files of no open run are removed. Not urgent: from a worker, once the daemon serves;
// blocking. Runs that are submitted meanwhile are safe: only names older than `before_id` are looked at.
Status PutStraysAway(Catalog& catalog, Files& files, const Clock& clock, const std::string& before_id,
                     std::stop_token stop);

struct RecoveredRuns {
  // Sessions that had not ended, as they are stored, in their order; sessions.h decides what becomes of each.
  std::vector<SessionRow> sessions;
  bool is_backup = false;  // the catalog is one
  std::string last_session_id;
  // Runs that had not ended, in their order: `queued`, ready to be queued again; or in flight, and lost.
  std::vector<RunRow> runs;
  std::set<std::string> preparing;  // queued ones that run a step before their lease
  // Runs whose end is not stored: it could not be, as on a full disk, or it is to be stored with a note of the
  // processes that they left.
  struct Unstored {
    RunRow row;
    std::optional<AuditEntry> lease_ended;  // to be stored with it
    Status why;
    bool may_live_on = false;  // as in EndedRun
  };
  std::vector<Unstored> unstored;
  // As they are stored, of any boot.
  std::vector<LeftoverRow> leftovers;
};

// Calls these for its sessions and runs, the oldest first.
template <typename OnSession, typename OnRun>
void TakeInOrder(RecoveredRuns& recovered, const OnSession& on_session, const OnRun& on_run) {
  auto session = recovered.sessions.begin();
  auto run = recovered.runs.begin();
  while (session != recovered.sessions.end() || run != recovered.runs.end()) {
    const bool is_session =
        run == recovered.runs.end() || (session != recovered.sessions.end() && session->id < run->id);
    is_session ? on_session(std::move(*session++)) : on_run(std::move(*run++));
  }
}

// The devices that these sessions and runs have, or wait for.
std::set<std::string> DevicesOf(const RecoveredRuns& recovered);

// Before serving; blocking.
Result<RecoveredRuns> RecoverRuns(Catalog& catalog, Files& files, const Clock& clock);

}  // namespace kprof
