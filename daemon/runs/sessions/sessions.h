// Owns all sessions that have not ended: opens them, lets each wait for its devices and hold them for its runs, ends
// them, tells their watchers. Ended sessions live in the catalog alone.
//
// Within a session runs wait at its own Leases, which has the session's devices alone. Runs themselves are runs.h,
// which owns this. permissions.h has decided before what a caller may do with which session.
//
// Io loop only, answers come from the loop. Nothing blocks.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/base/io_loop.h"
#include "daemon/runs/queue/lease_clocks.h"
#include "daemon/runs/queue/leases.h"
#include "daemon/runs/queue/queue_room.h"
#include "daemon/runs/run_context.h"
#include "daemon/runs/run_id.h"
#include "daemon/runs/run_observer.h"
#include "daemon/runs/sessions/session_deadlines.h"
#include "daemon/runs/sessions/session_request.h"
#include "storage/base/status.h"
#include "storage/catalog/audit_table.h"
#include "storage/catalog/session_row.h"

namespace kprof {

//   queued -> open -> closing -> closed | lost
//
// The clocks of its devices are locked, as its policy says, when a session gets them, and given back before anybody
// else gets these.
//
// Each state is durable before it is acted on: runs start under a lease only when `open` is, and are ended only when
// `closing` is. So wherever a crash falls, the next start knows what was promised. A detached session that was queued
// or open goes on, with its devices held before anything else starts. One that was closing is closed; an attached one
// is lost with the daemon that held its stream. Those two keep their devices, too, until no process of their runs is
// left.
class Sessions {
 public:
  struct Options {
    SessionLimits limits;
    // How long an attached session lives when nobody holds it.
    int64_t hold_grace_ms = 10'000;
    std::function<uint32_t(uint32_t)> account_of;  // as in Runs::Options
  };
  struct Events {
    // Ends that run with this error, wherever it is: a run that was added and not yet removed. The id may be unknown.
    std::function<void(const std::string& run_id, const Status& why, int64_t grace_ms)> end_run;
    // The outlooks of those that wait, here or within a session, may be different now.
    std::function<void()> changed;
  };
  // `node`: the leases of the node's devices. Everything is borrowed and outlives this.
  Sessions(const RunContext& context, const Options& options, RunIdGenerator& ids, Leases& node, Events events);
  ~Sessions();

  // Takes back a session that a restart found. Call it before Begin, in the order of ids; the runs that wait beside
  // sessions are taken back in the same order. From a catalog that is a backup no session goes on, and none holds
  // devices, which may have changed hands since: its runs that are in flight hold their own.
  void TakeBack(SessionRow row, bool is_backup);
  // Once, when the loop runs and all is taken back.
  void Begin();
  // Something befell its devices; its runs from then on say it, too. REQUIRES: FindOpenRow(id).
  void Doubt(const std::string& id, const TrustReason& reason);
  // The daemon stops: nothing more begins or ends by itself. Open sessions stay open in the catalog.
  void Stop();

  // Answers with the row when it is durable, and queues for the devices. REQUIRES: CheckSessionRequest passed.
  void Open(SessionRequest request, std::function<void(Result<SessionRow>)> done);

  // The session with that token, of any user: do not tell everybody that it is there. Null for none; valid until this
  // task ends.
  const SessionRow* FindByToken(const std::string& token) const;
  // The open, attached session of that user and token; kLeaseLost when there is none.
  Result<std::string> Resume(uint32_t uid, const std::string& token) const;

  // Ends its runs with `of_runs`, gives its devices back, then answers. Where somebody else than its owner ends it, the
  // cause in `of_runs` becomes the session's error, too. kUsage when it has ended. If the end cannot be stored, that
  // failure is the answer: the session has ended for now, but a crash may bring it back.
  void Close(const std::string& id, const Actor& by, const Status& of_runs, int64_t grace_ms,
             std::function<void(Result<SessionRow>)> done);

  // A session as its watchers see it.
  struct View {
    SessionRow row;
    LeaseQueue::Outlook outlook;  // while it is queued
    std::string token;            // of an attached one
  };
  // Nothing for a session that has ended, and whose end is in the catalog.
  std::optional<View> FindOpen(const std::string& id) const;
  // All sessions that nobody has begun to end, with their uids.
  std::vector<std::pair<std::string, uint32_t>> Living() const;
  // The same without the outlook. Null for none; valid until this task ends.
  const SessionRow* FindOpenRow(const std::string& id) const;

  // `changed` is called on each change, for the last time with a terminal state. REQUIRES: FindOpen(id).
  WatchId Watch(const std::string& id, std::function<void(const View&)> changed);
  void Unwatch(const std::string& id, WatchId watch);

  // While somebody holds an attached session, it lives. Unknown and ended ids are fine.
  void Hold(const std::string& id);
  void Unhold(const std::string& id);

  // Tells the watchers of queued sessions their outlook of now.
  void NotifyQueued();

  size_t queued() const { return queued_; }
  size_t open() const { return open_.size() - queued_; }
  // Queued and open sessions that a restart of the daemon loses.
  size_t CountAttached() const;

  // The session, if it takes runs; null when it has ended, or is about to.
  const SessionRow* FindTaking(const std::string& id) const;
  // The Leases at which its runs wait. REQUIRES: one of them was added and not yet removed.
  Leases& LeasesOf(const std::string& id);
  // The same for the holder of a device; null for a holder that is no session.
  const Leases* FindLeases(const std::string& id) const;
  // The reason with which its runs are being ended; nothing while it lives. REQUIRES: as LeasesOf.
  std::optional<Status> WhyEnding(const std::string& id) const;
  // The run is on its way into the session, or was taken back with it. REQUIRES: FindOpenRow(id).
  void AddRun(const std::string& id, const std::string& run_id);
  // The run is durable, as that round.
  void NoteRound(const std::string& id, int64_t round);
  // The run has ended, or never came to be. Unknown ids are fine.
  void RemoveRun(const std::string& id, const std::string& run_id);

 private:
  struct Ending {
    SessionState as = SessionState::kClosed;
    std::optional<Status> error = std::nullopt;  // the session's own
    Status of_runs = {};
    int64_t grace_ms = 0;
    std::optional<AuditEntry> entry = std::nullopt;  // of the audit; stored with the first state that follows
    bool runs_told = false;
  };
  struct OpenSession {
    SessionRow row;  // the durable row, which everybody sees
    uint32_t account = 0;
    std::string token;
    std::unique_ptr<Leases> leases;
    std::set<std::string> runs;
    std::optional<SessionRow> granted;  // while `open` is being committed
    std::optional<int64_t> held_since_mono_ns;
    bool has_lease = false;        // its lease is durable, and in the audit
    bool has_clocks = false;       // locked, or being locked
    bool releasing = false;        // the clocks
    bool found = false;            // by a restart: nobody knows since when it is held
    std::optional<Status> doomed;  // taken back, but cannot go on
    std::optional<Ending> ending;
    std::optional<SessionRow> end;          // its end, while that is being committed
    std::optional<AuditEntry> lease_ended;  // stored with it
    std::vector<std::function<void(Result<SessionRow>)>> end_known;
    int holders = 0;
    std::unique_ptr<SessionDeadlines> deadlines;
    IoLoop::Timer retry_timer;
    Watchers<View> watchers;
  };

  uint32_t AccountOf(uint32_t uid) const { return options_.account_of ? options_.account_of(uid) : uid; }
  OpenSession& Add(SessionRow row, uint32_t account);
  void Become(OpenSession& session, SessionRow row);
  std::optional<Status> WhyItCannotGoOn(const SessionRow& row, bool is_backup) const;
  void Wait(OpenSession& session);
  void OnGranted(const std::string& id);
  void TakeClocks(const std::string& id);
  void OnClocks(const std::string& id, const ClocksTaken& taken);
  void OnOpen(const std::string& id);
  void OnDeadline(const std::string& id, const Status& why);
  void End(const std::string& id, Ending ending);
  void EndRuns(const std::string& id);
  void FinishWhenAlone(const std::string& id);
  void CommitEnd(const std::string& id, int64_t retry_ms);
  void Commit(SessionRow row, const std::vector<std::optional<AuditEntry>>& entries, std::function<void(Status)> then);
  void Forget(const std::string& id);
  View ViewOf(const OpenSession& session) const;
  void Notify(OpenSession& session);

  const RunContext context_;
  const Options options_;
  RunIdGenerator& ids_;
  Leases& node_;
  const Events events_;
  QueueRoom room_;
  std::map<std::string, OpenSession> open_;
  size_t queued_ = 0;
  bool stopped_ = false;
};

}  // namespace kprof
