// One kprof-launch process that is our child, from when it has been spawned until it has been reaped. What it says is
// supervisor_channel.h; when it dies without a word, what it left is swept. One that owes an answer for too long is
// killed; launcher.h says how long.
//
// Io loop only. Kept by its handlers, one of which waits for its end all the time: it may outlive its launcher.
#pragma once

#include <sys/types.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "daemon/base/io_loop.h"
#include "daemon/launch/launch_error.h"
#include "daemon/process/launchers/adopted_processes.h"
#include "daemon/process/launchers/launcher.h"
#include "daemon/process/launchers/spawn_supervisor.h"
#include "daemon/process/launchers/supervisor_channel.h"

namespace kprof {

class ChildSupervisor : public std::enable_shared_from_this<ChildSupervisor> {
 public:
  using NotReaped = std::set<ChildSupervisor*>;

  // From Begin on until it has been reaped it is among `not_reaped`.
  ChildSupervisor(IoLoop& loop, std::shared_ptr<AdoptedProcesses> adopted, std::shared_ptr<NotReaped> not_reaped);

  // When this fails, ending and reaping the process is the caller's.
  Status Begin(SpawnedSupervisor spawned, LaunchSubject subject, const std::string& marker, LaunchEvents events,
               std::string first_frames);

  const std::shared_ptr<SupervisorChannel>& channel() const { return channel_; }

  // Closes the channel, upon which the supervisor ends its tree and itself. No event comes any more.
  void Abandon();

 private:
  void OnChannelEnd(SupervisorChannel::Why why);
  // It has no channel any more, and must end.
  void ExpectExit();
  void Kill();
  void OnExit();
  // `if_ended`: what `last` says besides when nobody is left; else it is told that somebody may be.
  void SweepAndTell(const Status& last, const std::string& if_ended);

  IoLoop& loop_;
  // Both may outlive the launcher.
  const std::shared_ptr<AdoptedProcesses> adopted_;
  const std::shared_ptr<NotReaped> not_reaped_;
  pid_t pid_ = -1;
  uint64_t start_ticks_ = 0;
  std::shared_ptr<SupervisorChannel> channel_;
  boost::asio::posix::stream_descriptor exit_;  // pidfd
  IoLoop::Timer exit_limit_;
};

}  // namespace kprof
