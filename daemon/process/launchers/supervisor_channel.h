// The talk with one kprof-launch (launch_protocol.h): its messages become LaunchEvents, and its answers are due in the
// time that launcher.h gives. The other end may be anybody's program: a client starts its own. So each message is heard
// once, in its order, and however much the other end sends or leaves unread, it costs the loop and the memory no more
// than its share. Knows nothing of the process: whose child it is, how it ends and what it leaves are for
// child_supervisor.h and remote_supervisor.h.
//
// Io loop only. Kept by its handlers until it is closed.
#pragma once

#include <boost/asio/local/stream_protocol.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/base/io_loop.h"
#include "daemon/launch/launch_error.h"
#include "daemon/launch/launch_protocol.h"
#include "daemon/process/launchers/launcher.h"
#include "storage/base/descriptors.h"
#include "storage/base/packet_socket.h"
#include "storage/base/status.h"

namespace kprof {

// Makes the two ends of a supervisor's channel. The files for the command's output are already on their way in it, as
// launch_protocol.h begins. The starter of the supervisor gives it the other end. Costs a pair of sockets. The files
// stay the caller's; copies of them are held until the supervisor takes them, or both ends are closed.
Result<SocketPair> MakeLaunchSockets(const OutputFiles& files);

// A supervisor's time to end, after the grace of a Stop or the close of its channel. By itself it gives up after 10 s
// on processes that it cannot kill; twice that lets it tell so even on a busy host.
inline constexpr int64_t kSupervisorEndLimitNs = 20 * kNanosPerSecond;

class SupervisorChannel : public std::enable_shared_from_this<SupervisorChannel> {
 public:
  enum class Why {
    kEnd,       // the other end is gone
    kNonsense,  // it speaks no protocol of ours: it is not to live on
    kSilent,    // it owes an answer, see silent(): it is not to live on
  };
  // Called once, when the channel ends otherwise than by Close, and let go of then.
  using Ended = std::function<void(Why)>;

  SupervisorChannel(IoLoop& loop, LaunchSubject subject, std::string marker, LaunchEvents events, Ended ended);

  // Sends the first frames (Hello, Prepare). Fails when the socket cannot be used.
  Status Begin(UniqueFd socket, std::string first_frames);

  // The supervisor was started, or will be at once: its time to get ready begins.
  void ExpectPrepared();
  // The devices are the run's: its time to get ready begins.
  void Lease(const std::vector<std::string>& variables);
  void Go();
  void Turn(const TurnAsked& turn);
  void Enough();
  void Stop(int64_t grace_ms);

  // Tells the messages that have come by now. For callers who learn in another way that the supervisor is gone.
  void TakeReceived();
  // Closes, upon which the supervisor ends its tree and itself.
  void Close();
  // No event comes any more.
  void Forget();

  void TellMayLiveOn(const Status& why) { Tell(events_.may_live_on, why); }
  // The last event, unless there was one: lost for kCommandFailed, else failed.
  void TellLast(const Status& last);
  // The last event, for a supervisor of another build. The builds are compared before any Go: nothing was executed.
  void TellOtherBuilds();

  bool open() const { return socket_.is_open(); }
  bool over() const { return over_; }
  bool greeted() const { return frames_.greeted(); }
  const std::optional<Status>& silent() const { return given_up_; }
  const LaunchSubject& subject() const { return subject_; }
  const std::string& marker() const { return marker_; }

 private:
  void Send(std::string frame);
  void SendMore();
  void Receive();
  // Reads so many pieces at most; returns whether more may come.
  bool Take(int most_reads);
  void TakeFrames();
  // Reads bytes and the descriptors that come with them. An error, or would_block.
  boost::system::error_code ReadSome(std::string& bytes);
  // False: this message may not come now.
  bool Take(const FrameReader::Frame& frame);
  bool TakeOutput(const FrameReader::Frame& frame);
  void End(Why why);
  // An answer is due by then; without one it is given up, for `silent`. ExpectNothing: it has answered.
  void ExpectAnswer(int64_t by_ns, Status silent);
  void ExpectNothing();
  void OnSilence();

  // The callee may destroy the Launched, which empties events_: so a copy is called.
  template <typename Event, typename... Arguments>
  void Tell(const Event& event, const Arguments&... arguments) {
    if (over_ || !event) return;
    Event call = event;
    call(arguments...);
  }
  template <typename Event, typename Argument>
  void TellOver(const Event& event, const Argument& argument) {
    if (over_) return;
    over_ = true;
    Event call = event;
    events_ = LaunchEvents();
    if (call) call(argument);
  }

  IoLoop& loop_;
  const LaunchSubject subject_;
  const std::string marker_;
  LaunchEvents events_;
  Ended ended_;
  bool over_ = false;  // the last event was told, or nobody listens
  boost::asio::local::stream_protocol::socket socket_;
  FrameReader frames_;
  std::deque<UniqueFd> descriptors_;  // received before their frames
  const int64_t most_outputs_;
  int64_t outputs_ = 0;
  std::string outbox_;  // one request and kSpareOutboxBytes at most
  bool sending_ = false;
  std::optional<Status> silent_;  // what it is given up for when it goes on owing us an answer
  int64_t answer_by_ns_ = 0;
  IoLoop::Timer answer_limit_;
  bool stop_sent_ = false;
  bool go_sent_ = false;  // or a turn
  bool turn_runs_ = false;
  bool lease_sent_ = false;
  const bool has_steps_before_;
  bool step_begins_heard_ = false;
  bool steps_done_heard_ = false;
  bool command_over_heard_ = false;
  bool left_out_heard_ = false;
  bool prepared_heard_ = false;
  bool started_heard_ = false;
  std::optional<Status> given_up_;  // why it was given up
};

// The Launched of the real launchers: each call goes straight into the supervisor's channel.
class SupervisorHandle final : public Launched {
 public:
  // `abandon`: nobody follows it any more; its launcher sees to its end.
  SupervisorHandle(IoLoop& loop, std::shared_ptr<SupervisorChannel> channel, std::function<void()> abandon)
      : loop_(loop), channel_(std::move(channel)), abandon_(std::move(abandon)) {}
  ~SupervisorHandle() override {
    KPROF_ON_IO_LOOP(loop_);
    abandon_();
  }
  void Lease(const std::vector<std::string>& variables) override {
    KPROF_ON_IO_LOOP(loop_);
    channel_->Lease(variables);
  }
  void Go() override {
    KPROF_ON_IO_LOOP(loop_);
    channel_->Go();
  }
  void Turn(const TurnAsked& turn) override {
    KPROF_ON_IO_LOOP(loop_);
    channel_->Turn(turn);
  }
  void Enough() override {
    KPROF_ON_IO_LOOP(loop_);
    channel_->Enough();
  }
  void Stop(int64_t grace_ms) override {
    KPROF_ON_IO_LOOP(loop_);
    channel_->Stop(grace_ms);
  }

 private:
  IoLoop& loop_;
  const std::shared_ptr<SupervisorChannel> channel_;
  const std::function<void()> abandon_;
};

}  // namespace kprof
