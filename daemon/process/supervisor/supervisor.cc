#include "daemon/process/supervisor/supervisor.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <utility>

#include "daemon/launch/launch_request.h"
#include "storage/base/clock.h"

namespace kprof {
namespace {

constexpr int64_t kFirstRoundDelayNs = 20 * kNanosPerMilli;
constexpr int64_t kLongestRoundDelayNs = 500 * kNanosPerMilli;
constexpr int64_t kKillLimitNs = 10'000 * kNanosPerMilli;
// Shorter runs say nothing of the host (host_cpu.h), and are not to wait for the second reading.
constexpr int64_t kShortestHostWallNs = 100 * kNanosPerMilli;

}  // namespace

int64_t Supervisor::In(int64_t delay_ms) {
  return ReadClockNs(CLOCK_MONOTONIC) + std::clamp<int64_t>(delay_ms, 0, kLongestGraceMs) * kNanosPerMilli;
}

Supervisor::Supervisor(UniqueFd control, UniqueFd child_signal_fd, const ResourceLimit& own_nofile, std::string digest,
                       char* output_folder, ClientSockets client)
    : channel_(std::move(control)),
      child_signal_fd_(std::move(child_signal_fd)),
      own_nofile_(own_nofile),
      digest_(std::move(digest)),
      folder_(output_folder),
      streams_(std::move(client)),
      kill_at_ns_(kNever),
      next_round_at_ns_(kNever),
      give_up_at_ns_(kNever) {}

int Supervisor::Run() {
  const int status = RunToTheEnd();
  folder_.Remove();
  return status;
}

int Supervisor::RunToTheEnd() {
  // What was said last has to be taken, too.
  while (!done_ || (channel_.waits_to_send() && ReadClockNs(CLOCK_MONOTONIC) < give_up_at_ns_)) {
    Poll();
    // A channel that is closed means the same at any moment: nobody wants the tree.
    if (channel_.closed() && !done_) {
      if (!child_) return kLaunchTreeGone;
      if (phase_ >= Phase::kOutputs) break;
      if (!killing_) BeginKill();
    }
    KeepDeadlines();
    if (phase_ == Phase::kOver && !done_ && streams_.all_out()) ReportEnd();
  }
  return unkillable_ == 0 ? kLaunchTreeGone : kLaunchTreeLeft;
}

void Supervisor::Poll() {
  const bool open = !channel_.closed();
  const bool sends = channel_.waits_to_send() || (phase_ == Phase::kOutputs && !done_);
  constexpr pollfd kNothing{-1, 0, 0};
  CommandStreams::Waits printed{kNothing, kNothing, kNothing, kNothing, kNothing, kNothing};
  if (streams_.is_made()) printed = streams_.WaitsFor(open);
  pollfd waits[9] = {
      {open ? channel_.fd() : -1, static_cast<short>(POLLIN | (sends ? POLLOUT : 0)), 0},
      {child_ ? child_->report_fd.get() : -1, POLLIN, 0},
      {child_signal_fd_.get(), POLLIN, 0},
      printed.out,
      printed.err,
      printed.metrics,
      printed.samples,
      printed.client_out,
      printed.client_err,
  };
  const int64_t wake_at_ns = std::min({kill_at_ns_, next_round_at_ns_, give_up_at_ns_});
  timespec timeout{};
  if (wake_at_ns != kNever) {
    int64_t left_ns = std::max<int64_t>(0, wake_at_ns - ReadClockNs(CLOCK_MONOTONIC));
    timeout.tv_sec = left_ns / (kNanosPerSecond);
    timeout.tv_nsec = left_ns % (kNanosPerSecond);
  }
  if (::ppoll(waits, std::size(waits), wake_at_ns == kNever ? nullptr : &timeout, nullptr) <= 0) return;
  if ((waits[0].revents & ~POLLOUT) != 0) HearChannel();
  if ((waits[0].revents & POLLOUT) != 0) {
    channel_.Flush();
    HandOver();
  }
  if (waits[1].revents != 0) ReadReport();
  if (streams_.is_made()) {
    // Not the logs of a daemon that went away with this turn.
    const bool open_still = !channel_.closed();
    streams_.Turn(
        {open_still ? waits[3] : kNothing, open_still ? waits[4] : kNothing, waits[5], waits[6], waits[7], waits[8]},
        phase_ == Phase::kCommand);
  }
  if (waits[2].revents != 0) OnChildren();
}

void Supervisor::HearChannel() {
  channel_.Receive();
  while (std::optional<FrameReader::Frame> frame = channel_.Next()) {
    switch (frame->type) {
      case LaunchMessage::kPrepare: {
        Result<LaunchRequest> request = DecodeLaunchRequest(frame->payload);
        frame->payload = std::string();
        if (phase_ == Phase::kNothing && !done_) TakeRequest(std::move(request));
        break;
      }
      case LaunchMessage::kLease:
        if (phase_ == Phase::kWaiting && !done_) TakeLease(DecodeLease(frame->payload));
        break;
      case LaunchMessage::kGo:
        if (phase_ == Phase::kCommand && child_ && !stop_asked_) child_->Go();
        break;
      case LaunchMessage::kTurn:
        if (phase_ == Phase::kTurns && !done_) TakeTurn(DecodeTurnAsked(frame->payload));
        break;
      case LaunchMessage::kEnough:
        if (phase_ == Phase::kTurns && !done_) EndTurns();
        break;
      case LaunchMessage::kStop:
        if (Result<int64_t> grace_ms = DecodeStop(frame->payload); grace_ms.ok()) Stop(*grace_ms);
        break;
      default:
        break;  // only we say those
    }
  }
}

void Supervisor::Fail(const LaunchFailure& failure) {
  channel_.Send(LaunchMessage::kLaunchFailed, EncodeLaunchFailure(failure));
  done_ = true;
}

void Supervisor::Stop(int64_t grace_ms) {
  if (phase_ == Phase::kOver) {
    give_up_at_ns_ = std::min(give_up_at_ns_, ReadClockNs(CLOCK_MONOTONIC) + kLastOutputLimitNs);
  }
  if (phase_ == Phase::kOutputs && !done_) {
    stop_asked_ = true;
    outputs_->LeaveRest("the run was to end", channel_);
    return Finish();
  }
  if (phase_ == Phase::kTurns && !done_) {  // nothing runs
    stop_asked_ = stopped_ = true;
    return EndTurns();
  }
  if (!child_ || killing_ || phase_ == Phase::kOver || done_) return;
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
    if (phase_ != Phase::kCommand || started_) return child_->Go();  // nobody is asked for a step, or a second try
    host_before_mono_ns_ = ReadClockNs(CLOCK_MONOTONIC);
    host_before_ = ReadHostCpu();
    takes_turns() ? child_->Go() : channel_.Send(LaunchMessage::kPrepared);
    return;
  }
  child_->report_fd.Reset();
  const ChildReport& report = *child_->report;
  if (report.step[0] != '\0' || report.mono_ns == 0) return;  // told when it has been reaped
  if (phase_ != Phase::kCommand || started_) return;
  started_ = true;
  channel_.Send(LaunchMessage::kStarted, EncodeCommandStarted({child_->pid, report.unix_ns, report.mono_ns}));
}

void Supervisor::OnChildren() {
  signalfd_siginfo info[16];
  [[maybe_unused]] ssize_t size = ::read(child_signal_fd_.get(), info, sizeof info);  // says only: look
  if (!child_ || phase_ >= Phase::kOutputs) return;
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
  if (!some_left) OnTreeGone();
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
    OnTreeGone();
  }
}

void Supervisor::KeepDeadlines() {
  if (done_) return;
  const int64_t now_ns = ReadClockNs(CLOCK_MONOTONIC);
  if (phase_ == Phase::kOver) {
    if (now_ns >= give_up_at_ns_) ReportEnd();
  } else if (now_ns >= give_up_at_ns_) {
    unkillable_ = std::max<int64_t>(1, tree_.CountLiving());  // one at least, as Reap saw it
    OnTreeGone();
  } else if (now_ns >= kill_at_ns_) {
    BeginKill();
  } else if (now_ns >= next_round_at_ns_) {
    KillAgain();
  }
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
  streams_.TellEnd(*end_);
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
      OthersCpuNs(*host_before_, *after, usage.user_cpu_ns + usage.system_cpu_ns + earlier_cpu_ns_ + self_ns);
  if (!others_ns) return;
  ended.host_cpus = after->cpus;
  ended.host_wall_ns = wall_ns;
  ended.others_cpu_ns = *others_ns;
}

}  // namespace kprof
