#include "daemon/process/launchers/remote_supervisor.h"

#include <fcntl.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <optional>
#include <utility>

#include "daemon/base/log.h"

namespace kprof {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

}  // namespace

RemoteSupervisor::RemoteSupervisor(IoLoop& loop, EndByForce end_by_force)
    : loop_(loop), end_by_force_(std::move(end_by_force)), lingering_(loop.context()) {}

Status RemoteSupervisor::Begin(UniqueFd socket, LaunchSubject subject, const std::string& marker, LaunchEvents events,
                               std::string first_frames) {
  UniqueFd again(::fcntl(socket.get(), F_DUPFD_CLOEXEC, 0));
  if (!again.valid()) return FailErrno(errno, "watch the supervisor", "raise the limit of open files");
  error_code error;
  lingering_.assign(asio::local::stream_protocol(), again.get(), error);
  if (error) return FailErrno(error.value(), "watch the supervisor");
  again.Release();
  channel_ = std::make_shared<SupervisorChannel>(
      loop_, std::move(subject), marker, std::move(events),
      [self = shared_from_this()](SupervisorChannel::Why why) { self->OnChannelEnd(why); });
  Status begun = channel_->Begin(std::move(socket), std::move(first_frames));
  if (!begun.ok()) channel_.reset();  // it holds us
  return begun;
}

void RemoteSupervisor::Abandon() {
  channel_->Forget();
  channel_->Close();
  linger_limit_.Cancel();
  error_code ignored;
  lingering_.close(ignored);
}

void RemoteSupervisor::GiveUp(const Status& why) {
  channel_->TellLast(why);
  Abandon();
}

void RemoteSupervisor::OnChannelEnd(SupervisorChannel::Why why) {
  if (channel_->over() && why == SupervisorChannel::Why::kEnd) return;
  if (why != SupervisorChannel::Why::kEnd) return Linger();
  ForceAndTell(OkStatus(), WhyItEnded());
}

Status RemoteSupervisor::WhyItEnded() const {
  const std::string& program = channel_->subject().program;
  if (const std::optional<Status>& silent = channel_->silent()) {
    return Status(silent->code(), silent->what(), silent->why() + "; it and its processes have been ended",
                  silent->remedy());
  }
  if (!channel_->greeted()) {
    if (why_not_ready_) return *why_not_ready_;
    return Fail(ErrorCode::kSpawnFailed, "start '" + program + "'", "kprof-launch ended before it was ready",
                "see what it said: the terminal of kprofctl, or the journal of kprofd-helper");
  }
  return Fail(ErrorCode::kCommandFailed, "supervise '" + program + "'",
              "kprof-launch died; its processes have been ended",
              "look in the kernel's log for a lack of memory, then run it again");
}

void RemoteSupervisor::Linger() {
  error_code ignored;
  lingering_.shutdown(asio::local::stream_protocol::socket::shutdown_send, ignored);
  linger_limit_ = loop_.After(kSupervisorGoneLimitNs, [self = shared_from_this()] {
    LogError("kprof-launch cannot be ended", {{"run", self->channel_->marker()}});
    error_code ignored;
    self->lingering_.close(ignored);
    const Status why = self->WhyItEnded();
    const Status last(why.code(), why.what(), "kprof-launch does not end", "end it: it is a process of yours");
    self->ForceAndTell(last, last);
  });
  OnLingered();
}

void RemoteSupervisor::OnLingered() {
  lingering_.async_wait(asio::local::stream_protocol::socket::wait_read,
                        [self = shared_from_this()](const error_code& error) {
                          if (error) return;  // closed
                          std::array<char, 4096> unheard;
                          error_code gone;
                          self->lingering_.non_blocking(true, gone);
                          self->lingering_.read_some(asio::buffer(unheard), gone);
                          if (!gone || gone == asio::error::would_block) return self->OnLingered();
                          self->linger_limit_.Cancel();
                          self->ForceAndTell(OkStatus(), self->WhyItEnded());
                        });
}

void RemoteSupervisor::ForceAndTell(const Status& ended, const Status& last) {
  if (channel_->over()) return;
  auto tell = [self = shared_from_this(), last](const Status& all_ended) {
    if (!all_ended.ok()) self->channel_->TellMayLiveOn(all_ended);
    self->channel_->TellLast(last);
  };
  if (end_by_force_) return end_by_force_(tell);
  tell(ended);
}

}  // namespace kprof
