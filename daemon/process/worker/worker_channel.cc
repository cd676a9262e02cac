#include "daemon/process/worker/worker_channel.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <csignal>
#include <optional>
#include <utility>

#include "daemon/process/worker/worker_process.h"

namespace kprof {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

// Without a call, which takes next to no time: so many times what a call may take.
constexpr int64_t kSilenceInCallLimits = 4;
// One that says much must not keep the loop from others.
constexpr int kPacketsAtOnce = 16;

// Without an answer of the helper's.
bool MayHaveStarted(const Status& failed) {
  return failed.code() == ErrorCode::kLostDaemon || failed.code() == ErrorCode::kTimedOut;
}

std::string SecondsSince(int64_t since_ns, int64_t now_ns) {
  return std::to_string((now_ns - since_ns) / kNanosPerSecond) + " s";
}

}  // namespace

Result<std::shared_ptr<WorkerChannel>> WorkerChannel::Start(IoLoop& loop, const Program& program, Events events) {
  ASSIGN_OR_RETURN(CallPage page, CallPage::Make());
  ASSIGN_OR_RETURN(SocketPair ends, MakeSocketPair(SOCK_SEQPACKET));
  auto channel = std::make_shared<WorkerChannel>(loop, program, std::move(events), std::move(page));
  RETURN_IF_ERROR(channel->Begin(std::move(ends)));
  return channel;
}

WorkerChannel::WorkerChannel(IoLoop& loop, const Program& program, Events events, CallPage page)
    : loop_(loop),
      program_(program),
      events_(std::move(events)),
      page_(std::move(page)),
      socket_(loop.context()),
      exit_(loop.context()) {}

Status WorkerChannel::Begin(SocketPair ends) {
  KPROF_ON_IO_LOOP(loop_);
  if (program_.helper == nullptr) RETURN_IF_ERROR(BeginChild(ends.theirs));
  socket_.assign(ends.ours.Release());
  if (program_.helper != nullptr) RETURN_IF_ERROR(AskHelper(std::move(ends.theirs)));
  Receive();
  return OkStatus();
}

// What is sent meanwhile waits in the socket for whoever will be there.
Status WorkerChannel::AskHelper(UniqueFd theirs) {
  UniqueFd page(::fcntl(page_.fd(), F_DUPFD_CLOEXEC, 0));
  if (!page.valid()) return FailErrno(errno, "start a device's worker");
  std::vector<UniqueFd> files;
  files.push_back(std::move(theirs));
  files.push_back(std::move(page));
  awaits_helper_ = true;
  program_.helper->Ask(program_.request, std::move(files),
                       [self = shared_from_this()](const Result<HelperMessage>& answer, UniqueFd) {
                         self->awaits_helper_ = false;
                         self->may_have_begun_ = answer.ok() || MayHaveStarted(answer.status());
                         if (!answer.ok()) self->End(answer.status());
                         if (self->socket_has_ended_) self->OnSocketEnd();
                       });
  return OkStatus();
}

Status WorkerChannel::BeginChild(const UniqueFd& theirs) {
  ASSIGN_OR_RETURN(WorkerProcess worker,
                   StartWorker(program_.path, program_.arguments, {theirs.get(), page_.fd()}, program_.own));
  pid_ = worker.pid;
  exit_.assign(worker.exit.Release());
  exit_.async_wait(asio::posix::stream_descriptor::wait_read, [self = shared_from_this()](const error_code& error) {
    if (!error) self->OnExit();
  });
  return OkStatus();
}

void WorkerChannel::Send(const std::string& bytes) {
  if (over_ || !socket_.is_open()) return;
  // One that does not read hangs, which is noticed elsewhere; one that is gone, too.
  if (SendPacket(socket_.native_handle(), bytes) == EAGAIN) {
    loop_.Post([self = shared_from_this()] {
      self->End(Fail(ErrorCode::kTimedOut, "ask a device's worker", "it does not read what it is asked"));
    });
  }
}

void WorkerChannel::Receive() {
  socket_.async_wait(asio::posix::stream_descriptor::wait_read, [self = shared_from_this()](const error_code& error) {
    if (error || !self->listens()) return;
    for (int packets = 0; packets < kPacketsAtOnce && self->listens(); ++packets) {
      Packet packet;
      const int failed = ReceivePacket(self->socket_.native_handle(), self->program_.packet_limit_bytes, packet);
      if (failed == EAGAIN) return self->Receive();
      if (failed != 0 || packet.end) return self->OnSocketEnd();
      if (self->over_) continue;  // only for its end
      if (packet.cut) return self->End(Fail(ErrorCode::kInternal, "hear from a device's worker", "it says too much"));
      self->heard_mono_ns_ = self->loop_.clock().mono_ns();
      const bool is_first = !std::exchange(self->has_spoken_, true);
      if (is_first && self->expects_) self->LookAgainAt(self->heard_mono_ns_ + self->program_.call_limit_ns);
      if (self->events_.packet) self->events_.packet(packet.bytes);
    }
    if (self->listens()) self->Receive();
  });
}

void WorkerChannel::Expect(bool something) {
  if (expects_ == something || over_) return;
  expects_ = something;
  heard_mono_ns_ = loop_.clock().mono_ns();
  if (something) return LookAgainAt(heard_mono_ns_ + program_.call_limit_ns);
  look_.Cancel();
}

void WorkerChannel::LookAgainAt(int64_t mono_ns) {
  // A moment later than the limit: at the limit itself nothing has been exceeded.
  const int64_t delay_ns = std::max<int64_t>(mono_ns - loop_.clock().mono_ns(), 0) + kNanosPerMilli;
  look_ = loop_.After(delay_ns, [this] { LookWhetherItHangs(); });
}

void WorkerChannel::LookWhetherItHangs() {
  const auto self = shared_from_this();
  const int64_t now_ns = loop_.clock().mono_ns();
  const std::optional<CallPage::Call> call = page_.Now();
  const int64_t hangs_after_ns =
      has_spoken_ ? program_.call_limit_ns : std::max(program_.call_limit_ns, program_.first_limit_ns);
  if (call && now_ns - call->since_mono_ns > program_.call_limit_ns) {
    const Status why = Fail(ErrorCode::kTimedOut, "ask the device",
                            call->name + " has not returned for " + SecondsSince(call->since_mono_ns, now_ns),
                            "see dmesg for what the driver says (Xid); a driver that hangs wants a reboot");
    if (now_ns - call->since_mono_ns > hangs_after_ns) return End(why);
    if (std::exchange(slow_since_mono_ns_, call->since_mono_ns) != call->since_mono_ns && events_.slow) {
      events_.slow(why);
    }
    heard_mono_ns_ = now_ns;  // it is at work
    return LookAgainAt(call->since_mono_ns + hangs_after_ns);
  }
  if (!call && now_ns - heard_mono_ns_ > kSilenceInCallLimits * program_.call_limit_ns) {
    return End(Fail(ErrorCode::kTimedOut, "ask the device",
                    "its worker has said nothing for " + SecondsSince(heard_mono_ns_, now_ns),
                    "see whether the node is overloaded"));
  }
  LookAgainAt(call ? call->since_mono_ns + program_.call_limit_ns : now_ns + program_.call_limit_ns);
}

void WorkerChannel::End(const Status& why) {
  if (over_) return;
  const auto self = shared_from_this();
  over_ = true;
  look_.Cancel();
  Kill();
  if (events_.over) events_.over(why);
}

void WorkerChannel::Close() {
  over_ = true;
  look_.Cancel();
  if (!socket_.is_open()) return;
  error_code ignored;
  if (program_.helper == nullptr) {
    socket_.close(ignored);
  } else {
    ::shutdown(socket_.native_handle(), SHUT_WR);  // which it sees as our end; its own is still to come
  }
}

void WorkerChannel::Kill() {
  if (pid_ > 0) ::kill(pid_, SIGKILL);
  Close();
}

// Of a child OnExit says how it ended; where none was started, the helper why.
void WorkerChannel::OnSocketEnd() {
  if (program_.helper == nullptr) return;
  socket_has_ended_ = true;
  if (awaits_helper_) return;
  error_code ignored;
  socket_.close(ignored);
  OnOver("", "see 'journalctl -u kprof-clocks-* -u kprofd-helper' for how");
}

void WorkerChannel::OnExit() {
  const std::string how = ReapWorker(pid_, program_.own);
  pid_ = -1;
  error_code ignored;
  exit_.close(ignored);
  OnOver(" " + how, "see dmesg for what the driver says; report it if it happens again");
}

void WorkerChannel::OnOver(const std::string& how, const std::string& remedy) {
  if (!over_) End(Fail(ErrorCode::kToolFailed, "ask the device", "its worker ended" + how, remedy));
  if (events_.reaped) events_.reaped();
}

}  // namespace kprof
