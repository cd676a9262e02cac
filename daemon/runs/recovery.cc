#include "daemon/runs/recovery.h"

#include <optional>
#include <set>
#include <utility>

#include "daemon/base/log.h"
#include "daemon/launch/process_sweep.h"
#include "daemon/runs/audit/audit_log.h"
#include "daemon/runs/command/launch_spool.h"
#include "daemon/runs/command/run_end.h"
#include "daemon/runs/command/run_folder.h"
#include "daemon/runs/command/state_marker.h"
#include "daemon/runs/imports/import_request.h"
#include "daemon/runs/lost_run.h"
#include "daemon/runs/run_id.h"
#include "storage/catalog/run_list.h"
#include "storage/catalog/run_table.h"
#include "storage/catalog/session_list.h"

namespace kprof {
namespace {

constexpr int kPatientLooks = 20;

// Processes that carry the id of a run of ours that is not running: all of them, as nothing runs yet. Returns the runs
// of which some live on.
std::set<std::string> EndStaleProcesses(Db& db, const Layout& layout) {
  auto is_stale = [&](const std::string& id) {
    if (!LooksLikeRunId(id) || id.size() != kRunIdLength) return false;
    return ReadRun(db, id).ok();
  };
  const std::string ours = StateMarker(layout);
  // Supervisors end what is theirs by themselves, now that they have lost their daemon; whoever still is one after a
  // few looks only has the name.
  int looks = 0;
  int ended = KillAll([&] {
    const bool spare = ++looks <= kPatientLooks;
    return FindMarkedProcesses(is_stale, ours, spare ? Supervisors::kSpared : Supervisors::kFound);
  });
  if (ended > 0) LogWarning("ended processes of lost runs", {{"count", std::to_string(ended)}});
  std::set<std::string> left;
  auto note = [&](const std::string& id) { return is_stale(id) && left.insert(id).second; };
  (void)FindMarkedProcesses(note, ours);
  return left;
}

RunRow EndedSinceBackup(RunRow run, const Layout& layout, const Clock& clock) {
  SetEnd(run,
         Fail(ErrorCode::kLostDaemon, "run " + run.id,
              "the catalog was restored from a backup that was made before its end",
              "look for what it left in " + layout.LostFolder() + "/" + run.id + ".*"),
         clock.unix_ns());
  return run;
}

// For what a start can do without, on a disk that is full or broken.
void WarnIf(const Status& failed, const char* text) {
  if (!failed.ok()) LogWarning(text, {{"error", failed.ToString()}});
}

// What became of an open run: it is queued still, or lost and not over; or it has ended.
// `prepares`: of a queued one, that a step runs before its lease.
RunRow FoundRun(RunRow run, bool is_backup, Files& files, const Layout& layout, const Clock& clock, bool& prepares) {
  const bool queued = run.state == RunState::kQueued;
  // The state that a backup has is of its own time; this file goes when a run ends.
  const bool in_flight = is_backup ? files.OpenForRead(layout.ArtifactPath(run.id, kProgressName)).ok() : !queued;
  if (queued && run.tool == kImportTool && !is_backup) {
    // It may have been further when the power went.
    const Status removed = files.RemoveTree(layout.RunFolder(run.id));
    if (removed.code() != ErrorCode::kNotFound) WarnIf(removed, "what an import left is not removed");
    SetEnd(run,
           Fail(ErrorCode::kLostDaemon, "run " + run.id, "kprofd ended before its turn, and with it the open sources",
                "import them again"),
           clock.unix_ns());
    return run;
  }
  if (queued && !in_flight) {
    Result<LaunchRequest> spooled = ReadSpool(files, layout, run.id);
    if (spooled.ok()) {
      prepares = !spooled->prepare.empty();
      return run;
    }
    if (!is_backup) {
      LogError("a queued run lost its launch file", {{"run", run.id}, {"error", spooled.status().ToString()}});
      SetEnd(run, spooled.status().In("queue run " + run.id + " again"), clock.unix_ns());
      return run;
    }
  }
  if (!in_flight) return EndedSinceBackup(std::move(run), layout, clock);
  LogWarning("run was lost", {{"run", run.id}, {"state", std::string(RunStateName(run.state))}});
  if (run.starter == RunStarter::kDaemon) return EndOfLostRun(std::move(run), files, layout, clock.unix_ns());
  if (queued) run.state = RunState::kRunning;  // since the backup
  return run;
}

// Unfinished copies go; the folder itself stays, which a full disk might not give back.
Status EmptyTemporaryFolder(Files& files, const Layout& layout) {
  ASSIGN_OR_RETURN(std::vector<FolderEntry> entries, files.List(layout.TemporaryFolder()));
  for (const FolderEntry& entry : entries) {
    const std::string path = layout.TemporaryFolder() + "/" + entry.name;
    RETURN_IF_ERROR(entry.is_folder ? files.RemoveTree(path) : files.Remove(path));
  }
  return OkStatus();
}

void StoreEnd(Catalog& catalog, RunRow run, std::optional<AuditEntry> lease_ended, RecoveredRuns& recovered) {
  Status stored = catalog.writer().SubmitAndWait([&](Db& db) -> Status {
    RETURN_IF_ERROR(UpdateRun(db, run));
    return lease_ended ? AppendAudit(db, *lease_ended) : OkStatus();
  });
  if (stored.ok()) return;
  LogError("the end of a run cannot be stored", {{"run", run.id}, {"error", stored.ToString()}});
  recovered.unstored.push_back({std::move(run), std::move(lease_ended), stored, false});
}

}  // namespace

std::set<std::string> DevicesOf(const RecoveredRuns& recovered) {
  std::set<std::string> devices;
  for (const SessionRow& session : recovered.sessions) devices.insert(session.devices.begin(), session.devices.end());
  for (const RunRow& run : recovered.runs) devices.insert(run.devices.begin(), run.devices.end());
  return devices;
}

Result<RecoveredRuns> RecoverRuns(Catalog& catalog, Files& files, const Clock& clock) {
  const Layout& layout = catalog.layout();
  RETURN_IF_ERROR(files.CreateFolder(layout.SpoolFolder()));
  RETURN_IF_ERROR(files.CreateFolder(layout.TemporaryFolder()));
  WarnIf(EmptyTemporaryFolder(files, layout), "unfinished copies are not removed");
  // A spooled file is only as safe as its folder.
  WarnIf(files.SyncFolder(layout.state_folder), "the state folder's names may not outlast a loss of power");
  std::vector<RunRow> open;
  std::set<std::string> living_on;
  RecoveredRuns recovered;
  {
    ASSIGN_OR_RETURN(ReaderPool::Lease reader, catalog.readers().Borrow());
    ASSIGN_OR_RETURN(open, ReadOpenRuns(*reader));
    ASSIGN_OR_RETURN(recovered.sessions, ReadOpenSessions(*reader));
    ASSIGN_OR_RETURN(recovered.last_session_id, ReadLastSessionId(*reader));
    ASSIGN_OR_RETURN(recovered.leftovers, ReadLeftovers(*reader));
    living_on = EndStaleProcesses(*reader, layout);
  }
  recovered.is_backup = catalog.is_backup();
  for (RunRow& stored : open) {
    const bool had_lease = stored.state != RunState::kQueued;  // if any: both are stored at once
    bool prepares = false;
    RunRow run = FoundRun(std::move(stored), catalog.is_backup(), files, layout, clock, prepares);
    if (!IsTerminal(run.state)) {
      if (prepares) recovered.preparing.insert(run.id);
      recovered.runs.push_back(std::move(run));
      continue;
    }
    std::optional<AuditEntry> lease_ended;
    if (std::optional<Lease> lease = LeaseOf(run); lease && had_lease) {
      lease_ended = LeaseEnded(*lease, std::string(ErrorName(ErrorCode::kLostDaemon)), std::nullopt, clock.unix_ns());
    }
    if (living_on.contains(run.id)) {
      LogError("processes of a lost run may live on", {{"run", run.id}});
      run.trust.push_back(MayLiveOn(Fail(ErrorCode::kCommandFailed, "end it", "they could not be ended")));
      recovered.unstored.push_back({std::move(run), std::move(lease_ended), OkStatus(), true});
      continue;
    }
    StoreEnd(catalog, std::move(run), std::move(lease_ended), recovered);
  }
  if (catalog.is_backup()) WarnIf(catalog.ForgetBackup(), "the catalog is still taken for a backup at the next start");
  return recovered;
}

}  // namespace kprof
