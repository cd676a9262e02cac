#include "daemon/runs/recovery.h"

#include <fcntl.h>

#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "daemon/base/log.h"
#include "daemon/launch/process_sweep.h"
#include "daemon/runs/audit/audit_log.h"
#include "daemon/runs/command/launch_spool.h"
#include "daemon/runs/command/run_end.h"
#include "daemon/runs/command/run_folder.h"
#include "daemon/runs/imports/import_request.h"
#include "daemon/runs/run_id.h"
#include "storage/catalog/run_list.h"
#include "storage/catalog/run_table.h"
#include "storage/catalog/session_table.h"

namespace kprof {
namespace {

// Invalid when it is not there: then nothing was launched, or the run was collected already.
UniqueFd OpenProgress(Files& files, const Layout& layout, const std::string& id) {
  Result<std::unique_ptr<File>> file = files.OpenForRead(layout.ArtifactPath(id, kProgressName));
  return file.ok() ? UniqueFd(::fcntl((*file)->fd(), F_DUPFD_CLOEXEC, 0)) : UniqueFd();
}

// Copies that it had begun of files that its command left: nobody will know them.
void RemoveAllButLogs(Files& files, const Layout& layout, const std::string& id) {
  const Result<std::vector<FolderEntry>> entries = files.List(layout.RunFolder(id));
  if (!entries.ok()) return;
  for (const FolderEntry& entry : *entries) {
    if (entry.name == kStdoutName || entry.name == kStderrName || entry.name == kProgressName) continue;
    (void)files.Remove(layout.ArtifactPath(id, entry.name));
  }
}

}  // namespace

Status LostWithDaemon(const RunRow& row) {
  return Fail(ErrorCode::kLostDaemon, "run " + row.id, "kprofd died under it",
              row.tool == kImportTool ? "import it again" : "run it again");
}

RunRow EndOfLostRun(RunRow row, Files& files, const Layout& layout, int64_t now_unix_ns) {
  RemoveAllButLogs(files, layout, row.id);
  Result<Collected> collected = CollectRunFolder(files, layout, row.id, false);
  if (collected.ok()) {
    SetCollected(row, *std::move(collected));
  } else {
    LogWarning("logs of a lost run are not kept", {{"run", row.id}, {"error", collected.status().ToString()}});
  }
  SetEnd(row, LostWithDaemon(row), now_unix_ns);
  return row;
}

LostRun::LostRun(const RunContext& context, RunRow row, Events events)
    : context_(context), events_(std::move(events)), row_(std::move(row)) {}

void LostRun::Begin() {
  KPROF_ON_IO_LOOP(context_.loop);
  auto open = [this, id = row_.id] {
    // Shared: std::function copies its captures.
    auto progress = std::make_shared<UniqueFd>(OpenProgress(context_.files, context_.catalog.layout(), id));
    context_.loop.Post([this, progress] { EndRemains(std::move(*progress)); });
  };
  Status submitted = context_.files_work.Submit(std::move(open));
  if (!submitted.ok()) context_.loop.Post([this] { EndRemains(UniqueFd()); });
}

void LostRun::EndRemains(UniqueFd progress) {
  context_.launcher.EndRemains({row_.starter, row_.uid}, row_.id, std::move(progress),
                               [this](const Status& ended) { OnRemainsEnded(ended); });
}

void LostRun::OnRemainsEnded(const Status& ended) {
  // The daemon before this one may have stored what it knew of that; this is newer.
  std::erase_if(row_.trust, [](const TrustReason& reason) { return reason.code == kProcessesUnkillable; });
  if (!ended.ok()) {
    LogError("processes of a lost run may live on", {{"run", row_.id}, {"error", ended.ToString()}});
    row_.trust.push_back(MayLiveOn(ended));
    may_live_on_ = true;
  }
  BeginCollecting();
}

void LostRun::BeginCollecting() {
  row_.state = RunState::kCollecting;
  if (!row_.ended_ns) row_.ended_ns = context_.clock.unix_ns();
  // The writer may answer when we are gone; what it posts then never runs.
  context_.catalog.writer().Submit([row = row_](Db& db) { return UpdateRun(db, row); },
                                   [this, &loop = context_.loop](const Status& status) {
                                     loop.Post([this, status] {
                                       if (status.ok()) {
                                         events_.changed(row_);
                                       } else {  // as on a full disk; its end is tried until it is stored
                                         LogWarning("run in trouble", {{"run", row_.id}, {"error", status.ToString()}});
                                       }
                                       Collect();
                                     });
                                   });
}

void LostRun::Collect() {
  auto work = [this, row = row_, now_ns = context_.clock.unix_ns()] {
    auto end = std::make_shared<RunRow>(EndOfLostRun(row, context_.files, context_.catalog.layout(), now_ns));
    context_.loop.Post([this, end] { events_.ended({std::move(*end), may_live_on_}); });
  };
  Status submitted = context_.files_work.Submit(std::move(work));
  if (submitted.ok()) return;
  LogWarning("logs of a lost run are not kept", {{"run", row_.id}, {"error", submitted.ToString()}});
  SetEnd(row_, LostWithDaemon(row_), context_.clock.unix_ns());
  context_.loop.Post([this] { events_.ended({row_, may_live_on_}); });
}

namespace {

// What a run's folder holds that the catalog does not know.
struct Strays {
  std::vector<std::string> names;
  bool whole_folder = false;  // of a run that has ended and left nothing
};

Result<Strays> FindStrays(Db& db, Files& files, const Layout& layout, const std::string& run_id) {
  ASSIGN_OR_RETURN(RunRow run, ReadRun(db, run_id));
  Strays strays;
  if (!IsTerminal(run.state)) return strays;  // its folder is its own, which it may be making anew
  Result<std::vector<FolderEntry>> inside = files.List(layout.RunFolder(run_id));
  if (inside.status().code() == ErrorCode::kNotFound) return strays;
  if (!inside.ok()) return inside.status();
  strays.whole_folder = run.artifacts.empty() && run.trace.empty();
  std::set<std::string> known;
  for (const ArtifactRow& artifact : run.artifacts) known.insert(artifact.name);
  for (const TracePartRow& part : run.trace) known.insert(part.name + std::string(kTracePartEnding));
  for (const FolderEntry& entry : *inside) {
    if (!known.contains(entry.name)) strays.names.push_back(entry.name);
  }
  return strays;
}

// Out of the way, but there: an older catalog that was put in place, or none, knows less than the folders hold.
Status MoveToLost(Files& files, const Layout& layout, const Clock& clock, const std::string& path,
                  const std::string& name) {
  RETURN_IF_ERROR(files.CreateFolder(layout.LostFolder()));
  std::string target = layout.LostFolder() + "/" + name;
  // A name that is taken already, by an earlier find, gets a time behind it.
  if (files.OpenForRead(target).ok() || files.List(target).ok()) {
    target += "." + std::to_string(clock.unix_ns());
  }
  return files.Rename(path, target);
}

Status PutFilesAway(Catalog& catalog, Files& files, const Clock& clock, const std::string& run_id) {
  // Asked again on the writer thread: there, no upload is between its file and its row.
  return catalog.writer().SubmitAndWait([&](Db& db) -> Status {
    const Layout& layout = catalog.layout();
    ASSIGN_OR_RETURN(Strays strays, FindStrays(db, files, layout, run_id));
    for (const std::string& name : strays.names) {
      LogWarning("a file of no artifact goes to lost/", {{"run", run_id}, {"name", name}});
      RETURN_IF_ERROR(MoveToLost(files, layout, clock, layout.ArtifactPath(run_id, name), run_id + "." + name));
    }
    return strays.whole_folder ? files.RemoveTree(layout.RunFolder(run_id)) : OkStatus();
  });
}

Status PutFolderAway(Catalog& catalog, Files& files, const Clock& clock, const std::string& name,
                     std::stop_token stop) {
  const Layout& layout = catalog.layout();
  Result<Strays> strays = [&]() -> Result<Strays> {
    // Given back at once: what removes something waits for the writer.
    ASSIGN_OR_RETURN(ReaderPool::Lease reader, catalog.readers().Borrow(stop));
    return FindStrays(*reader, files, layout, name);
  }();
  if (strays.ok()) {
    const bool nothing = strays->names.empty() && !strays->whole_folder;
    return nothing ? OkStatus() : PutFilesAway(catalog, files, clock, name);
  }
  if (strays.status().code() != ErrorCode::kNotFound) return strays.status();
  LogWarning("a folder of no run goes to lost/", {{"name", name}});
  return MoveToLost(files, layout, clock, layout.RunFolder(name), name);
}

Status RemoveStraySpool(Catalog& catalog, Files& files, const std::string& name, std::stop_token stop) {
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

Status PutStraysAway(Catalog& catalog, Files& files, const Clock& clock, const std::string& before_id,
                     std::stop_token stop) {
  const Layout& layout = catalog.layout();
  ASSIGN_OR_RETURN(std::vector<FolderEntry> folders, files.List(layout.RunsFolder()));
  for (const FolderEntry& entry : folders) {
    if (stop.stop_requested()) return OkStatus();
    if (entry.name < before_id) RETURN_IF_ERROR(PutFolderAway(catalog, files, clock, entry.name, stop));
  }
  ASSIGN_OR_RETURN(std::vector<FolderEntry> spools, files.List(layout.SpoolFolder()));
  for (const FolderEntry& entry : spools) {
    if (stop.stop_requested()) return OkStatus();
    if (entry.name < before_id) RETURN_IF_ERROR(RemoveStraySpool(catalog, files, entry.name, stop));
  }
  return OkStatus();
}

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
