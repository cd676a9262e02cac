#include "daemon/process/supervisor_link.h"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <csignal>
#include <utility>

#include "daemon/base/log.h"

namespace kprof {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

// Of these a healthy supervisor needs milliseconds. They are for a disk that is slow, not for one that hangs.
constexpr int64_t kPrepareLimitNs = 60 * kNanosPerSecond;
constexpr int64_t kStartLimitNs = 30 * kNanosPerSecond;
// A supervisor gives up by itself on what it cannot kill after 10 s; twice that, so that on a busy host it still says
// what it could not end.
constexpr int64_t kEndLimitNs = 20 * kNanosPerSecond;
// Who asks a second time, and gives no grace, wants an end more than a report. A supervisor that works has nearly
// always reported by then; one that still fights a storm of forks hands it to the sweep, which fights it with the same
// means.
constexpr int64_t kImpatientEndLimitNs = 5 * kNanosPerSecond;
// From KILL to death. What takes longer hangs in the kernel.
constexpr int64_t kDeathLimitNs = 5 * kNanosPerSecond;

std::string HowItEnded(int wait_status) {
  if (WIFSIGNALED(wait_status)) return "it was killed by signal " + std::to_string(WTERMSIG(wait_status));
  return "it ended with status " + std::to_string(WEXITSTATUS(wait_status));
}

}  // namespace

SupervisorLink::SupervisorLink(IoLoop& loop, std::shared_ptr<AdoptedProcesses> adopted,
                               std::shared_ptr<NotReaped> not_reaped, LaunchSubject subject, std::string marker,
                               LaunchEvents events)
    : loop_(loop),
      adopted_(std::move(adopted)),
      not_reaped_(std::move(not_reaped)),
      subject_(std::move(subject)),
      marker_(std::move(marker)),
      events_(std::move(events)),
      channel_(loop.context()),
      exit_(loop.context()) {}

Status SupervisorLink::Begin(SpawnedSupervisor spawned, std::string first_frame) {
  pid_ = spawned.pid;
  start_ticks_ = spawned.start_ticks;
  UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  if (!pidfd.valid()) return FailErrno(errno, "watch the supervisor", "Linux 5.3 or newer is needed");
  error_code error;
  channel_.assign(asio::local::stream_protocol(), spawned.channel.get(), error);
  if (!error) {
    spawned.channel.Release();
    channel_.non_blocking(true, error);
  }
  if (!error) exit_.assign(pidfd.get(), error);
  if (error) return FailErrno(error.value(), "watch the supervisor");
  pidfd.Release();
  not_reaped_->insert(this);
  exit_.async_wait(asio::posix::stream_descriptor::wait_read, [self = shared_from_this()](const error_code& error) {
    if (!error) self->OnExit();
  });
  Send(std::move(first_frame));
  ExpectAnswer(
      loop_.clock().mono_ns() + kPrepareLimitNs,
      Fail(ErrorCode::kSpawnFailed, "start '" + subject_.program + "'", "kprof-launch was not ready within 60 s",
           "see whether the disk of the folder " + subject_.cwd + " answers"));
  Receive();
  return OkStatus();
}

void SupervisorLink::Go() {
  Send(FrameOf(LaunchMessage::kGo));
  if (stop_sent_) return;
  ExpectAnswer(
      loop_.clock().mono_ns() + kStartLimitNs,
      Fail(ErrorCode::kSpawnFailed, "start '" + subject_.program + "'",
           "kprof-launch did not say within 30 s that it has started", "see whether the disk of the program answers"));
}

void SupervisorLink::Stop(int64_t grace_ms) {
  Send(FrameOf(LaunchMessage::kStop, EncodeStop(grace_ms)));
  const bool again = std::exchange(stop_sent_, true);
  const int64_t grace_ns = std::clamp<int64_t>(grace_ms, 0, kLongestGraceMs) * kNanosPerMilli;
  const int64_t by_ns =
      loop_.clock().mono_ns() + grace_ns + (again && grace_ns == 0 ? kImpatientEndLimitNs : kEndLimitNs);
  if (again && answer_by_ns_ <= by_ns) return;
  ExpectAnswer(by_ns, Fail(ErrorCode::kCommandFailed, "supervise '" + subject_.program + "'",
                           "kprof-launch did not answer when it was told to stop",
                           "see what held it up: a SIGSTOP, a frozen cgroup, a disk that hangs"));
}

void SupervisorLink::Send(std::string frame) {
  if (!channel_.is_open()) return;
  outbox_ += frame;
  if (!sending_) SendMore();
}

void SupervisorLink::Abandon() {
  over_ = true;
  events_ = LaunchEvents();
  CloseChannel();
}

void SupervisorLink::SendMore() {
  error_code error;
  while (!outbox_.empty()) {
    size_t sent = channel_.write_some(asio::buffer(outbox_), error);
    outbox_.erase(0, sent);
    if (error) break;
  }
  sending_ = false;
  if (outbox_.empty()) outbox_.shrink_to_fit();
  if (error != asio::error::would_block) return;  // done, or gone: then its end is on the way
  sending_ = true;
  channel_.async_wait(asio::local::stream_protocol::socket::wait_write,
                      [self = shared_from_this()](const error_code& error) {
                        if (!error) self->SendMore();
                      });
}

void SupervisorLink::Receive() {
  channel_.async_wait(asio::local::stream_protocol::socket::wait_read,
                      [self = shared_from_this()](const error_code& error) {
                        if (!error && self->TakeReceived()) self->Receive();
                      });
}

bool SupervisorLink::TakeReceived() {
  while (channel_.is_open()) {
    std::array<char, 4096> bytes;
    error_code error;
    size_t size = channel_.read_some(asio::buffer(bytes), error);
    if (error == asio::error::would_block) return true;
    if (error) {
      CloseChannel();
      return false;
    }
    frames_.Add(std::string_view(bytes.data(), size));
    TakeFrames();
  }
  return false;
}

void SupervisorLink::TakeFrames() {
  while (channel_.is_open()) {
    Result<std::optional<FrameReader::Frame>> frame = frames_.Next();
    if (frame.ok() && !frame->has_value()) return;
    if (!frame.ok() || !Take(**frame)) {
      // Whoever speaks nonsense does not supervise.
      LogError("kprof-launch speaks another protocol", {{"run", marker_}, {"pid", std::to_string(pid_)}});
      if (!frames_.greeted()) TellOtherBuilds();
      CloseChannel();
      Kill();
      return;
    }
  }
}

bool SupervisorLink::Take(const FrameReader::Frame& frame) {
  switch (frame.type) {
    case LaunchMessage::kPrepared:
      if (!stop_sent_) ExpectNothing();
      Tell(events_.prepared);
      return true;
    case LaunchMessage::kStarted: {
      Result<CommandStarted> started = DecodeCommandStarted(frame.payload);
      if (!stop_sent_) ExpectNothing();
      if (started.ok()) Tell(events_.started, *started);
      return started.ok();
    }
    case LaunchMessage::kLaunchFailed: {
      Result<LaunchFailure> failure = DecodeLaunchFailure(frame.payload);
      if (failure.ok()) TellLast(events_.failed, LaunchError(*failure, subject_));
      return failure.ok();
    }
    case LaunchMessage::kEnded: {
      Result<CommandEnded> ended = DecodeCommandEnded(frame.payload);
      if (ended.ok()) TellLast(events_.ended, *ended);
      return ended.ok();
    }
    default:
      return false;
  }
}

// Before any Go: nothing was executed.
void SupervisorLink::TellOtherBuilds() {
  TellLast(events_.failed,
           Fail(ErrorCode::kSpawnFailed, "start '" + subject_.program + "'", kOtherBuildsWhy, kOtherBuildsRemedy));
}

void SupervisorLink::CloseChannel() {
  if (!channel_.is_open()) return;
  error_code ignored;
  channel_.close(ignored);
  ExpectNothing();
  exit_limit_ = loop_.After(kEndLimitNs, [this] {
    LogError("kprof-launch does not end; killing it", {{"run", marker_}, {"pid", std::to_string(pid_)}});
    Kill();
  });
}

void SupervisorLink::ExpectAnswer(int64_t by_ns, Status silent) {
  if (!channel_.is_open() || over_) return;
  silent_ = std::move(silent);
  answer_by_ns_ = by_ns;
  answer_limit_ = loop_.After(by_ns - loop_.clock().mono_ns(), [this] { OnSilence(); });
}

void SupervisorLink::ExpectNothing() {
  silent_.reset();
  answer_limit_.Cancel();
}

void SupervisorLink::OnSilence() {
  TakeReceived();                                            // it may be us who were held up
  if (over_ || !silent_ || answer_limit_.pending()) return;  // it has answered, and may owe the next answer
  given_up_ = std::exchange(silent_, std::nullopt);
  LogError("kprof-launch does not answer; killing it",
           {{"run", marker_}, {"pid", std::to_string(pid_)}, {"error", given_up_->ToString()}});
  CloseChannel();
  Kill();
}

// What hangs in the kernel dies when it comes out of it, before it does anything else; nobody waits for that.
void SupervisorLink::Kill() {
  ::kill(pid_, SIGKILL);
  exit_limit_ = loop_.After(kDeathLimitNs, [this] {
    LogError("kprof-launch hangs in the kernel", {{"run", marker_}, {"pid", std::to_string(pid_)}});
    if (over_) return;
    const Status why = given_up_.value_or(Fail(ErrorCode::kCommandFailed, "supervise '" + subject_.program + "'",
                                               "kprof-launch closed its channel", "run it again"));
    SweepAndTell(
        Status(why.code(), why.what(), why.why() + "; it hangs in the kernel and cannot be ended yet", why.remedy()));
  });
}

void SupervisorLink::OnExit() {
  TakeReceived();  // all that it said before is there by now
  exit_limit_.Cancel();
  CloseChannel();
  exit_limit_.Cancel();
  int wait_status = 0;
  while (::waitpid(pid_, &wait_status, 0) < 0 && errno == EINTR) {  // it has ended: does not wait
  }
  adopted_->own().Remove(pid_);
  not_reaped_->erase(this);
  error_code ignored;
  exit_.close(ignored);
  const bool left_some = WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == kLaunchTreeLeft;
  if (left_some) adopted_->Watch(start_ticks_);
  const bool tree_gone = WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == kLaunchTreeGone;
  // One from before Hello goes without a word.
  if (!over_ && !given_up_ && tree_gone && !frames_.greeted()) TellOtherBuilds();
  if (over_ && !given_up_ && (tree_gone || left_some)) return;
  LogWarning("kprof-launch died", {{"run", marker_}, {"pid", std::to_string(pid_)}, {"how", HowItEnded(wait_status)}});
  if (given_up_) {
    return SweepAndTell(Status(given_up_->code(), given_up_->what(),
                               given_up_->why() + "; it and its processes have been ended", given_up_->remedy()));
  }
  SweepAndTell(Fail(ErrorCode::kCommandFailed, "supervise '" + subject_.program + "'",
                    "kprof-launch died: " + HowItEnded(wait_status) + "; its processes have been ended",
                    "look in the kernel's log for a lack of memory, then run it again"));
}

void SupervisorLink::SweepAndTell(Status last) {
  adopted_->Sweep(marker_, start_ticks_, [self = shared_from_this(), last = std::move(last)] {
    self->TellLast(last.code() == ErrorCode::kSpawnFailed ? self->events_.failed : self->events_.lost, last);
  });
}

}  // namespace kprof
