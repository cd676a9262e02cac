#include "daemon/runs/recovery.h"

#include <optional>
#include <utility>

#include "daemon/base/log.h"
#include "daemon/process/process_sweep.h"
#include "daemon/runs/audit_log.h"
#include "daemon/runs/launch_spool.h"
#include "daemon/runs/run_end.h"
#include "daemon/runs/run_folder.h"
#include "daemon/runs/run_id.h"
#include "daemon/runs/state_marker.h"
#include "storage/catalog/run_list.h"
#include "storage/catalog/run_table.h"
#include "storage/catalog/session_list.h"

namespace kprof {
namespace {

constexpr int kPatientLooks = 20;

// Processes that carry the id of a run of ours that is not running: all of them, as nothing runs yet.
void EndStaleProcesses(Db& db, const Layout& layout) {
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
}

// The run as it is to be stored; its logs are finished.
RunRow LostRun(RunRow run, Files& files, const Layout& layout, const Clock& clock) {
  Result<Collected> collected = CollectRunFolder(files, layout, run.id);
  if (collected.ok()) {
    SetCollected(run, *std::move(collected));
  } else {
    LogWarning("logs of a lost run are not kept", {{"run", run.id}, {"error", collected.status().ToString()}});
  }
  SetEnd(run, Fail(ErrorCode::kLostDaemon, "run " + run.id, "kprofd died under it", "run it again"), clock.unix_ns());
  return run;
}

RunRow EndedSinceBackup(RunRow run, const Layout& layout, const Clock& clock) {
  SetEnd(run,
         Fail(ErrorCode::kLostDaemon, "run " + run.id,
              "the catalog was restored from a backup that was made before its end",
              "look for what it left in " + layout.LostFolder() + "/" + run.id + ".*"),
         clock.unix_ns());
  return run;
}

// How an open run ended; nothing for one that is still to run.
std::optional<RunRow> EndOf(RunRow run, bool is_backup, Files& files, const Layout& layout, const Clock& clock) {
  const bool queued = run.state == RunState::kQueued;
  // The state that a backup has is of its own time; this file goes when a run ends.
  const bool in_flight = is_backup ? files.OpenForRead(layout.ArtifactPath(run.id, kProgressName)).ok() : !queued;
  if (queued && !in_flight) {
    Result<LaunchRequest> spooled = ReadSpool(files, layout, run.id);
    if (spooled.ok()) return std::nullopt;
    if (!is_backup) {
      LogError("a queued run lost its launch file", {{"run", run.id}, {"error", spooled.status().ToString()}});
      SetEnd(run, spooled.status().In("queue run " + run.id + " again"), clock.unix_ns());
      return run;
    }
  }
  if (!in_flight) return EndedSinceBackup(std::move(run), layout, clock);
  LogWarning("run was lost", {{"run", run.id}, {"state", std::string(RunStateName(run.state))}});
  return LostRun(std::move(run), files, layout, clock);
}

// For what a start can do without, on a disk that is full or broken.
void WarnIf(const Status& failed, const char* text) {
  if (!failed.ok()) LogWarning(text, {{"error", failed.ToString()}});
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

// `held_devices`: it had been granted them, and the audit says so.
void StoreEnd(Catalog& catalog, RunRow run, bool held_devices, const Clock& clock, RecoveredRuns& recovered) {
  Status stored = catalog.writer().SubmitAndWait([&](Db& db) -> Status {
    RETURN_IF_ERROR(UpdateRun(db, run));
    if (!held_devices) return OkStatus();
    const Lease lease{.uid = run.uid, .run_id = run.id, .devices = run.devices};
    return AppendAudit(
        db, AuditEntryOf(lease, audit::kLeaseEnded, std::string(ErrorName(ErrorCode::kLostDaemon)), clock.unix_ns()));
  });
  if (stored.ok()) return;
  LogError("the end of a run cannot be stored", {{"run", run.id}, {"error", stored.ToString()}});
  recovered.unstored.push_back({std::move(run), stored});
}

}  // namespace

Result<RecoveredRuns> RecoverRuns(Catalog& catalog, Files& files, const Clock& clock) {
  const Layout& layout = catalog.layout();
  RETURN_IF_ERROR(files.CreateFolder(layout.SpoolFolder()));
  RETURN_IF_ERROR(files.CreateFolder(layout.TemporaryFolder()));
  WarnIf(EmptyTemporaryFolder(files, layout), "unfinished copies are not removed");
  // A spooled file is only as safe as its folder.
  WarnIf(files.SyncFolder(layout.state_folder), "the state folder's names may not outlast a loss of power");
  std::vector<RunRow> open;
  RecoveredRuns recovered;
  {
    ASSIGN_OR_RETURN(ReaderPool::Lease reader, catalog.readers().Borrow());
    ASSIGN_OR_RETURN(open, ReadOpenRuns(*reader));
    ASSIGN_OR_RETURN(recovered.sessions, ReadOpenSessions(*reader));
    ASSIGN_OR_RETURN(recovered.last_session_id, ReadLastSessionId(*reader));
    EndStaleProcesses(*reader, layout);
  }
  recovered.is_backup = catalog.is_backup();
  for (RunRow& run : open) {
    std::optional<RunRow> ended = EndOf(run, catalog.is_backup(), files, layout, clock);
    if (ended.has_value()) {
      const bool held_devices = run.state != RunState::kQueued && !run.devices.empty();
      StoreEnd(catalog, *std::move(ended), held_devices, clock, recovered);
    } else {
      recovered.queued.push_back(std::move(run));
    }
  }
  if (catalog.is_backup()) WarnIf(catalog.ForgetBackup(), "the catalog is still taken for a backup at the next start");
  return recovered;
}

}  // namespace kprof
