#include "daemon/process/supervisor_link.h"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

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

// A supervisor whose work is over gives up on what it cannot kill after 10 s.
constexpr int64_t kExitLimitNs = 20 * kNanosPerSecond;

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
  Receive();
  return OkStatus();
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
      ::kill(pid_, SIGKILL);
      return;
    }
  }
}

bool SupervisorLink::Take(const FrameReader::Frame& frame) {
  switch (frame.type) {
    case LaunchMessage::kPrepared:
      Tell(events_.prepared);
      return true;
    case LaunchMessage::kStarted: {
      Result<CommandStarted> started = DecodeCommandStarted(frame.payload);
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
  exit_limit_ = loop_.After(kExitLimitNs, [this] {
    LogError("kprof-launch does not end; killing it", {{"run", marker_}, {"pid", std::to_string(pid_)}});
    ::kill(pid_, SIGKILL);
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
  if (!over_ && tree_gone && !frames_.greeted()) TellOtherBuilds();
  if (over_ && (tree_gone || left_some)) return;
  LogWarning("kprof-launch died", {{"run", marker_}, {"pid", std::to_string(pid_)}, {"how", HowItEnded(wait_status)}});
  adopted_->Sweep(marker_, start_ticks_, [self = shared_from_this(), wait_status] {
    self->TellLast(self->events_.lost,
                   Fail(ErrorCode::kCommandFailed, "supervise '" + self->subject_.program + "'",
                        "kprof-launch died: " + HowItEnded(wait_status) + "; its processes have been ended",
                        "look in the kernel's log for a lack of memory, then run it again"));
  });
}

}  // namespace kprof
