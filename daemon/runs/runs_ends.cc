// How a run leaves Runs: its life is over, its end is made durable, its watchers are told, it is forgotten.
#include "daemon/runs/runs.h"

#include <algorithm>
#include <utility>

#include "daemon/base/log.h"
#include "daemon/capture/tools.h"
#include "daemon/runs/audit/audit_log.h"
#include "daemon/runs/command/command_life.h"
#include "daemon/runs/command/launch_spool.h"
#include "daemon/runs/retention/ended_runs.h"

namespace kprof {

// `outcome`: how it came to an end, as far as that is known. Nothing for one that had no lease.
std::optional<AuditEntry> Runs::EndLease(const OpenRun& open, const RunRow& row, const std::string& outcome) {
  std::optional<Lease> lease = LeaseOf(row);
  if (!lease) return std::nullopt;
  const int64_t held_ns = context_.clock.mono_ns() - open.granted_mono_ns;
  if (context_.observer != nullptr) context_.observer->OnLeaseEnded(*lease, held_ns, outcome);
  return LeaseEnded(*lease, outcome, open.lost ? std::nullopt : std::optional(held_ns), context_.clock.unix_ns());
}

void Runs::OnLifeEnded(EndedRun ended) {
  const std::string id = ended.row.id;
  OpenRun& open = open_.at(id);
  const bool had_lease = open.has_devices || open.lost;
  // The queue stays as it is: the next start runs its step anew.
  const bool daemon_stops = stopped_ && ended.row.error && ended.row.error->code == ErrorName(ErrorCode::kLostDaemon);
  if (daemon_stops && !had_lease) return LeaveQueued(id);
  open.end = std::move(ended.row);
  open.kernel_metrics = std::move(ended.kernel_metrics);
  const bool had_devices = open.row.state != RunState::kQueued;  // else it could not be stored that it has them
  if (!ended.went) DeviceLeftovers::TakeBack(*open.end);
  if (!ended.started) open.told.clear();
  leftovers_.Told(open.told);
  const RunRow& end = *open.end;
  if (!open.left_devices && had_lease) {
    std::optional<AuditEntry> lease_ended = EndLease(open, end, end.error ? end.error->code : "ok");
    if (had_devices) open.end_entry = std::move(lease_ended);
  }
  if (ended.may_live_on) leftovers_.Note(end);
  CommitEnd(id, kRunRetryFirstMs);
  had_lease ? void(--running_) : room_.Leave(open.account);
  Leave(open);  // the next one's first commit joins this one's last
  imports_.Leave(id);
}

// Later: its life is in the middle of its last call.
void Runs::LeaveQueued(const std::string& id) {
  OpenRun& open = open_.at(id);
  room_.Leave(open.account);
  Leave(open);
  for (const auto& known : std::exchange(open.end_known, {})) {
    known(Fail(ErrorCode::kLostDaemon, "cancel run " + id, "kprofd is being stopped; the run stays queued",
               "cancel it again when kprofd is back"));
  }
  context_.loop.Post([this, id] { Forget(id); });
}

void Runs::EndQueued(const std::string& id, const Status& reason) {
  OpenRun& open = open_.at(id);
  if (open.life && !open.has_devices && !open.end) {
    open.life->Stop(reason, kTimeoutGraceMs);
    return;
  }
  if (open.life || open.lost || open.end) return;
  room_.Leave(open.account);
  open.plan.reset();
  open.end = open.row;
  SetEnd(*open.end, reason, context_.clock.unix_ns());
  if (open.row.starter == RunStarter::kHelper && context_.grants != nullptr) context_.grants->Forget(id);
  CommitEnd(id, kRunRetryFirstMs);
  Leave(open);
}

void Runs::CommitEnd(const std::string& id, int64_t retry_ms) {
  OpenRun& open = open_.at(id);
  open.hold_timer.Cancel();
  open.queue_timer.Cancel();
  open.retry_timer.Cancel();
  StoreRunEnd(context_, {*open.end, open.end_entry, open.told, leftovers_.LeftBy(*open.end), open.kernel_metrics},
              [this, id, retry_ms](const Status& status) {
                status.ok() ? OnEndStored(id) : OnEndRefused(id, status, retry_ms);
              });
}

void Runs::OnEndStored(const std::string& id) {
  OpenRun& open = open_.at(id);
  Become(open, *open.end);
  LogInfo("run ended", {{"run", id},
                        {"state", std::string(RunStateName(open.row.state))},
                        {"error", open.row.error ? open.row.error->code : "none"}});
  RemoveSpoolSoon(context_, id);  // of one that never started; not before its end is known
  retention_.OnAdded();
  Notify(id);
  for (const auto& known : std::exchange(open.end_known, {})) known(open.row);
  Forget(id);
}

// It has ended all the same: it says so to those who wait, and goes on trying to write it down.
void Runs::OnEndRefused(const std::string& id, const Status& why, int64_t retry_ms) {
  OpenRun& open = open_.at(id);
  LogError("the end of a run cannot be stored", {{"run", id}, {"error", why.ToString()}});
  if (open.end->state == RunState::kDone) {
    SetEnd(*open.end, why.In("store run " + id), context_.clock.unix_ns());
    if (open.end->tool == kImportTool) KeepNothing(*open.end);
  }
  Become(open, *open.end);
  open.end_refused = why;
  Notify(id);
  for (const auto& known : std::exchange(open.end_known, {})) known(why.In("store the end of run " + id));
  if (stopped_) return Forget(id);
  open.retry_timer = context_.loop.After(
      retry_ms * kNanosPerMilli, [this, id, retry_ms] { CommitEnd(id, std::min(retry_ms * 2, kRunRetryLastMs)); });
}

// Where the disk is full its files go first, to make room, and are gone whatever becomes of its end: they were to be
// deleted. Meanwhile nobody else tries to store it.
void Runs::DeleteUnstored(const std::string& id, const Actor& by, std::function<void(Status)> done) {
  OpenRun& open = open_.at(id);
  if (!open.retry_timer.pending()) {  // it is being tried just now
    open.end_known.push_back([this, id, by, done](const Result<RunRow>& /*stored*/) {
      context_.loop.Post([this, id, by, done] { Delete(id, by, done); });
    });
    return;
  }
  open.retry_timer.Cancel();
  const auto over = [this, id, done](const Status& status) {
    status.ok() ? OnEndStored(id) : OnEndRefused(id, status, kRunRetryFirstMs);
    done(status.ok() ? status : status.In("delete run " + id + ", whose end is not yet stored"));
  };
  const std::string folder = context_.catalog.layout().RunFolder(id);
  auto store = [this, id, by, over, folder](bool files_first, const Status& removed) {
    if (!removed.ok()) return over(removed);
    OpenRun& open = open_.at(id);
    if (files_first) {
      open.end->artifacts.clear();
      open.end->trace.clear();
    }
    StoreRunEndAndDelete(
        context_, {*open.end, open.end_entry, open.told, leftovers_.LeftBy(*open.end), open.kernel_metrics}, by,
        [this, over, folder, files_first](const Status& stored) {
          if (stored.ok() && !files_first) {
            (void)context_.files_work.Submit([&files = context_.files, folder] { (void)files.RemoveTree(folder); });
          }
          over(stored);
        });
  };
  const Status submitted = context_.files_work.Submit([this, folder, store] {
    const bool files_first = RemovalMakesRoom(context_);
    const Status removed = files_first ? context_.files.RemoveTree(folder) : OkStatus();
    context_.loop.Post([store, files_first, removed] { store(files_first, removed); });
  });
  if (!submitted.ok()) context_.loop.Post([over, submitted] { over(submitted); });
}

// It is not known that it is done, so nobody will ever find what it made.
void Runs::KeepNothing(RunRow& import) {
  import.trace.clear();
  import.artifacts.clear();
  (void)context_.files_work.Submit([&files = context_.files, folder = context_.catalog.layout().RunFolder(import.id)] {
    (void)files.RemoveTree(folder);
  });
}

void Runs::Forget(const std::string& id) {
  std::vector<OpenRun*> others = HeldWith(id);
  std::erase_if(others, [&](const OpenRun* open) { return open->row.id == id; });
  open_.erase(id);
  StartHoldTimers(others);  // who held this one has the usual time to hold the next
  if (stopped_) FinishStopping();
}

}  // namespace kprof
