#include "daemon/runs/sessions/sessions.h"

#include <algorithm>
#include <utility>

#include "daemon/base/log.h"
#include "daemon/runs/audit/audit_log.h"
#include "daemon/runs/command/run_end.h"
#include "daemon/runs/retention/ended_runs.h"
#include "storage/base/files.h"
#include "storage/catalog/session_table.h"

namespace kprof {
namespace {

constexpr int64_t kGraceMs = 5000;
constexpr int64_t kSessionRetryFirstMs = 500;
constexpr int64_t kSessionRetryLastMs = 30'000;

std::string Named(const std::string& id) {
  return "session " + id;
}

ClockWish ClocksOf(const SessionRow& row) {
  return {row.devices, row.clocks, Named(row.id)};
}

AuditEntry EntryOf(const Actor& by, const char* action, const SessionRow& row, int64_t now_unix_ns) {
  AuditEntry entry;
  entry.time_ns = now_unix_ns;
  entry.by = by;
  entry.action = action;
  entry.session_id = row.id;
  entry.devices = row.devices;
  entry.detail = "clocks " + row.clocks;
  if (row.uid != by.uid) entry.detail += ", of uid " + std::to_string(row.uid);
  return entry;
}

Status LeaseLost(const std::string& why) {
  return Fail(ErrorCode::kLeaseLost, "session", why, "open another session");
}

}  // namespace

Sessions::Sessions(const RunContext& context, const Options& options, RunIdGenerator& ids, Leases& node, Events events)
    : context_(context),
      options_(options),
      ids_(ids),
      node_(node),
      events_(std::move(events)),
      room_({options.limits.sessions, options.limits.sessions_per_uid}, "sessions are open or waiting already") {}

Sessions::~Sessions() = default;

Sessions::OpenSession& Sessions::Add(SessionRow row, uint32_t account) {
  room_.Enter(account);
  if (row.state == SessionState::kQueued) ++queued_;
  OpenSession& session = open_[row.id];
  session.row = std::move(row);
  session.account = account;
  session.leases = std::make_unique<Leases>(context_.clock, 0, events_.changed);
  session.deadlines =
      std::make_unique<SessionDeadlines>(context_.loop, context_.clock, session.row.id,
                                         [this, id = session.row.id](const Status& why) { OnDeadline(id, why); });
  if (stopped_) session.deadlines->Stop();
  if (session.row.attached) session.token = RandomName();
  return session;
}

// It is that from here on, for all to know; but its rounds are counted as they come.
void Sessions::Become(OpenSession& session, SessionRow row) {
  const SessionState before = session.row.state;
  row.last_round = session.row.last_round;
  session.row = std::move(row);
  if (before == SessionState::kQueued && session.row.state != SessionState::kQueued) --queued_;
  if (context_.observer != nullptr) context_.observer->OnSessionChanged(before, session.row);
}

std::optional<Status> Sessions::WhyItCannotGoOn(const SessionRow& row, bool is_backup) const {
  if (is_backup) {
    return Fail(ErrorCode::kLeaseLost, Named(row.id),
                "the catalog was restored from a backup that was made before its end", "open another");
  }
  if (row.attached) {
    return Fail(ErrorCode::kLostDaemon, Named(row.id), "kprofd ended under it, and with it the client's stream",
                "open another, or one that is detached");
  }
  const std::shared_ptr<const DeviceList> list = context_.devices.now();
  const auto& devices = list->all();
  for (const std::string& id : row.devices) {
    if (std::none_of(devices.begin(), devices.end(), [&id](const Device& device) { return device.id == id; })) {
      return Fail(ErrorCode::kLeaseLost, Named(row.id), "device " + id + " is gone", "see kprofctl devices");
    }
    if (row.state == SessionState::kOpen && !node_.queue().HolderOf(id).empty()) {
      return Fail(ErrorCode::kLeaseLost, Named(row.id), "device " + id + " is held by another session", "open another");
    }
  }
  return std::nullopt;
}

void Sessions::TakeBack(SessionRow row, bool is_backup) {
  const uint32_t account = AccountOf(row.uid);
  OpenSession& session = Add(std::move(row), account);
  if (session.row.state != SessionState::kClosing) session.doomed = WhyItCannotGoOn(session.row, is_backup);
  if (session.row.state == SessionState::kQueued) {
    if (!session.doomed) Wait(session);
    return;
  }
  session.has_lease = true;
  session.found = true;
  session.held_since_mono_ns = context_.clock.mono_ns();
  if (!is_backup) node_.HoldFree({session.row.id, session.account, session.row.priority, session.row.devices});
}

void Sessions::Begin() {
  KPROF_ON_IO_LOOP(context_.loop);
  std::vector<std::string> ids;
  for (const auto& [id, session] : open_) ids.push_back(id);
  for (const std::string& id : ids) {
    OpenSession& session = open_.at(id);
    if (context_.observer != nullptr) {
      context_.observer->OnSessionOpened(session.row);
      if (session.held_since_mono_ns) context_.observer->OnLeaseFound(LeaseOf(session.row));
    }
    if (session.row.state == SessionState::kClosing) {
      End(id, {.of_runs = LeaseLost("its session was being closed when kprofd ended")});
    } else if (session.doomed) {
      End(id, {SessionState::kLost, session.doomed, LeaseLost("its session is lost: " + session.doomed->why())});
    } else if (session.row.state == SessionState::kOpen) {
      TakeClocks(id);
    } else {
      session.deadlines->Wait(session.row);
    }
  }
}

void Sessions::Stop() {
  stopped_ = true;
  for (auto& [id, session] : open_) {
    session.leases->End();
    session.deadlines->Stop();
    if (session.retry_timer.pending()) CommitEnd(id, kSessionRetryLastMs);  // one last try
  }
}

void Sessions::Open(SessionRequest request, std::function<void(Result<SessionRow>)> done) {
  KPROF_ON_IO_LOOP(context_.loop);
  constexpr const char* kAct = "open a session";
  auto refuse = [&](const Status& status) { context_.loop.Post([done, status] { done(status); }); };
  if (stopped_) {
    return refuse(Fail(ErrorCode::kNoDaemon, kAct, "kprofd is stopping", "open it again when it is back"));
  }
  if (Status lockable = CheckClocks(context_, request.clocks, kAct); !lockable.ok()) return refuse(lockable);
  Result<std::vector<std::string>> devices = context_.devices.now()->SelectSome(request.device);
  if (!devices.ok()) return refuse(devices.status().In(kAct));
  if (Status times = FitSessionTimes(options_.limits, request); !times.ok()) return refuse(times);
  const uint32_t account = AccountOf(request.uid);
  Status room = room_.Check(account, kAct);
  if (!room.ok()) return refuse(room);
  SessionRow row = NewSessionRow(request);
  row.id = ids_.Next();
  row.devices = *std::move(devices);
  row.opened_ns = context_.clock.unix_ns();
  room_.Enter(account);  // on its way
  AuditEntry entry = EntryOf({request.uid, request.caller}, audit::kSessionOpen, row, row.opened_ns);
  entry.detail = DetailWithCertificate(entry.detail, request.certificate_id);
  auto insert = [row, storage = context_.storage, entry = std::move(entry)](Db& db) -> Status {
    if (storage != nullptr) RETURN_IF_ERROR(storage->MakeRoomForSession(db, row.uid, "store it"));
    RETURN_IF_ERROR(InsertSession(db, row));
    return AppendAudit(db, entry);
  };
  context_.catalog.writer().Submit(
      std::move(insert), [this, &loop = context_.loop, row, account, done](const Status& stored) {
        loop.Post([this, row, account, done, stored] {
          room_.Leave(account);
          if (!stored.ok()) return done(stored.In(kAct));
          LogInfo("session queued", {{"session", row.id}, {"uid", std::to_string(row.uid)}});
          OpenSession& session = Add(row, account);
          if (context_.observer != nullptr) context_.observer->OnSessionOpened(row);
          if (row.attached) session.deadlines->Abandon(options_.hold_grace_ms);
          session.deadlines->Wait(row);
          done(row);
          // Who opened it may have closed it at once.
          if (!stopped_ && !session.ending) Wait(session);
        });
      });
}

void Sessions::Wait(OpenSession& session) {
  const SessionRow& row = session.row;
  node_.Wait({row.id, session.account, row.priority, row.devices}, [this, id = row.id] { OnGranted(id); });
}

void Sessions::Commit(SessionRow row, const std::vector<std::optional<AuditEntry>>& entries,
                      std::function<void(Status)> then) {
  auto job = [row = std::move(row), entries](Db& db) -> Status {
    RETURN_IF_ERROR(UpdateSession(db, row));
    for (const std::optional<AuditEntry>& entry : entries) {
      if (entry) RETURN_IF_ERROR(AppendAudit(db, *entry));
    }
    return OkStatus();
  };
  // The writer may answer when we are gone; what it posts then never runs.
  SubmitWithReserve(context_, std::move(job), [&loop = context_.loop, then = std::move(then)](const Status& status) {
    loop.Post([then, status] { then(status); });
  });
}

void Sessions::OnGranted(const std::string& id) {
  OpenSession& session = open_.at(id);
  session.deadlines->StopWaiting();
  session.granted = session.row;
  session.granted->state = SessionState::kOpen;
  session.granted->granted_ns = context_.clock.unix_ns();
  if (session.row.ttl_ms > 0) {
    session.granted->expires_ns = *session.granted->granted_ns + session.row.ttl_ms * kNanosPerMilli;
  }
  session.held_since_mono_ns = context_.clock.mono_ns();
  if (context_.observer != nullptr) context_.observer->OnLeaseGranted(LeaseOf(session.row));
  Commit(*session.granted, {LeaseGranted(LeaseOf(session.row), context_.clock.unix_ns())},
         [this, id](const Status& status) {
           auto found = open_.find(id);
           if (found == open_.end()) return;
           if (status.ok()) found->second.has_lease = true;
           if (found->second.ending) return;
           if (!status.ok()) {
             found->second.granted.reset();  // it never was open, and whoever asked for it is told so
             return End(id,
                        {SessionState::kClosed, status, LeaseLost("its session could not be opened: " + status.why())});
           }
           TakeClocks(id);
         });
}

// Also of one that was open before a restart: its clocks were given back when kprofd went.
void Sessions::TakeClocks(const std::string& id) {
  OpenSession& session = open_.at(id);
  const SessionRow& row = session.granted ? *session.granted : session.row;
  session.has_clocks = true;
  LockClocks(context_, ClocksOf(row), [this, id](const ClocksTaken& taken) { OnClocks(id, taken); });
}

void Sessions::OnClocks(const std::string& id, const ClocksTaken& taken) {
  auto found = open_.find(id);
  if (found == open_.end() || found->second.ending) return;
  OpenSession& session = found->second;
  if (!taken.refused.ok()) {
    session.granted.reset();  // it never was open for anybody
    return End(id, {SessionState::kClosed, taken.refused,
                    LeaseLost("its session could not be opened: " + taken.refused.why())});
  }
  SessionRow row = session.granted ? *session.granted : session.row;
  const bool tells_more = row.trust != taken.trust;
  row.trust = taken.trust;
  auto open = [this, id, row](const Status& stored) {
    if (!stored.ok()) {  // it is true all the same, and its runs say it
      LogError("the trust of a session cannot be stored", {{"session", id}, {"error", stored.ToString()}});
    }
    auto found = open_.find(id);
    if (found == open_.end() || found->second.ending) return;
    const bool is_new = found->second.granted.has_value();
    found->second.granted.reset();
    Become(found->second, row);
    if (is_new) LogInfo("session open", {{"session", id}});
    OnOpen(id);
    Notify(found->second);
  };
  tells_more ? Commit(row, {}, std::move(open)) : open(OkStatus());
}

void Sessions::Doubt(const std::string& id, const TrustReason& reason) {
  OpenSession& session = open_.at(id);
  if (session.ending || session.granted) return;  // nobody measures
  std::vector<TrustReason>& trust = session.row.trust;
  if (std::find(trust.begin(), trust.end(), reason) != trust.end()) return;
  trust.push_back(reason);
  Commit(session.row, {}, [id](const Status& stored) {
    if (!stored.ok())
      LogError("the trust of a session cannot be stored", {{"session", id}, {"error", stored.ToString()}});
  });
  Notify(session);
}

// Its lease is its own, and durable.
void Sessions::OnOpen(const std::string& id) {
  OpenSession& session = open_.at(id);
  session.deadlines->Open(session.row);
  if (session.ending) return;
  if (session.runs.empty()) session.deadlines->Idle(session.row);
  if (!stopped_) session.leases->Begin();
}

void Sessions::OnDeadline(const std::string& id, const Status& why) {
  const bool never_open = open_.at(id).row.state == SessionState::kQueued;
  const std::string of_runs = never_open ? "its session was never opened: " : "its session ended: ";
  End(id, {SessionState::kClosed, why, LeaseLost(of_runs + why.why()), kGraceMs});
}

const SessionRow* Sessions::FindByToken(const std::string& token) const {
  KPROF_ON_IO_LOOP(context_.loop);
  auto has_it = [&token](const auto& entry) { return !token.empty() && entry.second.token == token; };
  auto found = std::find_if(open_.begin(), open_.end(), has_it);
  return found == open_.end() ? nullptr : &found->second.row;
}

Result<std::string> Sessions::Resume(uint32_t uid, const std::string& token) const {
  const SessionRow* row = FindByToken(token);
  if (row != nullptr && row->uid == uid && !open_.at(row->id).ending) return row->id;
  return Fail(ErrorCode::kLeaseLost, "resume a session", "no session that is open has this token", "open another");
}

void Sessions::Close(const std::string& id, const Actor& by, const Status& of_runs, int64_t grace_ms,
                     std::function<void(Result<SessionRow>)> done) {
  KPROF_ON_IO_LOOP(context_.loop);
  auto found = open_.find(id);
  if (found == open_.end()) {
    return context_.loop.Post([done, id] {
      done(Fail(ErrorCode::kUsage, "close session " + id, "it has ended already", "see kprofctl session show " + id));
    });
  }
  found->second.end_known.push_back(std::move(done));
  if (found->second.end) return;  // which is being stored
  std::optional<Ending>& ending = found->second.ending;
  if (!ending) {
    AuditEntry entry = EntryOf(by, audit::kSessionClose, found->second.row, context_.clock.unix_ns());
    const bool by_owner = by.uid == found->second.row.uid && by.caller != kDaemonCaller;
    std::optional<Status> error;
    if (!by_owner) error = Fail(of_runs.code(), Named(id), of_runs.why(), of_runs.remedy());
    return End(id, {.error = error, .of_runs = of_runs, .grace_ms = grace_ms, .entry = std::move(entry)});
  }
  // A second wish can only be more urgent.
  ending->grace_ms = std::min(ending->grace_ms, grace_ms);
  if (ending->runs_told) EndRuns(id);
}

void Sessions::End(const std::string& id, Ending ending) {
  OpenSession& session = open_.at(id);
  if (session.ending) return;
  session.ending = std::move(ending);
  if (!session.ending->entry && session.row.state != SessionState::kClosing) {  // of which it was recorded
    AuditEntry entry = EntryOf(DaemonFor(session.row.uid), audit::kSessionClose, session.row, context_.clock.unix_ns());
    if (session.ending->error) entry.outcome = ErrorName(session.ending->error->code());
    session.ending->entry = std::move(entry);
  }
  session.deadlines->Stop();
  session.leases->End();
  SessionRow closing = session.granted ? *session.granted : session.row;
  const bool never_open = closing.state == SessionState::kQueued;
  if (never_open || session.doomed || closing.state == SessionState::kClosing) return EndRuns(id);
  closing.state = SessionState::kClosing;
  if (session.ending->error) closing.error = StoredError(*session.ending->error);
  Commit(closing, {session.ending->entry}, [this, id, closing](const Status& status) {
    OpenSession& session = open_.at(id);
    if (status.ok()) {
      session.ending->entry.reset();
    } else {  // it ends all the same; should we crash now, it will end again
      LogError("that a session is closing cannot be stored", {{"session", id}, {"error", status.ToString()}});
    }
    Become(session, closing);
    Notify(session);
    EndRuns(id);
  });
}

void Sessions::EndRuns(const std::string& id) {
  OpenSession& session = open_.at(id);
  session.ending->runs_told = true;
  const std::set<std::string> runs = session.runs;  // which shrinks meanwhile
  for (const std::string& run : runs) events_.end_run(run, session.ending->of_runs, session.ending->grace_ms);
  FinishWhenAlone(id);
}

// The last of its runs is over: what it held goes to the next, which no crash can take back, as `closing` is durable.
void Sessions::FinishWhenAlone(const std::string& id) {
  OpenSession& session = open_.at(id);
  if (!session.ending || !session.ending->runs_told || !session.runs.empty() || session.end) return;
  if (session.releasing) return;
  if (std::exchange(session.has_clocks, false)) {
    session.releasing = true;
    return ReleaseClocks(context_, ClocksOf(session.row), [this, id] {
      open_.at(id).releasing = false;
      FinishWhenAlone(id);
    });
  }
  session.end = session.row;
  session.end->state = session.ending->as;
  session.end->closed_ns = context_.clock.unix_ns();
  if (session.ending->error) session.end->error = StoredError(*session.ending->error);
  if (session.held_since_mono_ns) {
    const std::string outcome = session.end->error ? session.end->error->code : "ok";
    const int64_t held_ns = context_.clock.mono_ns() - *session.held_since_mono_ns;
    if (context_.observer != nullptr) context_.observer->OnLeaseEnded(LeaseOf(session.row), held_ns, outcome);
    if (session.has_lease) {
      session.lease_ended = LeaseEnded(LeaseOf(session.row), outcome,
                                       session.found ? std::nullopt : std::optional(held_ns), context_.clock.unix_ns());
    }
  }
  CommitEnd(id, kSessionRetryFirstMs);
  node_.Leave(id);
}

void Sessions::CommitEnd(const std::string& id, int64_t retry_ms) {
  open_.at(id).retry_timer.Cancel();
  const OpenSession& ended = open_.at(id);
  Commit(*ended.end, {ended.ending->entry, ended.lease_ended}, [this, id, retry_ms](const Status& status) {
    OpenSession& session = open_.at(id);
    Become(session, *session.end);
    for (auto& known : std::exchange(session.end_known, {})) {
      known(status.ok() ? Result<SessionRow>(session.row) : status.In("store the end of session " + id));
    }
    Notify(session);
    if (status.ok()) {
      LogInfo("session ended", {{"session", id},
                                {"state", std::string(SessionStateName(session.row.state))},
                                {"error", session.row.error ? session.row.error->code : "none"}});
    } else {
      LogError("the end of a session cannot be stored", {{"session", id}, {"error", status.ToString()}});
    }
    if (status.ok() || stopped_) return Forget(id);
    session.retry_timer = context_.loop.After(retry_ms * kNanosPerMilli, [this, id, retry_ms] {
      CommitEnd(id, std::min(retry_ms * 2, kSessionRetryLastMs));
    });
  });
}

void Sessions::Forget(const std::string& id) {
  room_.Leave(open_.at(id).account);
  open_.erase(id);
}

Sessions::View Sessions::ViewOf(const OpenSession& session) const {
  View view{session.row, {}, session.token};
  if (std::optional<LeaseQueue::Outlook> outlook = node_.OutlookOf(session.row.id)) view.outlook = *outlook;
  return view;
}

std::optional<Sessions::View> Sessions::FindOpen(const std::string& id) const {
  KPROF_ON_IO_LOOP(context_.loop);
  auto found = open_.find(id);
  if (found == open_.end()) return std::nullopt;
  return ViewOf(found->second);
}

std::vector<std::pair<std::string, uint32_t>> Sessions::Living() const {
  KPROF_ON_IO_LOOP(context_.loop);
  std::vector<std::pair<std::string, uint32_t>> living;
  for (const auto& [id, session] : open_) {
    if (!session.ending) living.emplace_back(id, session.row.uid);
  }
  return living;
}

const SessionRow* Sessions::FindOpenRow(const std::string& id) const {
  KPROF_ON_IO_LOOP(context_.loop);
  auto found = open_.find(id);
  return found == open_.end() ? nullptr : &found->second.row;
}

WatchId Sessions::Watch(const std::string& id, std::function<void(const View&)> changed) {
  KPROF_ON_IO_LOOP(context_.loop);
  return open_.at(id).watchers.Add(std::move(changed));
}

void Sessions::Unwatch(const std::string& id, WatchId watch) {
  KPROF_ON_IO_LOOP(context_.loop);
  if (auto found = open_.find(id); found != open_.end()) found->second.watchers.Remove(watch);
}

void Sessions::Hold(const std::string& id) {
  KPROF_ON_IO_LOOP(context_.loop);
  auto found = open_.find(id);
  if (found == open_.end()) return;
  ++found->second.holders;
  found->second.deadlines->StopAbandoning();
}

void Sessions::Unhold(const std::string& id) {
  KPROF_ON_IO_LOOP(context_.loop);
  auto found = open_.find(id);
  if (found == open_.end()) return;
  OpenSession& session = found->second;
  if (--session.holders == 0 && session.row.attached) session.deadlines->Abandon(options_.hold_grace_ms);
}

void Sessions::Notify(OpenSession& session) {
  context_.catalog.changes().Bump();
  if (!session.watchers.empty()) session.watchers.Tell(ViewOf(session));
}

size_t Sessions::CountAttached() const {
  return static_cast<size_t>(
      std::count_if(open_.begin(), open_.end(), [](const auto& entry) { return entry.second.row.attached; }));
}

void Sessions::NotifyQueued() {
  for (auto& [id, session] : open_) {
    if (session.row.state == SessionState::kQueued && !session.ending) Notify(session);
  }
}

const SessionRow* Sessions::FindTaking(const std::string& id) const {
  KPROF_ON_IO_LOOP(context_.loop);
  auto found = open_.find(id);
  return found == open_.end() || found->second.ending || found->second.doomed ? nullptr : &found->second.row;
}

Leases& Sessions::LeasesOf(const std::string& id) {
  return *open_.at(id).leases;
}

const Leases* Sessions::FindLeases(const std::string& id) const {
  auto found = open_.find(id);
  return found == open_.end() ? nullptr : found->second.leases.get();
}

std::optional<Status> Sessions::WhyEnding(const std::string& id) const {
  const std::optional<Ending>& ending = open_.at(id).ending;
  return ending ? std::optional(ending->of_runs) : std::nullopt;
}

void Sessions::AddRun(const std::string& id, const std::string& run_id) {
  OpenSession& session = open_.at(id);
  session.runs.insert(run_id);
  session.deadlines->StopIdling();
}

void Sessions::NoteRound(const std::string& id, int64_t round) {
  auto found = open_.find(id);
  if (found != open_.end()) found->second.row.last_round = std::max(found->second.row.last_round, round);
}

void Sessions::RemoveRun(const std::string& id, const std::string& run_id) {
  auto found = open_.find(id);
  if (found == open_.end() || found->second.runs.erase(run_id) == 0) return;
  OpenSession& session = found->second;
  if (session.row.state == SessionState::kOpen && session.runs.empty()) session.deadlines->Idle(session.row);
  FinishWhenAlone(id);
}

}  // namespace kprof
