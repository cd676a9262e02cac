#include "daemon/runs/lost_run.h"

#include <fcntl.h>

#include <memory>
#include <utility>

#include "daemon/base/log.h"
#include "daemon/runs/command/run_folder.h"
#include "daemon/runs/imports/import_request.h"
#include "storage/catalog/run_table.h"

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

LostRun::LostRun(const RunContext& parts, RunRow row, Events events)
    : context_(parts), events_(std::move(events)), row_(std::move(row)) {}

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

}  // namespace kprof
