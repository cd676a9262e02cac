// A supervisor that is not our child: kprofctl started it, or the helper. Its guard (supervisor_guard.h) ends what it
// leaves and holds the channel open until then, so the channel's end is the end of all. A supervisor that owes an
// answer for too long is told to end: our half of the channel is closed. If it does not end even so, it is ended by
// force where somebody may do that; else it is left to its user.
//
// Io loop only. Kept by its handlers.
#pragma once

#include <boost/asio/local/stream_protocol.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "daemon/base/io_loop.h"
#include "daemon/launch/launch_error.h"
#include "daemon/process/launchers/launcher.h"
#include "daemon/process/launchers/supervisor_channel.h"
#include "storage/base/descriptors.h"

namespace kprof {

// A guard kills its supervisor 20 s after the channel is closed, and sweeps for 10 s at most: by then all are gone.
inline constexpr int64_t kSupervisorGoneLimitNs = 2 * kSupervisorEndLimitNs;

class RemoteSupervisor : public std::enable_shared_from_this<RemoteSupervisor> {
 public:
  // Ends the processes that carry the marker, then calls `done`, in any case and within a bounded time: ok, or why some
  // could not be ended.
  using EndByForce = std::function<void(std::function<void(Status)> done)>;

  // `end_by_force` may be empty.
  RemoteSupervisor(IoLoop& loop, EndByForce end_by_force);

  Status Begin(UniqueFd socket, LaunchSubject subject, const std::string& marker, LaunchEvents events,
               std::string first_frames);

  // It was started, or will be at once: its time to be ready begins (launcher.h).
  void ExpectReady() { channel_->ExpectPrepared(); }
  // It has said Hello.
  bool greeted() const { return channel_->greeted(); }
  // The failure to tell if it ends before it has said Hello.
  void BlameUnlessReady(const Status& why) { why_not_ready_ = why; }

  const std::shared_ptr<SupervisorChannel>& channel() const { return channel_; }

  // Closes the channel, upon which the supervisor ends its tree and itself. No event comes any more.
  void Abandon();

  // The last event was told, or nobody listens.
  bool over() const { return channel_->over(); }

  // Nobody will start it: `why` is its last event.
  void GiveUp(const Status& why);

 private:
  void OnChannelEnd(SupervisorChannel::Why why);
  // Closes our half and waits for the other end to close.
  void Linger();
  void OnLingered();
  // `ended`: the outcome to tell where nobody may use force.
  void ForceAndTell(const Status& ended, const Status& last);
  Status WhyItEnded() const;

  IoLoop& loop_;
  const EndByForce end_by_force_;
  std::shared_ptr<SupervisorChannel> channel_;
  // The same socket again: it stays when the channel has been closed for its silence.
  boost::asio::local::stream_protocol::socket lingering_;
  IoLoop::Timer linger_limit_;
  std::optional<Status> why_not_ready_;
};

}  // namespace kprof
