#include "daemon/runs/recovery.h"

#include <set>

#include "daemon/base/log.h"
#include "daemon/process/process_sweep.h"
#include "daemon/runs/launch_spool.h"
#include "daemon/runs/run_end.h"
#include "daemon/runs/run_folder.h"
#include "daemon/runs/run_id.h"
#include "daemon/runs/state_marker.h"
#include "storage/catalog/run_list.h"
#include "storage/catalog/run_table.h"

namespace kprof {
namespace {

// Processes that carry the id of a run of ours that is not running: all of them, as nothing runs yet.
void EndStaleProcesses(Db& db, const Layout& layout) {
  auto is_stale = [&](const std::string& id) {
    if (!LooksLikeRunId(id) || id.size() != kRunIdLength) return false;
    return ReadRun(db, id).ok();
  };
  const std::string ours = StateMarker(layout);
  int ended = KillAll([&] { return FindMarkedProcesses(is_stale, ours); });
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

void StoreEnd(Catalog& catalog, RunRow run, RecoveredRuns& recovered) {
  Status stored = catalog.writer().SubmitAndWait([&](Db& db) { return UpdateRun(db, run); });
  if (stored.ok()) return;
  LogError("the end of a run cannot be stored", {{"run", run.id}, {"error", stored.ToString()}});
  recovered.unstored.push_back({std::move(run), stored});
}

// What a run's folder holds that the catalog does not know.
struct Leftovers {
  std::vector<std::string> names;
  bool whole_folder = false;  // of a run that has ended and left nothing
};

Result<Leftovers> FindLeftovers(Db& db, Files& files, const Layout& layout, const std::string& run_id) {
  ASSIGN_OR_RETURN(std::vector<FolderEntry> inside, files.List(layout.RunFolder(run_id)));
  ASSIGN_OR_RETURN(RunRow run, ReadRun(db, run_id));
  Leftovers leftovers;
  if (!IsTerminal(run.state)) return leftovers;
  leftovers.whole_folder = run.artifacts.empty();
  std::set<std::string> known;
  for (const ArtifactRow& artifact : run.artifacts) known.insert(artifact.name);
  for (const FolderEntry& entry : inside) {
    if (!known.contains(entry.name)) leftovers.names.push_back(entry.name);
  }
  return leftovers;
}

// Out of the way, but there: an older catalog that was put in place, or none, knows less than the folders hold.
Status MoveToLost(Files& files, const Layout& layout, const std::string& path, const std::string& name) {
  RETURN_IF_ERROR(files.CreateFolder(layout.LostFolder()));
  std::string target = layout.LostFolder() + "/" + name;
  // A name that is taken already, by an earlier find, gets a time behind it.
  if (files.OpenForRead(target).ok() || files.List(target).ok()) {
    target += "." + std::to_string(RealClock().unix_ns());
  }
  return files.Rename(path, target);
}

Status RemoveLeftovers(Catalog& catalog, Files& files, const std::string& run_id) {
  // Asked again on the writer thread: there, no upload is between its file and its row.
  return catalog.writer().SubmitAndWait([&](Db& db) -> Status {
    const Layout& layout = catalog.layout();
    ASSIGN_OR_RETURN(Leftovers leftovers, FindLeftovers(db, files, layout, run_id));
    for (const std::string& name : leftovers.names) {
      LogWarning("a file of no artifact goes to lost/", {{"run", run_id}, {"name", name}});
      RETURN_IF_ERROR(MoveToLost(files, layout, layout.ArtifactPath(run_id, name), run_id + "." + name));
    }
    return leftovers.whole_folder ? files.RemoveTree(layout.RunFolder(run_id)) : OkStatus();
  });
}

Status RemoveOrphanedFolder(Catalog& catalog, Files& files, const std::string& name, std::stop_token stop) {
  const Layout& layout = catalog.layout();
  Result<Leftovers> leftovers = [&]() -> Result<Leftovers> {
    // Given back at once: what removes something waits for the writer.
    ASSIGN_OR_RETURN(ReaderPool::Lease reader, catalog.readers().Borrow(stop));
    return FindLeftovers(*reader, files, layout, name);
  }();
  if (leftovers.ok()) {
    const bool nothing = leftovers->names.empty() && !leftovers->whole_folder;
    return nothing ? OkStatus() : RemoveLeftovers(catalog, files, name);
  }
  if (leftovers.status().code() != ErrorCode::kNotFound) return leftovers.status();
  LogWarning("a folder of no run goes to lost/", {{"name", name}});
  return MoveToLost(files, layout, layout.RunFolder(name), name);
}

Status RemoveOrphanedSpool(Catalog& catalog, Files& files, const std::string& name, std::stop_token stop) {
  {
    ASSIGN_OR_RETURN(ReaderPool::Lease reader, catalog.readers().Borrow(stop));
    Result<RunRow> run = ReadRun(*reader, name);
    // Of an open run, even one that is no longer queued: it may be about to read it.
    if (run.ok() && !IsTerminal(run->state)) return OkStatus();
    if (!run.ok() && run.status().code() != ErrorCode::kNotFound) return run.status();
  }
  return RemoveSpool(files, catalog.layout(), name);
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
  {
    ASSIGN_OR_RETURN(ReaderPool::Lease reader, catalog.readers().Borrow());
    ASSIGN_OR_RETURN(open, ReadOpenRuns(*reader));
    EndStaleProcesses(*reader, layout);
  }
  RecoveredRuns recovered;
  for (RunRow& run : open) {
    if (run.state == RunState::kQueued) {
      Result<LaunchRequest> spooled = ReadSpool(files, layout, run.id);
      if (spooled.ok()) {
        recovered.queued.push_back(std::move(run));
        continue;
      }
      LogError("a queued run lost its launch file", {{"run", run.id}, {"error", spooled.status().ToString()}});
      SetEnd(run, spooled.status().In("queue run " + run.id + " again"), clock.unix_ns());
      StoreEnd(catalog, std::move(run), recovered);
      continue;
    }
    LogWarning("run was lost", {{"run", run.id}, {"state", std::string(RunStateName(run.state))}});
    StoreEnd(catalog, LostRun(std::move(run), files, layout, clock), recovered);
  }
  return recovered;
}

Status RemoveOrphans(Catalog& catalog, Files& files, const std::string& before_id, std::stop_token stop) {
  const Layout& layout = catalog.layout();
  ASSIGN_OR_RETURN(std::vector<FolderEntry> folders, files.List(layout.RunsFolder()));
  for (const FolderEntry& entry : folders) {
    if (stop.stop_requested()) return OkStatus();
    if (entry.name < before_id) RETURN_IF_ERROR(RemoveOrphanedFolder(catalog, files, entry.name, stop));
  }
  ASSIGN_OR_RETURN(std::vector<FolderEntry> spools, files.List(layout.SpoolFolder()));
  for (const FolderEntry& entry : spools) {
    if (stop.stop_requested()) return OkStatus();
    if (entry.name < before_id) RETURN_IF_ERROR(RemoveOrphanedSpool(catalog, files, entry.name, stop));
  }
  return OkStatus();
}

}  // namespace kprof
