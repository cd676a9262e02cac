// Turns: the part of Supervisor that runs the commands of a tool's sides, a fresh process for each turn. kprofd says
// which side is next and when there are enough. Between turns nothing runs. The samples of a turn come over a pipe of
// its own, so that a process of an earlier turn cannot write into this one.
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "daemon/launch/launch_request.h"
#include "storage/base/environment.h"
#include "storage/base/readable_text.h"

#include "daemon/process/supervisor/supervisor.h"

namespace kprof {
namespace {

// "The turn of the baseline ended with exit code 3".
std::string HowTurnEnded(const TurnEnded& turn) {
  const std::string whose = turn.side == 0 ? "the command" : "the command of --against";
  if (turn.exit_code) return whose + " ended with exit code " + std::to_string(*turn.exit_code);
  return whose + (turn.signal ? " was ended by " + SignalName(*turn.signal) : " could not be ended");
}

}  // namespace

void Supervisor::TakeTurn(const Result<TurnAsked>& turn) {
  if (!turn.ok() || static_cast<size_t>(turn->side) >= sides_.size()) return Fail({"request", EBADMSG});
  turn_ = *turn;
  if (is_checked_ || request_.check.empty()) return StartTurn();
  // Correctness before speed.
  const LaunchFailure failure = StartStep(Phase::kChecking, {kCheckStep, {"/bin/sh", "-c", request_.check}});
  if (!failure.step.empty()) Fail(failure);
}

void Supervisor::StartTurn() {
  SetVariable(request_.environment, std::string(kEventSamplesVariable) + "=" + std::to_string(turn_.samples));
  SetVariable(request_.environment, std::string(kEventSeedVariable) + "=" + std::to_string(turn_.seed));
  if (!streams_.OpenSamples()) return Fail({"pipe", errno});
  const LaunchFailure failure = StartChild(Phase::kCommand, sides_[static_cast<size_t>(turn_.side)]);
  streams_.GaveSamplesEnd();
  if (!failure.step.empty()) Fail(failure);
}

void Supervisor::OnCheckGone() {
  const std::optional<int> status = tree_.command().wait_status;
  const bool well =
      child_->report->step[0] == '\0' && unkillable_ == 0 && status && WIFEXITED(*status) && WEXITSTATUS(*status) == 0;
  if (well && !stop_asked_) {
    is_checked_ = true;
    return StartTurn();
  }
  stopped_ |= stop_asked_;
  end_ = CommandEnded{.ended_unix_ns = tree_.command().ended_unix_ns, .unkillable_processes = unkillable_};
  end_->failed_step = kCheckStep;
  if (status && WIFEXITED(*status)) end_->step_exit_code = WEXITSTATUS(*status);
  if (status && WIFSIGNALED(*status)) end_->step_signal = WTERMSIG(*status);
  Finish();
}

void Supervisor::OnTurnGone() {
  const ChildReport& report = *child_->report;
  if (report.step[0] != '\0') {
    std::string step(report.step, ::strnlen(report.step, sizeof report.step));
    return Fail({std::move(step), report.error});
  }
  const TreeUsage& usage = tree_.usage();
  TurnEnded turn;
  turn.side = turn_.side;
  turn.began_unix_ns = report.unix_ns;
  turn.wall_ns = std::max<int64_t>(0, tree_.command().ended_mono_ns - report.mono_ns);
  turn.user_cpu_ns = usage.user_cpu_ns;
  turn.system_cpu_ns = usage.system_cpu_ns;
  turn.max_rss_bytes = usage.max_rss_bytes;
  turn.leftover_processes = tree_.leftovers();
  streams_.TakeSamples(turn);
  turns_usage_.user_cpu_ns += usage.user_cpu_ns;
  turns_usage_.system_cpu_ns += usage.system_cpu_ns;
  turns_usage_.max_rss_bytes = std::max(turns_usage_.max_rss_bytes, usage.max_rss_bytes);
  turns_usage_.voluntary_switches += usage.voluntary_switches;
  turns_usage_.involuntary_switches += usage.involuntary_switches;
  turns_wall_ns_ += turn.wall_ns;
  turns_leftovers_ += turn.leftover_processes;
  end_ = EndOf(turns_usage_);
  end_->wall_ns = turns_wall_ns_;
  end_->leftover_processes = turns_leftovers_;
  turn.exit_code = end_->exit_code;
  turn.signal = end_->signal;
  const bool well = end_->exit_code == 0 && unkillable_ == 0 && !stop_asked_;
  if (!well && !stop_asked_) tool_run_.AddNote("turn_failed: " + HowTurnEnded(turn));
  channel_.Send(LaunchMessage::kTurnOver, EncodeTurnEnded(turn));
  phase_ = Phase::kTurns;
  child_.reset();
  if (!well) EndTurns();
}

// No process runs.
void Supervisor::EndTurns() {
  if (!end_) end_ = CommandEnded{.ended_unix_ns = began_unix_ns_};
  if (unkillable_ > 0 || end_->exit_code != 0) {
    steps_.clear();
    steps_are_all_ = true;
  }
  if (started_) channel_.Send(LaunchMessage::kCommandOver);
  NextStep();
}

}  // namespace kprof
