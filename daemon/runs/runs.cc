#include "daemon/runs/runs.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "daemon/base/log.h"
#include "daemon/capture/tools.h"
#include "daemon/clocks/locks/device_clocks.h"
#include "daemon/clocks/pause/profiler_pause.h"
#include "daemon/runs/audit/audit_log.h"
#include "daemon/runs/command/command_life.h"
#include "daemon/runs/command/device_hold.h"
#include "daemon/runs/command/run_submission.h"
#include "daemon/runs/imports/import_life.h"
#include "daemon/runs/queue/lease_clocks.h"
#include "daemon/runs/retention/ended_runs.h"

namespace kprof {
namespace {

constexpr int64_t kNotifyQueuedMs = 100;
constexpr int64_t kNotifyLongQueueMs = 1000;  // where looking at all of them costs milliseconds
constexpr size_t kLongQueue = 1000;

}  // namespace

Runs::Runs(const RunContext& context, const Options& options, const std::string& last_id, RecoveredRuns recovered)
    : context_(context),
      options_(options),
      ids_(context.clock, std::max(last_id, recovered.last_session_id)),
      room_({options.queue.runs, options.queue.runs_per_uid}, "runs are waiting already"),
      leases_(context.clock, options.queue.running_without_device, [this] { OnQueueChanged(); }),
      imports_(context.clock, options.imports_at_once, [this] { OnQueueChanged(); }),
      preparations_(context.clock, options.preparations_at_once, [this] { OnQueueChanged(); }),
      prepared_(context.clock, options.prepared_at_once, [this] { OnQueueChanged(); }),
      sessions_(context, options.sessions, ids_, leases_,
                {.end_run =
                     [this](const std::string& id, const Status& why, int64_t grace_ms) {
                       const Status of_run(why.code(), "run " + id, why.why(), why.remedy());
                       Stop(id, of_run, grace_ms, [](const Result<RunRow>&) {});
                     },
                 .changed = [this] { OnQueueChanged(); }}),
      retention_(context, options.retention,
                 [this](const std::string& id) {
                   Delete(id, DaemonFor(getuid()), [id](const Status& status) {
                     LogInfo("run expired", {{"run", id}, {"result", status.ToString()}});
                   });
                 }),
      leftovers_(context.boot_id, std::move(recovered.leftovers)),
      longest_run_ms_(options.longest_run_ms) {
  TakeBack(std::move(recovered));
  if (context_.clocks != nullptr) {
    context_.clocks->on_lost = [this](const std::string& device, const Status& why) { OnClocksLost(device, why); };
  }
  if (context_.profiler_pause != nullptr) {
    context_.profiler_pause->on_lost = [this](const std::string& holder, const Status& why) {
      OnPauseLost(holder, why);
    };
  }
}

Runs::~Runs() {
  if (context_.clocks != nullptr) context_.clocks->on_lost = nullptr;
  if (context_.profiler_pause != nullptr) context_.profiler_pause->on_lost = nullptr;
}

void Runs::OnClocksLost(const std::string& device, const Status& why) {
  const TrustReason reason = ClocksLost(device, why);
  const std::string holder = queue().HolderOf(device);
  if (sessions_.FindOpenRow(holder) != nullptr) sessions_.Doubt(holder, reason);
  const auto found = open_.find(RunOn(device));
  if (found != open_.end() && found->second.life) found->second.life->Doubt(reason);
}

void Runs::OnPauseLost(const std::string& holder, const Status& why) {
  for (const auto& [id, open] : open_) {
    if (open.life && DeviceHold::HolderOf(id) == holder) open.life->Doubt(DeviceHold::PauseLost(why));
  }
}

void Runs::Submit(RunRequest request, std::function<void(Result<RunRow>)> done) {
  KPROF_ON_IO_LOOP(context_.loop);
  auto refuse = [&](Status status) { context_.loop.Post([done, status] { done(status); }); };
  const Tool* tool = FindTool(request.tool);
  if (tool == nullptr) {
    return refuse(
        Fail(ErrorCode::kUsage, "submit run", "there is no tool '" + request.tool + "'", "use one of: " + ToolNames()));
  }
  Status checked = CheckToolRequest(*tool, request.argv, request.options);
  request.exclusive |= tool->needs.exclusive;
  if (!checked.ok()) return refuse(checked);
  checked = CheckLongestRun(request.timeout_ms, longest_run_ms_);
  if (!checked.ok()) return refuse(checked);
  Result<RunPlace> place =
      request.session_id.empty()
          ? PlaceByItself(request, *tool, *context_.devices.now())
          : PlaceInSession(request, sessions_.FindTaking(request.session_id), *context_.devices.now());
  if (!place.ok()) return refuse(place.status());
  if (request.session_id.empty()) checked = CheckClocks(context_, place->clocks, "submit run");
  if (!checked.ok()) return refuse(checked);
  const uint32_t account = AccountOf(request.uid);
  checked = CheckSubmission(account, "submit run");
  if (!checked.ok()) return refuse(checked);
  place->id = ids_.Next();
  const std::string id = place->id;
  const std::string session_id = request.session_id;
  const bool prepares = !request.prepare.empty();
  Submitter by{account, {request.uid, request.caller, request.certificate_id}, request.groups};
  ++submitting_;
  room_.Enter(account);
  if (!session_id.empty()) sessions_.AddRun(session_id, id);
  StoreSubmittedRun(
      context_, std::move(request), account, *std::move(place),
      [this, id, session_id, prepares, by = std::move(by), done = std::move(done)](Result<SubmittedRun> stored) {
        --submitting_;
        if (stored.ok() && stored->is_new) {
          Enqueue(stored->row, nullptr, prepares, by);
        } else {
          room_.Leave(by.account);
          sessions_.RemoveRun(session_id, id);
        }
        stored.ok() ? done(stored->row) : done(stored.status());
        if (stopped_) FinishStopping();
      });
}

Status Runs::CheckSubmission(uint32_t account, const char* act) const {
  if (stopped_) return Fail(ErrorCode::kNoDaemon, act, "kprofd is stopping", "submit it again when it is back");
  return room_.Check(account, act);
}

void Runs::SubmitImport(ImportRequest request, std::stop_token stop,
                        std::function<void(Result<std::vector<SubmittedImport>>)> done) {
  KPROF_ON_IO_LOOP(context_.loop);
  const uint32_t account = AccountOf(request.uid);
  Status checked = CheckSubmission(account, "submit import");
  if (checked.ok() && context_.imports == nullptr) {
    checked = Fail(ErrorCode::kUsage, "submit import", "this kprofd imports nothing");
  }
  if (!checked.ok()) return context_.loop.Post([done, checked] { done(checked); });
  Submitter by{account, {request.uid, request.caller, request.certificate_id}, request.groups};
  ++submitting_;
  room_.Enter(account);
  auto places = std::make_shared<size_t>(1);  // shared with who asks for more of them
  auto one_more = [this, account, places]() -> Result<std::string> {
    RETURN_IF_ERROR(CheckSubmission(account, "submit import"));
    room_.Enter(account);
    ++*places;
    return ids_.Next();
  };
  StoreSubmittedImport(
      context_, std::move(request), account, ids_.Next(), std::move(one_more), std::move(stop),
      [this, by = std::move(by), places, done = std::move(done)](Result<std::vector<SubmittedImport>> stored) {
        --submitting_;
        if (stored.ok()) *places -= EnqueueAll(*stored, by);
        for (; *places > 0; --*places) room_.Leave(by.account);
        done(std::move(stored));
        if (stopped_) FinishStopping();
      });
}

// Those that are new; their number.
size_t Runs::EnqueueAll(std::vector<SubmittedImport>& imports, const Submitter& by) {
  auto together = std::make_shared<std::vector<std::string>>();
  size_t queued = 0;
  for (SubmittedImport& import : imports) {
    if (!import.plan) continue;
    ++queued;
    together->push_back(import.row.id);
  }
  for (SubmittedImport& import : imports) {
    if (!import.plan) continue;
    Enqueue(import.row, std::exchange(import.plan, nullptr), false, by);
    const auto open = open_.find(import.row.id);
    if (queued > 1 && open != open_.end()) open->second.together = together;
  }
  return queued;
}

void Runs::Enqueue(RunRow row, std::shared_ptr<const ImportPlan> plan, bool prepares, const Submitter& by) {
  const std::string id = row.id;
  LogInfo("run queued", {{"run", id}, {"uid", std::to_string(row.uid)}, {"tool", row.tool}});
  OpenRun& open = open_[id];
  open.row = std::move(row);
  open.plan = std::move(plan);
  open.prepares = prepares;
  open.account = by.account;
  if (context_.observer != nullptr) context_.observer->OnRunOpened(open.row);
  StartQueueTimer(id);
  if (open.row.attached) StartHoldTimer(id);
  const std::string& session_id = open.row.session_id;
  if (!session_id.empty()) {
    sessions_.NoteRound(session_id, open.row.round.value_or(0));
    if (std::optional<Status> why = sessions_.WhyEnding(session_id)) {
      return EndQueued(id, Status(why->code(), "run " + id, why->why(), why->remedy()));
    }
  }
  // The settings may have changed since it was submitted: to register it may have taken long.
  if (const std::string why = options_.why_revoked ? options_.why_revoked(by.who, by.groups) : ""; !why.empty()) {
    open.end_entry = AuditEntryOf(DaemonFor(open.row.uid), audit::kCancel, open.row, context_.clock.unix_ns());
    open.end_entry->detail += ": " + why;
    return EndQueued(id, Fail(ErrorCode::kNotPermitted, "run " + id, why, "ask an admin of this node"));
  }
  Wait(open);
}

void Runs::Wait(OpenRun& open) {
  open.prepares ? WaitToPrepare(open) : WaitForDevices(open);
}

void Runs::WaitToPrepare(OpenRun& open) {
  const RunRow& row = open.row;
  std::vector<std::string> place;  // of a session's own
  if (!row.session_id.empty()) place.push_back("session " + row.session_id);
  open.leases = &prepared_;
  open.leases->Wait({row.id, open.account, row.priority, std::move(place)},
                    [this, id = row.id] { context_.loop.Post([this, id] { OnMayPrepare(id); }); });
}

void Runs::OnMayPrepare(const std::string& id) {
  auto found = open_.find(id);
  if (found != open_.end() && found->second.leases == &prepared_) WaitForStep(found->second);
}

void Runs::WaitForStep(OpenRun& open) {
  const RunRow& row = open.row;
  open.leases = &preparations_;
  open.leases->Wait({row.id, open.account, row.priority, {}}, [this, id = row.id] {
    OpenRun& open = open_.at(id);
    open.life = MakeLife(open);
    open.life->Begin();
  });
}

void Runs::WaitForDevices(OpenRun& open) {
  const RunRow& row = open.row;
  if (open.life && !row.session_id.empty() && sessions_.FindLeases(row.session_id) == nullptr) {
    open.life->Stop(Fail(ErrorCode::kLeaseLost, "run " + row.id, "its session has ended", "run it again"), 0);
    return;
  }
  open.leases = row.session_id.empty() ? &leases_ : &sessions_.LeasesOf(row.session_id);
  if (open.plan) open.leases = &imports_;
  open.leases->Wait({row.id, open.account, row.priority, row.devices}, [this, id = row.id] { Start(id); });
}

// It waits no longer, or its command is gone: its devices go to the next run.
void Runs::Leave(OpenRun& open) {
  if (Leases* leases = std::exchange(open.leases, nullptr)) leases->Leave(open.row.id);
  preparations_.Leave(open.row.id);
  prepared_.Leave(open.row.id);
  sessions_.RemoveRun(open.row.session_id, open.row.id);
}

// Counted from when it was queued, also across a restart.
void Runs::StartQueueTimer(const std::string& id) {
  OpenRun& open = open_.at(id);
  if (open.row.queue_timeout_ms == 0) return;
  const int64_t ends_ns = open.row.queued_ns + open.row.queue_timeout_ms * kNanosPerMilli;
  const int64_t left_ns =
      std::clamp<int64_t>(ends_ns - context_.clock.unix_ns(), 0, open.row.queue_timeout_ms * kNanosPerMilli);
  open.queue_timer = context_.loop.After(left_ns, [this, id] {
    EndQueued(id, Fail(ErrorCode::kQueueTimeout, "run " + id, "it waited longer than its queue timeout",
                       "give it more with --queue-timeout, or see kprofctl devices for who holds the device"));
  });
}

// Its devices are held for it.
void Runs::Start(const std::string& id) {
  OpenRun& open = open_.at(id);
  open.has_devices = true;
  prepared_.Leave(id);
  room_.Leave(open.account);
  ++running_;
  open.granted_mono_ns = context_.clock.mono_ns();
  std::optional<Lease> lease = LeaseOf(open.row);
  if (lease && context_.observer != nullptr) context_.observer->OnLeaseGranted(*lease);
  open.queue_timer.Cancel();
  // How its clocks are is known by now, as it was not when it was submitted.
  if (const SessionRow* session = sessions_.FindOpenRow(open.row.session_id)) open.row.trust = session->trust;
  for (TrustReason& reason : ClocksNotGivenBack(context_, open.row.devices))
    open.row.trust.push_back(std::move(reason));
  if (open.life) {
    RunRow row = open.row;
    open.told = leftovers_.Tell(row);
    return open.life->OnGranted(row.trust);
  }
  open.life = MakeLife(open);
  open.life->Begin();
}

std::unique_ptr<Life> Runs::MakeLife(OpenRun& open) {
  RunRow row = open.row;
  const std::string id = row.id;
  LifeEvents events;
  events.changed = [this, id](const RunRow& row) {
    Become(open_.at(id), row);
    Notify(id);
  };
  events.ended = [this](EndedRun end) { OnLifeEnded(std::move(end)); };
  auto progressed = [this, id](const ImportProgress& now) {
    open_.at(id).import_progress = now;
    Notify(id);
  };
  if (open.plan) {
    return std::make_unique<ImportLife>(context_, std::move(row), std::move(open.plan), longest_run_ms_, progressed,
                                        std::move(events));
  }
  events.left_devices = [this, id](const RunRow& row, const std::optional<Status>& failed) {
    OnDevicesLeft(id, row, failed);
  };
  events.wait_to_import = [this, id](std::function<void()> granted) { WaitToImport(id, std::move(granted)); };
  events.import_progress = progressed;
  events.wants_devices = [this, id] {
    preparations_.Leave(id);
    WaitForDevices(open_.at(id));
  };
  if (!open.prepares) open.told = leftovers_.Tell(row);
  return std::make_unique<CommandLife>(context_, std::move(row), open.account, open.prepares, longest_run_ms_,
                                       std::move(events));
}

// The next one on them need not wait until all is stored that this one left.
void Runs::OnDevicesLeft(const std::string& id, const RunRow& row, const std::optional<Status>& failed) {
  OpenRun& open = open_.at(id);
  open.left_devices = true;
  // Stored with the run's end: else a daemon that dies in between would end it a second time.
  open.end_entry = EndLease(open, row, failed ? std::string(ErrorName(failed->code())) : "ok");
  Leave(open);  // and its session, which may end without it
}

void Runs::WaitToImport(const std::string& id, std::function<void()> granted) {
  const OpenRun& open = open_.at(id);
  // Not from inside the call: it may be its turn at once.
  imports_.Wait({id, open.account, open.row.priority, {}},
                [&loop = context_.loop, granted = std::move(granted)] { loop.Post(granted); });
}

void Runs::Stop(const std::string& id, const Status& reason, int64_t grace_ms,
                std::function<void(Result<RunRow>)> done) {
  KPROF_ON_IO_LOOP(context_.loop);
  auto found = open_.find(id);
  const std::string what = "cancel run " + id;
  if (found == open_.end() || found->second.end) {
    return context_.loop.Post([done, what] { done(Fail(ErrorCode::kUsage, what, "it has ended already")); });
  }
  OpenRun& open = found->second;
  if (open.lost) {
    return context_.loop.Post([done, what] {
      done(Fail(ErrorCode::kUsage, what, "kprofd died under it, and what it left is being ended already"));
    });
  }
  if (!open.life) {
    open.end_known.push_back(std::move(done));
    return EndQueued(id, reason);
  }
  if (!open.has_devices) {  // it is queued, and answered as such: when no restart brings it back
    open.end_known.push_back(std::move(done));
    open.life->Stop(reason, grace_ms);
    return;
  }
  Result<RunRow> row = open.row;
  if (!open.life->Stop(reason, grace_ms)) row = Fail(ErrorCode::kUsage, what, "its command has ended already");
  context_.loop.Post([done, row = std::move(row)] { done(row); });
}

void Runs::Delete(const std::string& id, const Actor& by, std::function<void(Status)> done) {
  KPROF_ON_IO_LOOP(context_.loop);
  const std::string what = "delete run " + id;
  if (auto found = open_.find(id); found != open_.end()) {
    if (!found->second.end_refused.ok() && !found->second.row.pinned) return DeleteUnstored(id, by, std::move(done));
    const Status refused = found->second.row.pinned && found->second.end
                               ? Fail(ErrorCode::kUsage, what, "it is pinned", "unpin it first")
                               : Fail(ErrorCode::kUsage, what, "it has not ended", "cancel it first");
    return context_.loop.Post([done, refused] { done(refused); });
  }
  DeleteEndedRun(context_, id, by, std::move(done));
}

void Runs::SetPinned(const std::string& id, bool pinned, const Actor& by, std::function<void(Result<RunRow>)> done) {
  KPROF_ON_IO_LOOP(context_.loop);
  PinRun(context_, id, pinned, by, [this, id, done = std::move(done)](Result<RunRow> row) {
    if (auto found = open_.find(id); row.ok() && found != open_.end()) found->second.row.pinned = row->pinned;
    done(std::move(row));
  });
}

std::optional<Runs::View> Runs::FindOpen(const std::string& id) const {
  KPROF_ON_IO_LOOP(context_.loop);
  auto found = open_.find(id);
  if (found == open_.end()) return std::nullopt;
  return ViewOf(found->second);
}

Runs::View Runs::ViewOf(const OpenRun& open) const {
  View view{open.row, {}, open.import_progress};
  if (open.leases == nullptr || open.has_devices) return view;
  if (std::optional<LeaseQueue::Outlook> outlook = open.leases->OutlookOf(open.row.id)) view.outlook = *outlook;
  // Within a session that waits itself nobody knows.
  const SessionRow* session = sessions_.FindOpenRow(open.row.session_id);
  if (session != nullptr && session->state == SessionState::kQueued) view.outlook.wait_ns.reset();
  return view;
}

std::string Runs::RunOn(const std::string& device) const {
  const std::string holder = queue().HolderOf(device);
  const Leases* within = sessions_.FindLeases(holder);
  return within == nullptr ? holder : within->queue().HolderOf(device);
}

std::vector<std::pair<std::string, uint32_t>> Runs::NotBegun() const {
  KPROF_ON_IO_LOOP(context_.loop);
  std::vector<std::pair<std::string, uint32_t>> found;
  for (const auto& [id, open] : open_) {
    if (!HasBegun(open)) found.emplace_back(id, open.row.uid);
  }
  return found;
}

bool Runs::HasBegun(const std::string& id) const {
  KPROF_ON_IO_LOOP(context_.loop);
  auto found = open_.find(id);
  return found == open_.end() || HasBegun(found->second);
}

bool Runs::HasBegun(const OpenRun& open) {
  return open.end || open.lost || (open.life && open.life->has_begun());
}

const RunRow* Runs::FindOpenRow(const std::string& id) const {
  KPROF_ON_IO_LOOP(context_.loop);
  auto found = open_.find(id);
  return found == open_.end() ? nullptr : &found->second.row;
}

WatchId Runs::Watch(const std::string& id, std::function<void(const View&)> changed) {
  KPROF_ON_IO_LOOP(context_.loop);
  return open_.at(id).watchers.Add(std::move(changed));
}

void Runs::Unwatch(const std::string& id, WatchId watch) {
  KPROF_ON_IO_LOOP(context_.loop);
  if (auto found = open_.find(id); found != open_.end()) found->second.watchers.Remove(watch);
}

void Runs::Hold(const std::string& id) {
  KPROF_ON_IO_LOOP(context_.loop);
  auto found = open_.find(id);
  if (found == open_.end()) return;
  ++found->second.holders;
  for (OpenRun* open : HeldWith(id)) open->hold_timer.Cancel();
}

void Runs::Unhold(const std::string& id) {
  KPROF_ON_IO_LOOP(context_.loop);
  auto found = open_.find(id);
  if (found == open_.end()) return;
  --found->second.holders;
  StartHoldTimers(HeldWith(id));
}

// The runs of one import are held by who holds one of them: a client follows one after the other.
std::vector<Runs::OpenRun*> Runs::HeldWith(const std::string& id) {
  std::vector<OpenRun*> held;
  const auto found = open_.find(id);
  if (found == open_.end()) return held;
  if (!found->second.together) return {&found->second};
  for (const std::string& other : *found->second.together) {
    if (const auto open = open_.find(other); open != open_.end()) held.push_back(&open->second);
  }
  return held;
}

void Runs::StartHoldTimers(const std::vector<OpenRun*>& together) {
  for (const OpenRun* open : together) {
    if (open->holders > 0) return;
  }
  for (const OpenRun* open : together) {
    if (open->row.attached) StartHoldTimer(open->row.id);
  }
}

void Runs::StartHoldTimer(const std::string& id) {
  OpenRun& open = open_.at(id);
  if (open.end || open.lost) return;
  open.hold_timer = context_.loop.After(options_.hold_grace_ms * kNanosPerMilli, [this, id] {
    Stop(id,
         Fail(ErrorCode::kClientGone, "run " + id, "the client that held it went away",
              "use --detach for a run that outlives its client"),
         5000, [](const Result<RunRow>&) {});
  });
}

void Runs::Notify(const std::string& id) {
  context_.catalog.changes().Bump();
  auto found = open_.find(id);
  if (found == open_.end() || found->second.watchers.empty()) return;
  found->second.watchers.Tell(ViewOf(found->second));
}

void Runs::OnQueueChanged() {
  context_.catalog.changes().Bump();
  if (!begun_ || notify_timer_.pending()) return;
  const int64_t pause_ms = room_.taken() > kLongQueue ? kNotifyLongQueueMs : kNotifyQueuedMs;
  notify_timer_ = context_.loop.After(pause_ms * kNanosPerMilli, [this] {
    notify_timer_ = IoLoop::Timer();
    NotifyQueued();
    sessions_.NotifyQueued();
  });
}

void Runs::NotifyQueued() {
  for (auto& [id, open] : open_) {
    if (open.has_devices || open.lost || open.end || open.watchers.empty()) continue;
    open.watchers.Tell(ViewOf(open));
  }
}

}  // namespace kprof
