// What a start does about the runs of the daemon before it: ends processes that nobody supervises any more, fails what
// was in flight (`lost_daemon`), keeps the queue. What others started for us cannot be ended here, before serving: such
// a run stays open until nobody is left of it (lost_run.h). Of a catalog that is a backup, what is open may have ended
// long since: such a run is `lost_daemon`, too, but is not said to have died, and its files are left for lost/
// (stray_files.h). One that is in flight all the same keeps its devices as any other, whatever the backup has of its
// session.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "storage/base/clock.h"
#include "storage/base/files.h"
#include "storage/base/status.h"
#include "storage/catalog/audit_table.h"
#include "storage/catalog/catalog.h"
#include "storage/catalog/leftover_table.h"
#include "storage/catalog/run_row.h"
#include "storage/catalog/session_row.h"

namespace kprof {

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
