// What a start does about the runs of the daemon before it: ends processes that nobody supervises any more, fails what
// was in flight (`lost_daemon`), keeps the queue. What others started for us cannot be ended here, before serving: such
// a run stays open until nobody is left of it (recovery.h). Of a catalog that is a backup, what is open may have ended
// long since: such a run is `lost_daemon`, too, but is not said to have died, and its files are left for lost/
// (recovery.h). One that is in flight all the same keeps its devices as any other, whatever the backup has of its
// session.
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

// A run that was in flight when the daemon before this one was killed: from the start that found it until its end is
// known. What its command left is ended, or its end is awaited (Launcher::EndRemains); then, as at any end,
// `collecting` is committed and told, and only then the logs are finished, which changes the files under those who read
// them. Until then the run is open and keeps its devices, so that the next one on them is alone; should this daemon be
// killed, too, the next start finds it as this one did. Does not commit the end; that is runs.h, which owns it.
//
// Io loop only. Ends in exactly one call of `ended`, after which it may be destroyed (not from inside the call).

// Why such a run ends.
Status LostWithDaemon(const RunRow& row);

// As it ends when nobody writes to its logs any more: they are finished. Blocking: from a worker, or at the start.
RunRow EndOfLostRun(RunRow row, Files& files, const Layout& layout, int64_t now_unix_ns);

class LostRun {
 public:
  struct Events {
    std::function<void(const RunRow&)> changed;  // a new state is durable
    std::function<void(EndedRun)> ended;         // as in LifeEvents
  };
  // `row` as it was found, with LostWithDaemon as its error for who looks meanwhile.
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

// What lies in the state folder and belongs to no run: left by a crash in the middle of something, or by a catalog that
// was put back from before it.

// Folders of no run and files of no artifact go to lost/, never away: perhaps it is the catalog that is too old. Spool
// files of no open run are removed. Not urgent: from a worker, once the daemon serves; blocking. Runs that are
// submitted meanwhile are safe: only names older than `before_id` are looked at.
Status PutStraysAway(Catalog& catalog, Files& files, const Clock& clock, const std::string& before_id,
                     std::stop_token stop);

struct RecoveredRuns {
  // Those that had not ended, as they are stored, in their order; what becomes of each is up to sessions.h.
  std::vector<SessionRow> sessions;
  bool is_backup = false;  // the catalog they are from
  std::string last_session_id;
  // Those that had not ended, in their order: `queued`, ready to be queued again; or in flight, and lost.
  std::vector<RunRow> runs;
  std::set<std::string> preparing;  // those of them that are queued and run a step before their lease
  // As they ended, which could not be written down, as on a full disk; or is to be with what they left.
  struct Unstored {
    RunRow row;
    std::optional<AuditEntry> lease_ended;  // to be stored with it
    Status why;
    bool may_live_on = false;  // as in EndedRun
  };
  std::vector<Unstored> unstored;
  // As they are stored, whatever boot they are of.
  std::vector<LeftoverRow> leftovers;
};

// Its sessions and runs, the older one first.
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

// The devices that they have, or wait for.
std::set<std::string> DevicesOf(const RecoveredRuns& recovered);

// Before serving; blocking.
Result<RecoveredRuns> RecoverRuns(Catalog& catalog, Files& files, const Clock& clock);

}  // namespace kprof
