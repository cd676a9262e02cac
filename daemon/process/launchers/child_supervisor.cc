#include "daemon/process/launchers/child_supervisor.h"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <csignal>
#include <optional>
#include <utility>

#include "daemon/base/log.h"

namespace kprof {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

// From KILL to death. What takes longer hangs in the kernel.
constexpr int64_t kDeathLimitNs = 5 * kNanosPerSecond;

std::string HowItEnded(int wait_status) {
  if (WIFSIGNALED(wait_status)) return "it was killed by signal " + std::to_string(WTERMSIG(wait_status));
  return "it ended with status " + std::to_string(WEXITSTATUS(wait_status));
}

}  // namespace

ChildSupervisor::ChildSupervisor(IoLoop& loop, std::shared_ptr<AdoptedProcesses> adopted,
                                 std::shared_ptr<NotReaped> not_reaped)
    : loop_(loop), adopted_(std::move(adopted)), not_reaped_(std::move(not_reaped)), exit_(loop.context()) {}

Status ChildSupervisor::Begin(SpawnedSupervisor spawned, LaunchSubject subject, const std::string& marker,
                              LaunchEvents events, std::string first_frames) {
  pid_ = spawned.pid;
  start_ticks_ = spawned.start_ticks;
  UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  if (!pidfd.valid()) return FailErrno(errno, "watch the supervisor", "Linux 5.3 or newer is needed");
  error_code error;
  exit_.assign(pidfd.get(), error);
  if (error) return FailErrno(error.value(), "watch the supervisor");
  pidfd.Release();
  channel_ = std::make_shared<SupervisorChannel>(
      loop_, std::move(subject), marker, std::move(events),
      [self = shared_from_this()](SupervisorChannel::Why why) { self->OnChannelEnd(why); });
  Status begun = channel_->Begin(std::move(spawned.channel), std::move(first_frames));
  if (!begun.ok()) {
    channel_.reset();  // it holds us
    exit_.close(error);
    return begun;
  }
  channel_->ExpectPrepared();
  not_reaped_->insert(this);
  exit_.async_wait(asio::posix::stream_descriptor::wait_read, [self = shared_from_this()](const error_code& error) {
    if (!error) self->OnExit();
  });
  return OkStatus();
}

void ChildSupervisor::Abandon() {
  channel_->Forget();
  if (!channel_->open()) return;
  channel_->Close();
  ExpectExit();
}

void ChildSupervisor::OnChannelEnd(SupervisorChannel::Why why) {
  if (why == SupervisorChannel::Why::kEnd) return ExpectExit();
  LogError("killing kprof-launch", {{"run", channel_->marker()}, {"pid", std::to_string(pid_)}});
  Kill();
}

void ChildSupervisor::ExpectExit() {
  exit_limit_ = loop_.After(kSupervisorEndLimitNs, [this] {
    LogError("kprof-launch does not end; killing it", {{"run", channel_->marker()}, {"pid", std::to_string(pid_)}});
    Kill();
  });
}

// What hangs in the kernel dies when it comes out of it, before it does anything else; nobody waits for that.
void ChildSupervisor::Kill() {
  ::kill(pid_, SIGKILL);
  exit_limit_ = loop_.After(kDeathLimitNs, [this] {
    LogError("kprof-launch hangs in the kernel", {{"run", channel_->marker()}, {"pid", std::to_string(pid_)}});
    if (channel_->over()) return;
    const Status why =
        channel_->silent().value_or(Fail(ErrorCode::kCommandFailed, "supervise '" + channel_->subject().program + "'",
                                         "kprof-launch closed its channel", "run it again"));
    SweepAndTell(
        Status(why.code(), why.what(), why.why() + "; it hangs in the kernel and cannot be ended yet", why.remedy()),
        "");
  });
}

void ChildSupervisor::OnExit() {
  channel_->TakeReceived();  // all that it said before is there by now
  channel_->Close();
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
  const std::optional<Status>& silent = channel_->silent();
  // One from before Hello goes without a word.
  if (!channel_->over() && !silent && tree_gone && !channel_->greeted()) channel_->TellOtherBuilds();
  if (channel_->over() && !silent && (tree_gone || left_some)) return;
  LogWarning("kprof-launch died",
             {{"run", channel_->marker()}, {"pid", std::to_string(pid_)}, {"how", HowItEnded(wait_status)}});
  if (silent) return SweepAndTell(*silent, "; it and its processes have been ended");
  SweepAndTell(Fail(ErrorCode::kCommandFailed, "supervise '" + channel_->subject().program + "'",
                    "kprof-launch died: " + HowItEnded(wait_status),
                    "look in the kernel's log for a lack of memory, then run it again"),
               "; its processes have been ended");
}

void ChildSupervisor::SweepAndTell(const Status& last, const std::string& if_ended) {
  auto tell = [self = shared_from_this(), last, if_ended](const Status& all_ended) {
    if (!all_ended.ok()) self->channel_->TellMayLiveOn(all_ended);
    const std::string more = all_ended.ok() ? if_ended : "; " + all_ended.why();
    self->channel_->TellLast(Status(last.code(), last.what(), last.why() + more, last.remedy()));
  };
  adopted_->Sweep(channel_->marker(), start_ticks_, tell);
}

}  // namespace kprof
