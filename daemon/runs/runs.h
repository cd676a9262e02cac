// Owns all runs that have not ended: submits them, queues them, gives each its devices and its Life, commits their
// ends, tells their watchers. Also owns the sessions, and the queue in which sessions and single runs wait for devices;
// a run of a session waits within it. Ended runs live in the catalog alone. Knows callers by uid only: permissions.h
// has decided before what a caller may do to which run.
//
// Io loop only, answers come from the loop. Nothing blocks.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "daemon/runs/command/device_leftovers.h"
#include "daemon/runs/command/run_end.h"
#include "daemon/runs/command/run_request.h"
#include "daemon/runs/command/run_submission.h"
#include "daemon/runs/imports/import_submission.h"
#include "daemon/runs/life.h"
#include "daemon/runs/queue/leases.h"
#include "daemon/runs/queue/queue_room.h"
#include "daemon/runs/recovery.h"
#include "daemon/runs/retention/retention_sweep.h"
#include "daemon/runs/run_context.h"
#include "daemon/runs/run_id.h"
#include "daemon/runs/run_observer.h"
#include "daemon/runs/sessions/sessions.h"
#include "storage/catalog/audit_table.h"
#include "storage/catalog/run_row.h"

namespace kprof {

class Runs {
 public:
  struct Options {
    QueueLimits queue;
    Sessions::Options sessions;
    RetentionPolicy retention;
    int64_t longest_run_ms = 0;  // 0: as long as it likes
    size_t imports_at_once = 2;
    size_t preparations_at_once = 32;  // steps before a lease
    // Runs that have such a step, from there until they have their lease: each has a supervisor that waits with it.
    // Within a session it is one at a time.
    size_t prepared_at_once = 256;
    // How long an attached run lives when nobody holds it.
    int64_t hold_grace_ms = 10'000;
    // How long a stop waits for runs that do not end: less than systemd waits for kprofd (TimeoutStopSec in
    // kprofd.service).
    int64_t stop_limit_ms = 35'000;
    // The account that limits and turns count a uid as; none: the uid itself. Called on the loop, and in the
    // constructor.
    std::function<uint32_t(uint32_t)> account_of;
    // Why that caller, with these groups, may no longer start a run that is stored by now; empty: it may. None: all
    // may.
    std::function<std::string(const Actor& who, const std::vector<uint32_t>& groups)> why_revoked;
  };
  // `recovered`: what a restart found. `last_id`: the newest id in the catalog.
  Runs(const RunContext& context, const Options& options, const std::string& last_id, RecoveredRuns recovered);
  ~Runs();

  // Starts what may start. Once, when the loop runs.
  void Begin();

  // The longest time of runs that are submitted, or start without a timeout of their own, from now on; 0: as long as
  // they like.
  void SetLongestRun(int64_t ms) { longest_run_ms_ = ms; }

  // Queues a run; answers when it is durable. Fails with kQueueFull, and with kLeaseLost when its session takes no more
  // runs. REQUIRES: CheckRunRequest passed; session_id is empty or a whole id.
  void Submit(RunRequest request, std::function<void(Result<RunRow>)> done);

  // The same for an import, which may become several runs; its answer is without their plans. `stop`: as in
  // StoreSubmittedImport. REQUIRES: CheckImportRequest passed.
  void SubmitImport(ImportRequest request, std::stop_token stop,
                    std::function<void(Result<std::vector<SubmittedImport>>)> done);

  // Ends an open run with this error. For a queued run it answers when the end is durable, or with why it could not be
  // stored: the run has ended for now, but a crash may bring it back. For another run it answers when stopping has
  // begun. kUsage when the run has ended, or its command has.
  void Stop(const std::string& id, const Status& reason, int64_t grace_ms, std::function<void(Result<RunRow>)> done);

  // Removes an ended run and its files, on a full disk too. kUsage when it is open or pinned. If its end could not be
  // stored yet, its files go first, to make room for that.
  void Delete(const std::string& id, const Actor& by, std::function<void(Status)> done);

  // A pinned run survives retention and Delete. Answers with the row as it is then.
  void SetPinned(const std::string& id, bool pinned, const Actor& by, std::function<void(Result<RunRow>)> done);

  // A run as its watchers see it; valid until this task ends.
  struct View {
    const RunRow& row;                                // no copy: it may be megabytes, and there may be many watchers
    LeaseQueue::Outlook outlook;                      // while it is queued
    std::optional<ImportProgress> import_progress{};  // of an import, once it reads
  };
  // Nothing for a run that has ended, and whose end is in the catalog.
  std::optional<View> FindOpen(const std::string& id) const;
  // The same without the outlook, which costs a walk of the queue. Null for none; valid until this task ends.
  const RunRow* FindOpenRow(const std::string& id) const;

  // `changed` is called on each change, for the last time with a terminal state. REQUIRES: FindOpen(id).
  WatchId Watch(const std::string& id, std::function<void(const View&)> changed);
  void Unwatch(const std::string& id, WatchId watch);

  // While somebody holds an attached run, it lives, and so do the others of its import. Unknown and ended ids are fine.
  void Hold(const std::string& id);
  void Unhold(const std::string& id);

  // Runs of which nothing was executed yet, nor will be in this turn of the loop, with their uids: those that wait,
  // here and within sessions, and those that are being prepared.
  std::vector<std::pair<std::string, uint32_t>> NotBegun() const;
  // True for any other run.
  bool HasBegun(const std::string& id) const;
  // The queue of the node's devices; their holders are sessions and single runs.
  const LeaseQueue& queue() const { return leases_.queue(); }
  // How many runs wait, here and within sessions, and how many may.
  size_t queued() const { return room_.taken() - submitting_; }
  const QueueRoom::Limits& limits() const { return room_.limits(); }
  size_t running() const { return running_; }
  // The run that has the device, by itself or within its session; empty: none.
  std::string RunOn(const std::string& device) const;
  Sessions& sessions() { return sessions_; }
  const Sessions& sessions() const { return sessions_; }
  RetentionSweep& retention() { return retention_; }

  // Takes nothing more, ends running runs (`lost_daemon`), leaves the queue as it is. Calls `done` when all ends are
  // committed, at the latest after stop_limit_ms: the next start ends the runs that have not ended by then.
  void StopAll(int64_t grace_ms, std::function<void()> done);
  // After StopAll: no more grace.
  void KillAll();

 private:
  // Between two tries to store an end: at first, and at most.
  static constexpr int64_t kRunRetryFirstMs = 500;
  static constexpr int64_t kRunRetryLastMs = 30'000;

  struct OpenRun {
    RunRow row;                                     // the durable row, which everybody sees
    uint32_t account = 0;                           // the user that limits count it as
    Leases* leases = nullptr;                       // where it waits, or holds its devices; null: neither
    std::unique_ptr<Life> life;                     // none while it waits
    std::shared_ptr<const ImportPlan> plan;         // of an import, while it waits
    std::optional<ImportProgress> import_progress;  // once it reads
    std::unique_ptr<LostRun> lost;                  // in place of its life, if a restart found it in flight
    std::optional<RunRow> end;                      // its end, while that is being committed
    std::vector<MetricRow> kernel_metrics;          // with it
    std::vector<LeftoverRow> told;                  // leftovers on its devices; forgotten with the end
    std::optional<AuditEntry> end_entry;            // for the audit, with the end: its lease ended, or why it got none
    Status end_refused;                             // why the end could not be stored, the last time
    std::vector<std::function<void(Result<RunRow>)>> end_known;  // wait for the end of a queued run
    std::shared_ptr<const std::vector<std::string>> together;    // the runs of its import, if there are several
    int holders = 0;
    IoLoop::Timer hold_timer;
    IoLoop::Timer queue_timer;
    IoLoop::Timer retry_timer;
    Watchers<View> watchers;
    int64_t granted_mono_ns = 0;  // once it has its life
    bool prepares = false;        // a step runs before its lease
    bool has_devices = false;     // they were granted; false while it waits, or prepares
    bool left_devices = false;    // before its life ended
  };

  uint32_t AccountOf(uint32_t uid) const { return options_.account_of ? options_.account_of(uid) : uid; }
  void OnClocksLost(const std::string& device, const Status& why);
  void OnPauseLost(const std::string& holder, const Status& why);
  void TakeBack(RecoveredRuns recovered);
  void TakeBackQueued(RunRow row);
  void TakeBackLost(RunRow row);
  void Become(OpenRun& open, const RunRow& changed);
  struct Submitter {
    uint32_t account = 0;
    Actor who;
    std::vector<uint32_t> groups;
  };
  void Enqueue(RunRow row, std::shared_ptr<const ImportPlan> plan, bool prepares, const Submitter& by);
  Status CheckSubmission(uint32_t account, const char* act) const;
  std::unique_ptr<Life> MakeLife(OpenRun& open);
  void KeepNothing(RunRow& import);
  void Wait(OpenRun& open);
  void WaitToPrepare(OpenRun& open);
  void OnMayPrepare(const std::string& id);
  void WaitForStep(OpenRun& open);
  void WaitForDevices(OpenRun& open);
  void Start(const std::string& id);
  void Leave(OpenRun& open);
  void StartQueueTimer(const std::string& id);
  void StartHoldTimer(const std::string& id);
  void StartHoldTimers(const std::vector<OpenRun*>& together);
  std::vector<OpenRun*> HeldWith(const std::string& id);
  size_t EnqueueAll(std::vector<SubmittedImport>& imports, const Submitter& by);
  void EndQueued(const std::string& id, const Status& reason);
  void LeaveQueued(const std::string& id);
  void OnDevicesLeft(const std::string& id, const RunRow& row, const std::optional<Status>& failed);
  void WaitToImport(const std::string& id, std::function<void()> granted);
  std::optional<AuditEntry> EndLease(const OpenRun& open, const RunRow& row, const std::string& outcome);
  void OnLifeEnded(EndedRun ended);
  void CommitEnd(const std::string& id, int64_t retry_ms);
  void OnEndStored(const std::string& id);
  void OnEndRefused(const std::string& id, const Status& why, int64_t retry_ms);
  void DeleteUnstored(const std::string& id, const Actor& by, std::function<void(Status)> done);
  void Forget(const std::string& id);
  void Notify(const std::string& id);
  void OnQueueChanged();
  void NotifyQueued();
  View ViewOf(const OpenRun& open) const;
  static bool HasBegun(const OpenRun& open);
  void FinishStopping();

  const RunContext context_;
  const Options options_;
  RunIdGenerator ids_;
  QueueRoom room_;
  Leases leases_;
  Leases imports_;       // the places of imports
  Leases preparations_;  // the places of steps before leases
  Leases prepared_;      // the places of runs with such a step, until their lease
  Sessions sessions_;
  RetentionSweep retention_;
  std::map<std::string, OpenRun> open_;
  DeviceLeftovers leftovers_;
  int64_t longest_run_ms_;
  size_t submitting_ = 0;  // on their way into the queue
  size_t running_ = 0;
  bool begun_ = false;
  IoLoop::Timer notify_timer_;
  IoLoop::Timer stop_limit_;
  std::function<void()> stopped_;  // set once stopping
};

}  // namespace kprof
