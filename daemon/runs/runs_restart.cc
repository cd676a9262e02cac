// Runs takes back what the last kprofd left, begins, and lets go at a stop.
#include "daemon/runs/runs.h"

#include <algorithm>
#include <utility>

#include "daemon/base/log.h"

namespace kprof {

// However many there are: they were accepted once.
void Runs::TakeBack(RecoveredRuns recovered) {
  TakeInOrder(
      recovered, [&](SessionRow row) { sessions_.TakeBack(std::move(row), recovered.is_backup); },
      [&](RunRow row) {
        if (recovered.preparing.contains(row.id)) open_[row.id].prepares = true;
        row.state == RunState::kQueued ? TakeBackQueued(std::move(row)) : TakeBackLost(std::move(row));
      });
  for (RecoveredRuns::Unstored& unstored : recovered.unstored) {
    if (unstored.may_live_on) leftovers_.Note(unstored.row);
    OpenRun& open = open_[unstored.row.id];
    open.row = unstored.row;
    open.end = std::move(unstored.row);
    open.end_entry = std::move(unstored.lease_ended);
    open.end_refused = std::move(unstored.why);
  }
}

void Runs::TakeBackQueued(RunRow row) {
  const std::string id = row.id;
  OpenRun& open = open_[id];
  open.row = std::move(row);
  open.account = AccountOf(open.row.uid);
  room_.Enter(open.account);
  const std::string& session_id = open.row.session_id;
  if (!session_id.empty()) {
    if (sessions_.FindLeases(session_id) == nullptr) return;  // Begin ends it
    sessions_.AddRun(session_id, id);
  }
  Wait(open);
}

// It keeps its devices until nobody of it is left.
void Runs::TakeBackLost(RunRow row) {
  const std::string id = row.id;
  OpenRun& open = open_[id];
  row.error = StoredError(LostWithDaemon(row));
  LostRun::Events events;
  events.changed = [this, id](const RunRow& row) {
    Become(open_.at(id), row);
    Notify(id);
  };
  events.ended = [this](EndedRun end) { OnLifeEnded(std::move(end)); };
  open.lost = std::make_unique<LostRun>(context_, row, std::move(events));
  open.row = std::move(row);
  open.account = AccountOf(open.row.uid);
  ++running_;
  open.granted_mono_ns = context_.clock.mono_ns();
  const std::string& session_id = open.row.session_id;
  open.leases = &leases_;
  if (sessions_.FindOpenRow(session_id) != nullptr) {
    sessions_.AddRun(session_id, id);
    const std::vector<std::string>& devices = open.row.devices;
    const bool sessions_own = std::all_of(devices.begin(), devices.end(), [&](const std::string& device) {
      return queue().HolderOf(device) == session_id;
    });
    if (sessions_own) open.leases = &sessions_.LeasesOf(session_id);
  }
  open.leases->HoldFree({id, open.account, open.row.priority, open.row.devices});
}

void Runs::Become(OpenRun& open, const RunRow& changed) {
  const bool pinned = open.row.pinned;  // changed by SetPinned alone
  const RunState before = open.row.state;
  open.row = changed;
  open.row.pinned = pinned;
  if (context_.observer != nullptr && open.row.state != before) context_.observer->OnRunChanged(before, open.row);
}

void Runs::Begin() {
  KPROF_ON_IO_LOOP(context_.loop);
  for (auto& [id, open] : open_) {
    if (open.end) {
      CommitEnd(id, kRunRetryFirstMs);
      continue;
    }
    if (context_.observer != nullptr) context_.observer->OnRunOpened(open.row);
    if (open.lost) {
      std::optional<Lease> lease = LeaseOf(open.row);
      if (lease && context_.observer != nullptr) context_.observer->OnLeaseFound(*lease);
      open.lost->Begin();
      continue;
    }
    if (open.leases == nullptr) {
      EndQueued(id, Fail(ErrorCode::kLeaseLost, "run " + id, "its session has ended", "run it again"));
      continue;
    }
    StartQueueTimer(id);
    if (open.row.attached) StartHoldTimer(id);
  }
  begun_ = true;
  sessions_.Begin();
  leases_.Begin();
  imports_.Begin();
  preparations_.Begin();
  prepared_.Begin();
  retention_.Begin();
}

void Runs::StopAll(int64_t grace_ms, std::function<void()> done) {
  KPROF_ON_IO_LOOP(context_.loop);
  KPROF_CHECK(!stopped_);
  stopped_ = std::move(done);
  retention_.Stop();
  leases_.End();
  imports_.End();
  preparations_.End();
  prepared_.End();
  sessions_.Stop();
  for (auto& [id, open] : open_) {
    open.hold_timer.Cancel();
    open.queue_timer.Cancel();
    if (open.retry_timer.pending()) CommitEnd(id, kRunRetryLastMs);  // one last try
    if (!open.life || open.end) continue;
    open.life->Stop(Fail(ErrorCode::kLostDaemon, "run " + id, "kprofd was stopped while it ran", "run it again"),
                    grace_ms);
  }
  FinishStopping();
  stop_limit_ = context_.loop.After(options_.stop_limit_ms * kNanosPerMilli, [this] {
    for (auto& [id, open] : open_) {
      if (open.life) LogWarning("a run that does not end is left to the next start", {{"run", id}});
    }
    if (auto done = std::exchange(stopped_, [] {})) context_.loop.Post(done);
  });
}

void Runs::KillAll() {
  KPROF_ON_IO_LOOP(context_.loop);
  for (auto& [id, open] : open_) {
    if (open.life && !open.end) open.life->Stop(OkStatus(), 0);
  }
}

void Runs::FinishStopping() {
  if (submitting_ > 0) return;
  for (auto& [id, open] : open_) {
    if (open.life) return;
  }
  if (auto done = std::exchange(stopped_, [] {})) context_.loop.Post(done);
}

}  // namespace kprof
