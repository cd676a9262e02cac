// One run's life under the protocol of launch_protocol.h, from request to end: steps before the lease, the plan and the
// questions before it, the command, maybe more than once or in turns, steps after it, the files that they left. The
// only class here that decides when: supervisor.cc waits, hears and ends processes, supervisor_phases.cc knows what
// follows what, supervisor_turns.cc how turns follow each other.
//
// One thread, one poll loop, no waiting anywhere else. It ends when the tree is gone and reported, or, when nobody is
// at the other end of the channel any more, when the tree is gone; and in any case a bounded time after it began to
// kill: processes that hang in the kernel, or have changed identity, are counted and left. Once the channel is closed,
// nothing is written to the logs any more.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "daemon/capture/tool.h"
#include "daemon/launch/host_cpu.h"
#include "daemon/process/supervisor/command_child.h"
#include "daemon/process/supervisor/command_files.h"
#include "daemon/process/supervisor/command_streams.h"
#include "daemon/process/supervisor/control_channel.h"
#include "daemon/process/supervisor/output_hand_over.h"
#include "daemon/process/supervisor/process_tree.h"
#include "daemon/process/supervisor/tool_run.h"

namespace kprof {

class Supervisor {
 public:
  // SIGCHLD is blocked and comes by `child_signal_fd`. `own_nofile` is the limit that this process was started with.
  // A request with another `digest` (launch_request.h) is refused, and so are files in place of sockets for the output;
  // empty: any is good. `output_folder`: as in OutputFolder. `client` gets what is printed, too.
  Supervisor(UniqueFd control, UniqueFd child_signal_fd, const ResourceLimit& own_nofile, std::string digest,
             char* output_folder, ClientSockets client);

  // Returns the exit status (kLaunchTree...).
  int Run();

 private:
  enum class Phase {
    kNothing,   // no request has come
    kBefore,    // the step before the lease
    kWaiting,   // for the lease
    kAsking,    // a question of the tool to its program
    kTurns,     // for kprofd to ask for the next turn
    kChecking,  // the caller's check, before the first turn
    kCommand,
    kAfter,    // a step after the command
    kOutputs,  // they are handed over
    kOver,     // told when the last of what was printed is out
  };

  static constexpr int64_t kNever = INT64_MAX;
  // For the last output to be taken once a Stop was asked for: less than a daemon waits that asks twice.
  static constexpr int64_t kLastOutputLimitNs = 3'000'000'000;
  // On CLOCK_MONOTONIC, at most the longest grace from now.
  static int64_t In(int64_t delay_ms);

  int RunToTheEnd();
  void Poll();
  void HearChannel();
  void TakeRequest(Result<LaunchRequest> request);
  void TakeLease(const Result<std::vector<std::string>>& variables);
  void NextQuestion();
  void OnQuestionGone();
  void BeginCommand();
  bool RunsAgain();
  void TakeTurn(const Result<TurnAsked>& turn);
  void StartTurn();
  void OnCheckGone();
  void OnTurnGone();
  void EndTurns();
  bool takes_turns() const { return !sides_.empty(); }
  LaunchFailure StartChild(Phase phase, std::vector<std::string> argv, int stdout_fd = -1);
  LaunchFailure StartStep(Phase phase, const ToolStep& step);
  void Fail(const LaunchFailure& failure);
  void FailPlan(const Status& why);
  void Stop(int64_t grace_ms);
  void ReadReport();
  void OnChildren();
  void BeginKill();
  void KillAgain();
  void KeepDeadlines();
  void OnTreeGone();
  void OnCommandGone();
  void OnStepGone();
  bool FailsByTool(const std::optional<int>& status);
  void NextStep();
  void AddSteps();
  void BeginOutputs();
  void HandOver();
  void Finish();
  CommandEnded EndOf(const TreeUsage& usage) const;
  void ReportEnd();
  void ReportOthers(const TreeUsage& usage, CommandEnded& ended) const;

  ControlChannel channel_;
  UniqueFd child_signal_fd_;
  const ResourceLimit own_nofile_;
  const std::string digest_;

  Phase phase_ = Phase::kNothing;
  LaunchRequest request_;                        // later with the environment of its plan
  std::vector<std::string> planned_argv_;        // the command of its plan
  std::vector<std::vector<std::string>> sides_;  // the commands of its plan that run in turns
  TurnAsked turn_;                               // the one under way, or the last one
  bool is_checked_ = false;                      // before the first turn
  const Tool* tool_ = nullptr;
  ToolRun tool_run_;
  int64_t tries_ = 1;           // of the command
  int64_t earlier_cpu_ns_ = 0;  // of tries before this one
  TreeUsage turns_usage_;       // of all turns
  int64_t turns_wall_ns_ = 0;
  int64_t turns_leftovers_ = 0;
  OutputFolder folder_;
  int folder_error_ = 0;        // why there is none
  int64_t began_unix_ns_ = 0;   // files that are older are not the run's
  std::deque<ToolStep> steps_;  // that are still to run; the first is under way in kAfter
  bool steps_are_all_ = false;  // none follow behind them
  CommandStreams streams_;
  std::optional<OutputHandOver> outputs_;

  std::optional<CommandChild> child_;
  ProcessTree tree_;
  int64_t leftover_grace_ms_ = 0;

  bool started_ = false;  // Started was sent
  bool stop_asked_ = false;
  bool stopped_ = false;       // before the command ended
  bool command_over_ = false;  // it has been reaped
  bool took_kill_ = false;     // it was still there when we began to kill
  bool killing_ = false;
  bool done_ = false;
  int64_t unkillable_ = 0;
  std::optional<CommandEnded> end_;  // of the command; told in kOver when all that was printed is out
  // Read while the daemon makes `running` durable, so that nobody waits for it.
  std::optional<HostCpu> host_before_;
  int64_t host_before_mono_ns_ = 0;
  // CLOCK_MONOTONIC; kNever when not set.
  int64_t kill_at_ns_;        // TERM was sent; KILL follows
  int64_t next_round_at_ns_;  // while killing
  int64_t round_delay_ns_ = 0;
  int64_t give_up_at_ns_;  // on what cannot be killed, later on output that is not taken
};

}  // namespace kprof
