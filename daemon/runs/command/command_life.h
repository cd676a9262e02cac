// The life of a command: one run from the moment it has its devices, or its step before them (--prepare), until its end
// is known: preparing, running, collecting. In `collecting` the files that it left are kept (output_keeping.h); its
// devices are free by then.
//
// Each state is committed before it is acted on. Nothing is set up before `preparing` is durable; with it the audit
// says whose the devices are, and the run has been told what else may use them. Nothing is executed before `running` is
// durable. Does not queue and does not commit the end; that is runs.h, which owns it.
//
// Io loop only; life.h says how it ends.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/runs/command/device_hold.h"
#include "daemon/runs/command/output_keeping.h"
#include "daemon/runs/command/reported_metrics.h"
#include "daemon/runs/command/run_end.h"
#include "daemon/runs/command/run_folder.h"
#include "daemon/runs/event/event_turns.h"
#include "daemon/runs/life.h"
#include "daemon/runs/run_context.h"
#include "storage/catalog/run_row.h"
#include "storage/db/db.h"

namespace kprof {

// The grace of a run that took too long.
inline constexpr int64_t kTimeoutGraceMs = 5000;

class CommandLife final : public Life {
 public:
  // `row` is queued; its devices are held for it, unless it `prepares`: then a step runs before it wants them.
  // `account`: the user that limits count it as. `longest_ms`: the timeout of a run that asked for none, and the limit
  // of its steps; 0: none.
  CommandLife(const RunContext& context, RunRow row, uint32_t account, bool prepares, int64_t longest_ms,
              LifeEvents events);
  ~CommandLife() override;

  void Begin() override;
  void OnGranted(const std::vector<TrustReason>& trust) override;
  // Ends the command; after that, the keeping of its files.
  bool Stop(const Status& reason, int64_t grace_ms) override;
  void Doubt(const TrustReason& reason) override { row_.trust.push_back(reason); }
  bool has_begun() const override { return went_; }

 private:
  struct Prepared {
    LaunchRequest request;
    RunFiles files;
  };

  struct Gathered {
    Collected collected;
    ReportedMetrics reported;
    std::optional<EventOutcome> event;
    std::shared_ptr<ReceivedOutput> samples;
  };

  // `also`: in the same transaction, if anything.
  void Commit(std::function<Status(Db&)> also, std::function<void(Status)> then);
  // Does the work on a worker, and goes on with its result on the loop.
  template <typename T>
  void OnWorker(WorkerPool& pool, std::function<Result<T>()> work, void (CommandLife::*then)(Result<T>));
  void CommitPreparing(std::function<void()> then);
  void PrepareFiles();
  void SetToolVariables(std::vector<std::string>& environment) const;
  void OnFilesPrepared(Result<Prepared> prepared);
  void PrepareDevices(std::function<void()> then);
  std::vector<std::string> DeviceVariables(const std::vector<std::string>& environment) const;
  // The keys of the devices, as ceilings know them.
  std::vector<std::string> DeviceKeys() const;
  void GiveDevices();
  void Launch(Prepared prepared);
  Result<OutputFiles> SupervisorsOutput(const OutputSockets& client);
  void CommitRunning();
  void OnHeldUp(const Status& why);
  void OnStepBegins();
  void OnCommandOver();
  void LimitSteps(const std::string& what, int64_t limit_ms, int64_t left_ms);
  void GoWhenReady();
  void AskTurn(const TurnAsked& turn);
  void OnTurnOver(const TurnEnded& turn);
  // The outcome of a turn, and the next turn.
  struct AfterTurn {
    Status failed;
    std::optional<TurnAsked> next;
  };
  void OnTurnAdded(Result<AfterTurn> after);
  Result<std::shared_ptr<ReceivedOutput>> KeepSamples(const std::string& text) const;
  void OnStarted(const CommandStarted& started);
  int64_t Believable(int64_t unix_ns, int64_t not_before_ns) const;
  Status WhyTimedOut() const;
  void OnEnded(const CommandEnded& ended);
  void BeginCollecting();
  void FinishOutput();
  void LeaveDevices();
  void CollectWhenReady();
  void CollectFiles();
  void OnCollected(Result<Gathered> gathered);
  // The folder for its tool's own files, of a run that the daemon starts.
  std::string OutputFolderOf(const std::string& id) const;
  void OnOutputsOver();
  bool StopKeeping(const Status& reason);
  PhysicalFloor FloorOfDevices() const;
  void DisputeIdleDevices();
  void AddEventOutcome();
  void End();
  std::optional<Status> WhyItFailed() const;
  void Blame(const Status& error);

  const RunContext context_;
  const LifeEvents events_;
  RunRow row_;
  const bool prepares_;
  bool leased_ = false;                   // its devices are its own, and that is known or being stored
  bool preparing_devices_ = false;        // of a run that prepares
  std::vector<std::string> environment_;  // its caller's, until its devices are added to it
  bool timeout_is_nodes_ = false;         // the run asked for none itself
  DeviceHold hold_;
  bool left_devices_ = false;
  RunFiles files_;
  std::unique_ptr<OutputTaking> taking_;  // of a supervisor that is not of our user
  std::unique_ptr<Launched> launched_;
  bool was_launched_ = false;
  bool step_runs_ = false;  // the one before the lease
  bool prepared_ = false;   // the supervisor is ready
  bool committing_running_ = false;
  bool running_committed_ = false;  // and so are we
  bool went_ = false;
  int64_t went_mono_ns_ = 0;
  bool started_ = false;  // so says its supervisor
  bool collecting_committed_ = false;
  bool collecting_files_ = false;
  int64_t launched_mono_ns_ = 0;
  bool ended_ = false;  // the command is over, or never will be
  bool may_live_on_ = false;
  std::optional<CommandEnded> command_;
  std::shared_ptr<EventTurns> turns_;  // of a tool that takes turns; a worker's while turn_is_judged_
  bool turn_is_judged_ = false;
  int64_t turn_asked_mono_ns_ = 0;
  std::optional<EventOutcome> event_;      // what came of its turns
  std::vector<std::string> idle_devices_;  // never seen at work
  ReportedMetrics reported_;               // by the command
  std::vector<MetricRow> kernel_metrics_;  // of the parts that it left, then its own
  std::optional<Status> stop_reason_;
  std::optional<Status> error_;  // why the run fails; the first one counts
  const Tool& tool_;
  const int64_t longest_ms_;
  OutputKeeping outputs_;
  bool was_stopped_keeping_ = false;
  std::optional<Status> daemon_stops_;  // it stopped while files were kept
  IoLoop::Timer timeout_;               // of the command; before it, of the queue for a run that is held up
};

}  // namespace kprof
