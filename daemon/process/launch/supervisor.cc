#include "daemon/process/launch/supervisor.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <string_view>
#include <utility>

#include "daemon/base/clock.h"
#include "daemon/process/launch/output_to_daemon.h"
#include "daemon/process/launch/output_to_log.h"
#include "storage/base/launch_digest.h"

namespace kprof {
namespace {

constexpr int64_t kNever = INT64_MAX;
constexpr int64_t kFirstRoundDelayNs = 20 * kNanosPerMilli;
constexpr int64_t kLongestRoundDelayNs = 500 * kNanosPerMilli;
constexpr int64_t kKillLimitNs = 10'000 * kNanosPerMilli;
// For the last output to be taken once a Stop was asked for: less than a daemon waits that asks twice.
constexpr int64_t kLastOutputLimitNs = 3'000 * kNanosPerMilli;
// Shorter runs say nothing of the host (host_cpu.h), and are not to wait for the second reading.
constexpr int64_t kShortestHostWallNs = 100 * kNanosPerMilli;

int64_t In(int64_t delay_ms) {
  return ReadClockNs(CLOCK_MONOTONIC) + std::clamp<int64_t>(delay_ms, 0, kLongestGraceMs) * kNanosPerMilli;
}

}  // namespace

Supervisor::Supervisor(UniqueFd control, UniqueFd child_signal_fd, const ResourceLimit& own_nofile, std::string digest)
    : channel_(std::move(control)),
      child_signal_fd_(std::move(child_signal_fd)),
      own_nofile_(own_nofile),
      digest_(std::move(digest)),
      kill_at_ns_(kNever),
      next_round_at_ns_(kNever),
      give_up_at_ns_(kNever) {}

int Supervisor::Run() {
  // What was said last has to be taken, too.
  while (!done_ || (!channel_.flushed() && ReadClockNs(CLOCK_MONOTONIC) < give_up_at_ns_)) {
    Poll();
    // A channel that is closed means the same at any moment: nobody wants the tree.
    if (channel_.closed() && !done_) {
      if (!child_) return kLaunchTreeGone;
      if (end_) break;
      if (!killing_) BeginKill();
    }
    KeepDeadlines();
    if (end_ && !done_ && stdout_->out() && stderr_->out()) ReportEnd();
  }
  return unkillable_ == 0 ? kLaunchTreeGone : kLaunchTreeLeft;
}

void Supervisor::Poll() {
  const bool open = !channel_.closed();
  const auto to_hear = static_cast<short>(channel_.flushed() ? POLLIN : POLLIN | POLLOUT);
  pollfd waits[6] = {
      {open ? channel_.fd() : -1, to_hear, 0},
      {child_ ? child_->report_fd.get() : -1, POLLIN, 0},
      open && stdout_ ? stdout_->wait() : pollfd{-1, 0, 0},
      open && stderr_ ? stderr_->wait() : pollfd{-1, 0, 0},
      {child_signal_fd_.get(), POLLIN, 0},
      metrics_ ? metrics_->wait() : pollfd{-1, 0, 0},
  };
  const int64_t wake_at_ns = std::min({kill_at_ns_, next_round_at_ns_, give_up_at_ns_});
  timespec timeout{};
  if (wake_at_ns != kNever) {
    int64_t left_ns = std::max<int64_t>(0, wake_at_ns - ReadClockNs(CLOCK_MONOTONIC));
    timeout.tv_sec = left_ns / (kNanosPerSecond);
    timeout.tv_nsec = left_ns % (kNanosPerSecond);
  }
  if (::ppoll(waits, std::size(waits), wake_at_ns == kNever ? nullptr : &timeout, nullptr) <= 0) return;
  if ((waits[0].revents & POLLOUT) != 0) channel_.Flush();
  if ((waits[0].revents & ~POLLOUT) != 0) HearChannel();
  if (waits[1].revents != 0) ReadReport();
  // The logs are the daemon's, and belong to the next one when it is gone.
  if (waits[2].revents != 0 && !channel_.closed()) stdout_->Turn();
  if (waits[3].revents != 0 && !channel_.closed()) stderr_->Turn();
  if (waits[5].revents != 0) metrics_->Turn();
  if (waits[4].revents != 0) OnChildren();
}

void Supervisor::HearChannel() {
  channel_.Receive();
  while (std::optional<FrameReader::Frame> frame = channel_.Next()) {
    switch (frame->type) {
      case LaunchMessage::kPrepare: {
        Result<LaunchRequest> request = DecodeLaunchRequest(frame->payload);
        frame->payload = std::string();
        if (!child_ && !done_) TakeRequest(request);
        break;
      }
      case LaunchMessage::kGo:
        if (child_ && !stop_asked_) child_->Go();
        break;
      case LaunchMessage::kStop:
        if (Result<int64_t> grace_ms = DecodeStop(frame->payload); grace_ms.ok()) Stop(*grace_ms);
        break;
      default:
        break;  // only we say those
    }
  }
}

void Supervisor::TakeRequest(const Result<LaunchRequest>& request) {
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
  Prepare(*request);
}

void Supervisor::Fail(const LaunchFailure& failure) {
  channel_.Send(LaunchMessage::kLaunchFailed, EncodeLaunchFailure(failure));
  done_ = true;
}

void Supervisor::Prepare(const LaunchRequest& request) {
  StartedChild started = StartCommandChild(request, own_nofile_);
  if (!started.failure.step.empty()) return Fail(started.failure);
  child_.emplace(std::move(started.child));
  tree_.SetCommand(child_->pid);
  metrics_.emplace(std::move(child_->metrics_fd));
  leftover_grace_ms_ = request.leftover_grace_ms;
  std::vector<UniqueFd>& files = channel_.files();
  if (files.size() == kOutputSockets) {
    stdout_ = std::make_unique<OutputToDaemon>(std::move(child_->stdout_fd), std::move(files[0]));
    stderr_ = std::make_unique<OutputToDaemon>(std::move(child_->stderr_fd), std::move(files[1]));
    return;
  }
  const OutputLimits limits{request.output_head_bytes, request.output_tail_bytes};
  const int progress = files[2].get();
  stdout_ = std::make_unique<OutputToLog>(std::move(child_->stdout_fd), files[0].get(), progress, OutputStream::kStdout,
                                          limits);
  stderr_ = std::make_unique<OutputToLog>(std::move(child_->stderr_fd), files[1].get(), progress, OutputStream::kStderr,
                                          limits);
}

void Supervisor::Stop(int64_t grace_ms) {
  if (end_) give_up_at_ns_ = std::min(give_up_at_ns_, ReadClockNs(CLOCK_MONOTONIC) + kLastOutputLimitNs);
  if (!child_ || killing_ || end_ || done_) return;
  // A second Stop only shortens: those that were told to end are not told again.
  const bool first = !stop_asked_;
  stop_asked_ = true;
  if (!command_over_) stopped_ = true;
  kill_at_ns_ = std::min(kill_at_ns_, In(grace_ms));
  if (grace_ms > 0 && first) tree_.Terminate();
}

// A byte is readiness; the end of file is exec, or the end of the child before it.
void Supervisor::ReadReport() {
  if (!child_ || !child_->report_fd.valid()) return;
  char byte = 0;
  ssize_t size = ::read(child_->report_fd.get(), &byte, 1);
  if (size < 0 && errno == EINTR) return;
  if (size > 0) {
    channel_.Send(LaunchMessage::kPrepared);
    host_before_mono_ns_ = ReadClockNs(CLOCK_MONOTONIC);
    host_before_ = ReadHostCpu();
    return;
  }
  child_->report_fd.Reset();
  const ChildReport& report = *child_->report;
  if (report.step[0] != '\0' || report.mono_ns == 0) return;  // told when it has been reaped
  started_ = true;
  channel_.Send(LaunchMessage::kStarted, EncodeCommandStarted({child_->pid, report.unix_ns, report.mono_ns}));
}

void Supervisor::OnChildren() {
  signalfd_siginfo info[16];
  [[maybe_unused]] ssize_t size = ::read(child_signal_fd_.get(), info, sizeof info);  // says only: look
  if (!child_ || end_) return;
  const bool some_left = tree_.Reap();
  if (tree_.command().wait_status && !command_over_) {
    command_over_ = true;
    // The report is complete: nobody holds its other end any more.
    while (child_->report_fd.valid()) ReadReport();
    // Also under a Stop: what the command leaves gets no longer than any leftover.
    if (some_left && !killing_) {
      tree_.Terminate();
      kill_at_ns_ = std::min(kill_at_ns_, In(leftover_grace_ms_));
    }
  }
  if (!some_left) Finish();
}

void Supervisor::BeginKill() {
  killing_ = true;
  kill_at_ns_ = kNever;
  give_up_at_ns_ = ReadClockNs(CLOCK_MONOTONIC) + kKillLimitNs;
  round_delay_ns_ = kFirstRoundDelayNs;
  took_kill_ = !command_over_;
  KillAgain();
}

void Supervisor::KillAgain() {
  ProcessTree::KillRound round = tree_.Kill();
  next_round_at_ns_ = ReadClockNs(CLOCK_MONOTONIC) + round_delay_ns_;
  round_delay_ns_ = std::min(2 * round_delay_ns_, kLongestRoundDelayNs);
  if (round.refused > 0 && round.reached == 0) {
    unkillable_ = round.refused;
    Finish();
  }
}

void Supervisor::KeepDeadlines() {
  if (done_) return;
  const int64_t now_ns = ReadClockNs(CLOCK_MONOTONIC);
  if (end_) {
    if (now_ns >= give_up_at_ns_) ReportEnd();
  } else if (now_ns >= give_up_at_ns_) {
    unkillable_ = std::max<int64_t>(1, tree_.CountLiving());  // one at least, as Reap saw it
    Finish();
  } else if (now_ns >= kill_at_ns_) {
    BeginKill();
  } else if (now_ns >= next_round_at_ns_) {
    KillAgain();
  }
}

void Supervisor::Finish() {
  if (done_ || end_) return;
  const ChildReport& report = *child_->report;
  done_ = channel_.closed();
  if (done_) return;
  if (report.step[0] != '\0') {
    std::string step(report.step, ::strnlen(report.step, sizeof report.step));
    return Fail({std::move(step), report.error});
  }
  end_ = EndOf(ProcessTree::Usage());
  stdout_->Close();
  stderr_->Close();
  metrics_->Close();
  // A daemon that is slow to take the rest may take its time, but when it says Stop it wants to hear of an end.
  kill_at_ns_ = next_round_at_ns_ = kNever;
  give_up_at_ns_ = stop_asked_ ? ReadClockNs(CLOCK_MONOTONIC) + kLastOutputLimitNs : kNever;
}

CommandEnded Supervisor::EndOf(const TreeUsage& usage) const {
  const ProcessTree::Command& command = tree_.command();
  CommandEnded ended;
  if (command.wait_status) {
    const int status = *command.wait_status;
    if (WIFEXITED(status)) ended.exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) ended.signal = WTERMSIG(status);
    ended.ended_unix_ns = command.ended_unix_ns;
    if (started_) ended.wall_ns = std::max<int64_t>(0, command.ended_mono_ns - child_->report->mono_ns);
  }
  ended.stopped = stopped_;
  ended.killed = took_kill_ && ended.signal.value_or(SIGKILL) == SIGKILL && !ended.exit_code;
  ended.user_cpu_ns = usage.user_cpu_ns;
  ended.system_cpu_ns = usage.system_cpu_ns;
  ended.max_rss_bytes = usage.max_rss_bytes;
  ended.voluntary_switches = usage.voluntary_switches;
  ended.involuntary_switches = usage.involuntary_switches;
  ended.leftover_processes = std::max<int64_t>(0, tree_.leftovers() - unkillable_);
  ended.unkillable_processes = unkillable_;
  ReportOthers(usage, ended);
  return ended;
}

void Supervisor::ReportEnd() {
  done_ = true;
  end_->stdout_bytes = stdout_->printed_bytes();
  end_->stdout_dropped_bytes = stdout_->dropped_bytes();
  end_->stderr_bytes = stderr_->printed_bytes();
  end_->stderr_dropped_bytes = stderr_->dropped_bytes();
  end_->output_error = stdout_->first_error() != 0 ? stdout_->first_error() : stderr_->first_error();
  end_->metrics = metrics_->TakeText();
  end_->metrics_dropped_bytes = metrics_->dropped_bytes();
  channel_.Send(LaunchMessage::kEnded, EncodeCommandEnded(*end_));
}

// What cannot be ended still runs, uncounted: it would pass for others.
void Supervisor::ReportOthers(const TreeUsage& usage, CommandEnded& ended) const {
  const int64_t wall_ns = ReadClockNs(CLOCK_MONOTONIC) - host_before_mono_ns_;
  if (!started_ || !host_before_ || unkillable_ > 0 || wall_ns < kShortestHostWallNs) return;
  const int64_t self_ns = ReadClockNs(CLOCK_PROCESS_CPUTIME_ID);
  std::optional<HostCpu> after = ReadHostCpu();
  if (!after) return;
  std::optional<int64_t> others_ns =
      OthersCpuNs(*host_before_, *after, usage.user_cpu_ns + usage.system_cpu_ns + self_ns);
  if (!others_ns) return;
  ended.host_cpus = after->cpus;
  ended.host_wall_ns = wall_ns;
  ended.others_cpu_ns = *others_ns;
}

}  // namespace kprof
