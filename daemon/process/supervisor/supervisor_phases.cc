// The order of a run: the part of Supervisor that decides what is started next, and when the run is over. The loop that
// waits, and the ends of processes, are in supervisor.cc.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "daemon/capture/tools.h"
#include "daemon/launch/launch_request.h"
#include "storage/base/clock.h"
#include "storage/base/environment.h"
#include "storage/base/readable_text.h"

#include "daemon/process/supervisor/supervisor.h"

namespace kprof {
namespace {

constexpr uint64_t kMostStepFileBytes = uint64_t{4} << 30;

// Why there is no plan.
std::string StepOf(ErrorCode code) {
  if (code == ErrorCode::kToolMissing) return kToolMissingStep;
  if (code == ErrorCode::kNotPermitted) return kNotPermittedStep;
  return kPlanStep;
}

std::string HowItEnded(std::optional<int> status) {
  if (status && WIFEXITED(*status)) return "ended with exit code " + std::to_string(WEXITSTATUS(*status));
  return status && WIFSIGNALED(*status) ? "was ended by " + SignalName(WTERMSIG(*status)) : "could not be ended";
}

std::vector<std::string> ShellCommand(const std::string& command) {
  return {"/bin/sh", "-c", command};
}

}  // namespace

void Supervisor::TakeRequest(Result<LaunchRequest> request) {
  if (!request.ok() || !CheckLaunchRequest(*request).ok()) return Fail({"request", EBADMSG});
  if (!digest_.empty() && LaunchDigest(*request) != digest_) {
    // To the caller's terminal, where there is one: whoever sent this is not to tell it.
    constexpr std::string_view kRefused =
        "kprof-launch: start the command: kprofd sent another than was asked for, so nothing was started; tell whoever "
        "looks after this node\n";
    [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, kRefused.data(), kRefused.size());
    return Fail({"digest", EPERM});
  }
  if (!digest_.empty() && !channel_.HasOutputSockets()) return Fail({"output", EPERM});
  request_ = *std::move(request);
  leftover_grace_ms_ = request_.leftover_grace_ms;
  began_unix_ns_ = ReadClockNs(CLOCK_REALTIME_COARSE);  // as the kernel stamps files
  tool_ = FindTool(request_.tool);
  if (tool_ == nullptr) return Fail({std::string(kPlanStep) + "there is no such tool", EINVAL});
  // Nobody of the same user opens the pipe of samples by way of our /proc, nor looks into us.
  if (tool_->takes_turns) ::prctl(PR_SET_DUMPABLE, 0);
  if (!streams_.Make(channel_.files(), {request_.output_head_bytes, request_.output_tail_bytes}))
    return Fail({"pipe", errno});
  if (!tool_->outputs.empty()) {
    folder_error_ = folder_.Make(digest_.empty() ? request_.output_folder : "", request_.environment);
    const bool is_needed = std::any_of(tool_->outputs.begin(), tool_->outputs.end(),
                                       [](const ToolOutput& output) { return output.required; });
    if (folder_error_ != 0 && is_needed) return Fail({"output folder", folder_error_});
    if (folder_error_ == 0) {
      SetVariable(request_.environment, std::string(kOutputFolderVariable) + "=" + folder_.path());
    }
  }
  phase_ = Phase::kWaiting;
  if (request_.prepare.empty()) return;
  channel_.Send(LaunchMessage::kStepBegins);
  const LaunchFailure failure = StartChild(Phase::kBefore, ShellCommand(request_.prepare));
  if (!failure.step.empty()) Fail(failure);
}

// The devices are the run's.
void Supervisor::TakeLease(const Result<std::vector<std::string>>& variables) {
  if (!variables.ok()) return Fail({"request", EBADMSG});
  for (const std::string& variable : *variables) {
    if (!digest_.empty() && !IsDaemonsVariable(variable)) return Fail({"digest", EPERM});
    SetVariable(request_.environment, variable);
  }
  const Status begun = tool_run_.Begin(*tool_, request_, folder_.path(), digest_.empty());
  if (!begun.ok()) return FailPlan(begun);
  NextQuestion();
}

void Supervisor::FailPlan(const Status& why) {
  Fail({StepOf(why.code()) + why.why() + (why.remedy().empty() ? "" : "; " + why.remedy()), EINVAL});
}

void Supervisor::NextQuestion() {
  if (tool_run_.questions().empty()) return BeginCommand();
  const LaunchFailure failure = StartStep(Phase::kAsking, tool_run_.questions().front());
  if (!failure.step.empty()) Fail(failure);
}

// How it came out is for the plan to see: its answer is a file.
void Supervisor::OnQuestionGone() {
  if (unkillable_ > 0) {
    return Fail({std::string(kPlanStep) + "'" + tool_run_.questions().front().name +
                     "' left processes that cannot be ended; restart the node",
                 EBUSY});
  }
  if (stop_asked_) {
    stopped_ = true;
    end_ = CommandEnded{.ended_unix_ns = tree_.command().ended_unix_ns};
    return Finish();
  }
  tool_run_.questions().pop_front();
  NextQuestion();
}

void Supervisor::BeginCommand() {
  Result<ToolPlan> plan = tool_run_.MakePlan(request_);
  if (!plan.ok()) return FailPlan(plan.status());
  std::string program;
  const bool is_wrapped = !tool_->needs.program.empty() && !request_.argv.empty();
  const bool may_depend_on_folder =
      is_wrapped && request_.argv[0].find('/') != std::string::npos && !request_.argv[0].starts_with('/');
  if (is_wrapped && !may_depend_on_folder) {
    // A vendor's program would say it in its own words, or not at all.
    const int error = FindProgram(request_.argv[0], request_.environment, program);
    if (error != 0) return Fail({"exec", error});
  }
  steps_.assign(plan->after.begin(), plan->after.end());
  steps_are_all_ = tool_->next == nullptr && request_.check.empty();
  planned_argv_ = std::move(plan->argv);
  request_.environment = std::move(plan->environment);
  if (tool_->judge != nullptr || tool_->judge_step != nullptr) streams_.KeepTail();
  sides_ = std::move(plan->sides);
  if (takes_turns()) {
    phase_ = Phase::kTurns;
    child_.reset();
    return channel_.Send(LaunchMessage::kPrepared);
  }
  const LaunchFailure failure = StartChild(Phase::kCommand, planned_argv_);
  if (!failure.step.empty()) Fail(failure);
}

// An empty step: it is there.
LaunchFailure Supervisor::StartChild(Phase phase, std::vector<std::string> argv, int stdout_fd) {
  phase == Phase::kCommand ? streams_.ReadyForCommand() : streams_.ReadyForStep();
  request_.argv.swap(argv);  // all else is the same for a step
  const ChildOutput output{stdout_fd >= 0 ? stdout_fd : streams_.out_end(),
                           phase == Phase::kAsking && stdout_fd >= 0 ? stdout_fd : streams_.err_end(),
                           streams_.metrics_end(), streams_.samples_end()};
  StartedChild started = StartCommandChild(request_, own_nofile_, output);
  request_.argv.swap(argv);
  if (!started.failure.step.empty()) return started.failure;
  phase_ = phase;
  child_.emplace(std::move(started.child));
  tree_ = ProcessTree();
  tree_.SetCommand(child_->pid);
  command_over_ = took_kill_ = killing_ = false;
  kill_at_ns_ = next_round_at_ns_ = give_up_at_ns_ = kNever;
  return {};
}

// Of a question, standard error goes into its file, too: it is nothing that the command printed.
LaunchFailure Supervisor::StartStep(Phase phase, const ToolStep& step) {
  UniqueFd file;
  if (!step.stdout_file.empty()) {
    const std::string path = folder_.path() + "/" + step.stdout_file;
    file.Reset(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file.valid()) return {"output folder", errno};
    request_.limits.push_back({RLIMIT_FSIZE, kMostStepFileBytes, kMostStepFileBytes});
  }
  LaunchFailure failure = StartChild(phase, step.argv, file.get());
  if (file.valid()) request_.limits.pop_back();
  if (failure.step.empty() && step.limit_ms > 0) kill_at_ns_ = In(step.limit_ms);
  return failure;
}

// The command or the step is over, and nobody of it is left who can be ended.
void Supervisor::OnTreeGone() {
  if (done_ || phase_ >= Phase::kOutputs) return;
  kill_at_ns_ = next_round_at_ns_ = give_up_at_ns_ = kNever;
  if (channel_.closed()) {
    done_ = true;
    return;
  }
  if (phase_ == Phase::kCommand) return takes_turns() ? OnTurnGone() : OnCommandGone();
  if (phase_ == Phase::kChecking) return OnCheckGone();
  phase_ == Phase::kAsking ? OnQuestionGone() : OnStepGone();
}

void Supervisor::OnCommandGone() {
  const ChildReport& report = *child_->report;
  if (report.step[0] != '\0') {
    std::string step(report.step, ::strnlen(report.step, sizeof report.step));
    return Fail({std::move(step), report.error});
  }
  end_ = EndOf(tree_.usage());
  if (RunsAgain()) return;
  if (unkillable_ > 0 || end_->exit_code != 0 || !end_->tool_error.empty()) {
    steps_.clear();
    steps_are_all_ = true;
  }
  if (started_) channel_.Send(LaunchMessage::kCommandOver);
  NextStep();
}

// The tool judges how the command ended. True: it runs once more.
bool Supervisor::RunsAgain() {
  end_->tries = tries_;
  if (!started_ || stop_asked_ || unkillable_ > 0 || tool_->judge == nullptr) return false;
  const std::string printed = streams_.TakeTail();
  const TriedCommand tried{end_->exit_code, end_->signal, printed, tries_};
  if (!tool_run_.TriesAgain(request_, tried, *end_)) return false;
  const TreeUsage usage = tree_.usage();
  const LaunchFailure failure = StartChild(Phase::kCommand, planned_argv_);
  if (!failure.step.empty()) return false;
  earlier_cpu_ns_ += usage.user_cpu_ns + usage.system_cpu_ns;
  ++tries_;
  end_.reset();
  return true;
}

void Supervisor::OnStepGone() {
  const ChildReport& report = *child_->report;
  const std::optional<int> status = tree_.command().wait_status;
  const bool well =
      report.step[0] == '\0' && unkillable_ == 0 && status && WIFEXITED(*status) && WEXITSTATUS(*status) == 0;
  const bool before = phase_ == Phase::kBefore;
  if (well && before && !stop_asked_) {
    phase_ = Phase::kWaiting;
    child_.reset();
    return channel_.Send(LaunchMessage::kStepsDone);
  }
  if (before) {
    stopped_ |= stop_asked_;  // also where it left but processes
    end_ = CommandEnded{.ended_unix_ns = tree_.command().ended_unix_ns, .unkillable_processes = unkillable_};
  }
  const bool told = !before && unkillable_ == 0 && !stop_asked_ && FailsByTool(status);
  const bool is_spared = !well && !told && !before && unkillable_ == 0 && !stop_asked_ && steps_.front().is_optional;
  if (is_spared) {
    tool_run_.AddNote("step_failed: the step '" + steps_.front().name + "' of its tool " + HowItEnded(status));
    steps_.pop_front();
  } else if (!well || told) {
    end_->failed_step = before ? kPrepareStep : steps_.front().name;
    if (status && WIFEXITED(*status)) end_->step_exit_code = WEXITSTATUS(*status);
    if (status && WIFSIGNALED(*status)) end_->step_signal = WTERMSIG(*status);
    end_->unkillable_processes = unkillable_;
    steps_.clear();
    steps_are_all_ = true;
  } else if (!before) {
    steps_.pop_front();
  }
  if (before) return Finish();
  NextStep();
}

// The tool reads what the step of its printed.
bool Supervisor::FailsByTool(const std::optional<int>& status) {
  const ToolStep& step = steps_.front();
  if (tool_->judge_step == nullptr || step.name == kCheckStep || !status) return false;
  TriedCommand ended;
  if (WIFEXITED(*status)) ended.exit_code = WEXITSTATUS(*status);
  if (WIFSIGNALED(*status)) ended.signal = WTERMSIG(*status);
  const std::string printed = streams_.TakeTail();
  ended.printed = printed;
  return tool_run_.FailsByStep(request_, step, ended, *end_);
}

// Those that the tool adds by what was left, then the caller's check.
void Supervisor::AddSteps() {
  if (steps_are_all_) return;
  const std::vector<ToolStep> next = tool_run_.NextSteps(request_, *end_);
  steps_.assign(next.begin(), next.end());
  if (!steps_.empty()) return;
  steps_are_all_ = true;
  if (end_->tool_error.empty() && !request_.check.empty()) {
    steps_.push_back({kCheckStep, ShellCommand(request_.check)});
  }
}

void Supervisor::NextStep() {
  if (steps_.empty() && !stop_asked_) AddSteps();
  if (stop_asked_ && !(steps_.empty() && steps_are_all_)) {
    stopped_ = true;  // nobody knows what they would have said
    steps_.clear();
    steps_are_all_ = true;
  }
  if (steps_.empty()) return BeginOutputs();
  const LaunchFailure failure = StartStep(Phase::kAfter, steps_.front());
  if (failure.step.empty()) return;
  end_->failed_step = steps_.front().name;
  BeginOutputs();
}

void Supervisor::BeginOutputs() {
  if (!started_ || unkillable_ > 0) return Finish();
  if (stopped_) {
    LeaveFilesOfStopped(request_, folder_, channel_);
    return Finish();
  }
  outputs_.emplace(OutputSearch::Limits{.files = request_.most_outputs, .not_before_unix_ns = began_unix_ns_});
  outputs_->FindOfTool(*tool_, folder_, folder_error_);
  outputs_->FindOfCaller(request_);
  phase_ = Phase::kOutputs;
  HandOver();
}

void Supervisor::HandOver() {
  if (phase_ == Phase::kOutputs && !done_ && outputs_->Continue(channel_)) Finish();
}

void Supervisor::Finish() {
  phase_ = Phase::kOver;
  end_->stopped = stopped_;
  end_->tool_notes = tool_run_.notes();
  streams_.Close();
  // A daemon that is slow to take the rest may take its time, but when it says Stop it wants to hear of an end.
  kill_at_ns_ = next_round_at_ns_ = kNever;
  give_up_at_ns_ = stop_asked_ ? ReadClockNs(CLOCK_MONOTONIC) + kLastOutputLimitNs : kNever;
}

}  // namespace kprof
