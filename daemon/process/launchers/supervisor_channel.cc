#include "daemon/process/launchers/supervisor_channel.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/base/log.h"

namespace kprof {

Result<SocketPair> MakeLaunchSockets(const OutputFiles& files) {
  ASSIGN_OR_RETURN(SocketPair ends, MakeSocketPair(SOCK_STREAM));
  const std::string_view first_byte("\0", 1);
  std::vector<int> descriptors = {files.stdout_fd, files.stderr_fd};
  if (files.progress_fd >= 0) descriptors.push_back(files.progress_fd);
  if (files.held_fd >= 0) descriptors.push_back(files.held_fd);
  int error = SendPacket(ends.ours.get(), first_byte, descriptors);
  if (error != 0) return FailErrno(error, "hand files to kprof-launch");
  return ends;
}

namespace {

namespace asio = boost::asio;
using boost::system::error_code;

// Of these a healthy supervisor needs milliseconds. They are for a disk that is slow, not for one that hangs.
constexpr int64_t kPrepareLimitNs = 60 * kNanosPerSecond;
constexpr int64_t kSupervisorStartLimitNs = 30 * kNanosPerSecond;
// Who asks a second time, and gives no grace, wants an end more than a report. A supervisor that works has nearly
// always reported by then; one that still fights a storm of forks hands it to the sweep, which fights it with the same
// means.
constexpr int64_t kImpatientEndLimitNs = 5 * kNanosPerSecond;

constexpr int kReadsAtOnce = 16;      // of 4 KiB; then others have their turn on the loop
constexpr int kReadsAtTheEnd = 4096;  // of a supervisor that is gone: more than the longest message
constexpr size_t kSpareOutboxBytes = 64 << 10;
// That have come without their frames: a supervisor of ours sends one with each.
constexpr size_t kDescriptorsAtOnce = 8;

}  // namespace

SupervisorChannel::SupervisorChannel(IoLoop& loop, LaunchSubject subject, std::string marker, LaunchEvents events,
                                     Ended ended)
    : loop_(loop),
      subject_(std::move(subject)),
      marker_(std::move(marker)),
      events_(std::move(events)),
      ended_(std::move(ended)),
      socket_(loop.context()),
      most_outputs_(subject_.most_outputs),
      lease_sent_(!subject_.has_steps_before),
      has_steps_before_(subject_.has_steps_before) {}

Status SupervisorChannel::Begin(UniqueFd socket, std::string first_frames) {
  error_code error;
  socket_.assign(asio::local::stream_protocol(), socket.get(), error);
  if (!error) {
    socket.Release();
    socket_.non_blocking(true, error);
  }
  if (error) return FailErrno(error.value(), "watch the supervisor");
  Send(std::move(first_frames));
  Receive();
  return OkStatus();
}

// A step before the lease takes as long as it takes, once it has begun.
void SupervisorChannel::ExpectPrepared() {
  if (prepared_heard_ || stop_sent_ || (step_begins_heard_ && !lease_sent_)) return;
  ExpectAnswer(
      loop_.clock().mono_ns() + kPrepareLimitNs,
      Fail(ErrorCode::kSpawnFailed, "start '" + subject_.program + "'", "kprof-launch was not ready within 60 s",
           "see whether the disk of the folder " + subject_.cwd + " answers"));
}

void SupervisorChannel::Lease(const std::vector<std::string>& variables) {
  lease_sent_ = true;
  Send(FrameOf(LaunchMessage::kLease, EncodeLease(variables)));
  ExpectPrepared();
}

void SupervisorChannel::Go() {
  go_sent_ = true;
  Send(FrameOf(LaunchMessage::kGo));
  if (stop_sent_) return;
  ExpectAnswer(
      loop_.clock().mono_ns() + kSupervisorStartLimitNs,
      Fail(ErrorCode::kSpawnFailed, "start '" + subject_.program + "'",
           "kprof-launch did not say within 30 s that it has started", "see whether the disk of the program answers"));
}

// However long a turn takes: the run's own limit ends it.
void SupervisorChannel::Turn(const TurnAsked& turn) {
  go_sent_ = turn_runs_ = true;
  Send(FrameOf(LaunchMessage::kTurn, EncodeTurnAsked(turn)));
}

void SupervisorChannel::Enough() {
  Send(FrameOf(LaunchMessage::kEnough));
}

void SupervisorChannel::Stop(int64_t grace_ms) {
  Send(FrameOf(LaunchMessage::kStop, EncodeStop(grace_ms)));
  const bool again = std::exchange(stop_sent_, true);
  const int64_t grace_ns = std::clamp<int64_t>(grace_ms, 0, kLongestGraceMs) * kNanosPerMilli;
  const int64_t by_ns =
      loop_.clock().mono_ns() + grace_ns + (again && grace_ns == 0 ? kImpatientEndLimitNs : kSupervisorEndLimitNs);
  if (again && answer_by_ns_ <= by_ns) return;
  ExpectAnswer(by_ns, Fail(ErrorCode::kCommandFailed, "supervise '" + subject_.program + "'",
                           "kprof-launch did not answer when it was told to stop",
                           "see what held it up: a SIGSTOP, a frozen cgroup, a disk that hangs"));
}

void SupervisorChannel::Send(std::string frame) {
  if (!open()) return;
  if (outbox_.size() + frame.size() > kLaunchFrameLimitBytes + kSpareOutboxBytes) return End(Why::kNonsense);
  outbox_ += frame;
  if (!sending_) SendMore();
}

void SupervisorChannel::SendMore() {
  error_code error;
  while (!outbox_.empty()) {
    size_t sent = socket_.write_some(asio::buffer(outbox_), error);
    outbox_.erase(0, sent);
    if (error) break;
  }
  sending_ = false;
  if (outbox_.empty()) outbox_.shrink_to_fit();
  if (error != asio::error::would_block) return;  // done, or gone: then its end is on the way
  sending_ = true;
  socket_.async_wait(asio::local::stream_protocol::socket::wait_write,
                     [self = shared_from_this()](const error_code& error) {
                       if (!error) self->SendMore();
                     });
}

void SupervisorChannel::Receive() {
  socket_.async_wait(asio::local::stream_protocol::socket::wait_read,
                     [self = shared_from_this()](const error_code& error) {
                       if (!error && self->Take(kReadsAtOnce)) self->Receive();
                     });
}

void SupervisorChannel::TakeReceived() {
  (void)Take(kReadsAtTheEnd);
}

bool SupervisorChannel::Take(int most_reads) {
  for (int i = 0; i < most_reads && open(); ++i) {
    std::string bytes;
    const error_code error = ReadSome(bytes);
    if (error == asio::error::would_block) return true;
    if (error) {
      End(error == asio::error::message_size ? Why::kNonsense : Why::kEnd);
      return false;
    }
    frames_.Add(bytes);
    TakeFrames();
  }
  return open();
}

// By recvmsg, which asio has not: descriptors come with the bytes.
error_code SupervisorChannel::ReadSome(std::string& bytes) {
  std::array<char, 4096> block;
  iovec piece{block.data(), block.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(kDescriptorsAtOnce * sizeof(int))];
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t size = 0;
  do {
    size = ::recvmsg(socket_.native_handle(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (size < 0 && errno == EINTR);
  if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return asio::error::would_block;
  if (size < 0) return error_code(errno, boost::system::system_category());
  if (size == 0) return asio::error::eof;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    for (size_t i = 0; i < (part->cmsg_len - CMSG_LEN(0)) / sizeof(int); ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
      descriptors_.emplace_back(fd);
    }
  }
  if ((message.msg_flags & MSG_CTRUNC) != 0 || descriptors_.size() > kDescriptorsAtOnce) {
    return asio::error::message_size;
  }
  bytes.assign(block.data(), static_cast<size_t>(size));
  return {};
}

void SupervisorChannel::TakeFrames() {
  while (open()) {
    Result<std::optional<FrameReader::Frame>> frame = frames_.Next();
    if (frame.ok() && !frame->has_value()) return;
    if (!frame.ok() || !Take(**frame)) {
      // Whoever speaks nonsense does not supervise.
      LogError("kprof-launch speaks another protocol", {{"run", marker_}});
      if (!greeted()) TellOtherBuilds();
      return End(Why::kNonsense);
    }
  }
}

bool SupervisorChannel::Take(const FrameReader::Frame& frame) {
  switch (frame.type) {
    case LaunchMessage::kPrepared:
      if (!lease_sent_ || std::exchange(prepared_heard_, true)) return false;
      if (!stop_sent_) ExpectNothing();
      Tell(events_.prepared);
      return true;
    case LaunchMessage::kStarted: {
      Result<CommandStarted> started = DecodeCommandStarted(frame.payload);
      if (!go_sent_ || std::exchange(started_heard_, true)) return false;
      if (!stop_sent_) ExpectNothing();
      if (started.ok()) Tell(events_.started, *started);
      return started.ok();
    }
    case LaunchMessage::kStepBegins:
      if (!has_steps_before_ || std::exchange(step_begins_heard_, true)) return false;
      if (!stop_sent_) ExpectNothing();
      Tell(events_.step_begins);
      return true;
    case LaunchMessage::kStepsDone:
      if (!step_begins_heard_ || std::exchange(steps_done_heard_, true)) return false;
      Tell(events_.steps_done);
      return true;
    case LaunchMessage::kCommandOver:
      if (!started_heard_ || std::exchange(command_over_heard_, true)) return false;
      Tell(events_.command_over);
      return true;
    case LaunchMessage::kTurnOver: {
      Result<TurnEnded> turn = DecodeTurnEnded(frame.payload);
      if (!started_heard_ || !std::exchange(turn_runs_, false) || !turn.ok()) return false;
      Tell(events_.turn_over, *turn);
      return true;
    }
    case LaunchMessage::kOutput:
      return TakeOutput(frame);
    case LaunchMessage::kLeftOut: {
      Result<OutputsLeftOut> left_out = DecodeOutputsLeftOut(frame.payload);
      if (!go_sent_ || std::exchange(left_out_heard_, true) || !left_out.ok()) return false;
      Tell(events_.left_out, *left_out);
      return true;
    }
    case LaunchMessage::kLaunchFailed: {
      Result<LaunchFailure> failure = DecodeLaunchFailure(frame.payload);
      if (failure.ok()) TellOver(events_.failed, LaunchError(*failure, subject_));
      return failure.ok();
    }
    case LaunchMessage::kEnded: {
      Result<CommandEnded> ended = DecodeCommandEnded(frame.payload);
      if (ended.ok()) TellOver(events_.ended, *ended);
      return ended.ok();
    }
    default:
      return false;
  }
}

bool SupervisorChannel::TakeOutput(const FrameReader::Frame& frame) {
  Result<OutputFound> found = DecodeOutputFound(frame.payload);
  if (!found.ok() || !go_sent_ || descriptors_.empty() || ++outputs_ > most_outputs_) return false;
  auto output = std::make_shared<ReceivedOutput>();
  output->found = *std::move(found);
  output->fd = std::move(descriptors_.front());
  descriptors_.pop_front();
  Tell(events_.output, output);
  return true;
}

void SupervisorChannel::TellOtherBuilds() {
  TellOver(events_.failed,
           Fail(ErrorCode::kSpawnFailed, "start '" + subject_.program + "'", kOtherBuildsWhy, kOtherBuildsRemedy));
}

void SupervisorChannel::TellLast(const Status& last) {
  TellOver(last.code() == ErrorCode::kCommandFailed ? events_.lost : events_.failed, last);
}

void SupervisorChannel::Forget() {
  over_ = true;
  events_ = LaunchEvents();
}

void SupervisorChannel::Close() {
  if (!open()) return;
  error_code ignored;
  socket_.close(ignored);
  ExpectNothing();
  ended_ = nullptr;
}

void SupervisorChannel::End(Why why) {
  Ended ended = std::exchange(ended_, nullptr);
  Close();
  if (ended) ended(why);
}

void SupervisorChannel::ExpectAnswer(int64_t by_ns, Status silent) {
  if (!open() || over_) return;
  silent_ = std::move(silent);
  answer_by_ns_ = by_ns;
  answer_limit_ = loop_.After(by_ns - loop_.clock().mono_ns(), [this] { OnSilence(); });
}

void SupervisorChannel::ExpectNothing() {
  silent_.reset();
  answer_limit_.Cancel();
}

void SupervisorChannel::OnSilence() {
  const std::shared_ptr<SupervisorChannel> self = shared_from_this();  // what is called may let go of it
  TakeReceived();                                                      // it may be us who were held up
  if (over_ || !silent_ || answer_limit_.pending()) return;            // it has answered, and may owe the next answer
  given_up_ = std::exchange(silent_, std::nullopt);
  LogError("kprof-launch does not answer", {{"run", marker_}, {"error", given_up_->ToString()}});
  End(Why::kSilent);
}

}  // namespace kprof
