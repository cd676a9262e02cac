// One kprof-launch process, from when it has been spawned until it has been reaped: what it says becomes LaunchEvents,
// and when it dies without a word, what it left is swept. One that owes an answer for too long is killed; launcher.h
// says how long. Whose turn it is to speak is launch_protocol.h.
//
// Io loop only. Kept by its handlers, one of which waits for its end all the time: it may outlive its launcher.
#pragma once

#include <sys/types.h>

#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "daemon/base/io_loop.h"
#include "daemon/process/adopted_processes.h"
#include "daemon/process/launch_error.h"
#include "daemon/process/launch_protocol.h"
#include "daemon/process/launcher.h"
#include "daemon/process/spawn_supervisor.h"

namespace kprof {

class SupervisorLink : public std::enable_shared_from_this<SupervisorLink> {
 public:
  using NotReaped = std::set<SupervisorLink*>;

  // From Begin on until it has been reaped it is among `not_reaped`.
  SupervisorLink(IoLoop& loop, std::shared_ptr<AdoptedProcesses> adopted, std::shared_ptr<NotReaped> not_reaped,
                 LaunchSubject subject, std::string marker, LaunchEvents events);

  // When this fails, ending and reaping the process is the caller's.
  Status Begin(SpawnedSupervisor spawned, std::string first_frame);

  void Go();
  void Stop(int64_t grace_ms);

  // Closes the channel, upon which the supervisor ends its tree and itself. No event comes any more.
  void Abandon();

 private:
  void Send(std::string frame);
  void SendMore();
  void Receive();
  // Takes all that is there; returns whether more may come.
  bool TakeReceived();
  void TakeFrames();
  bool Take(const FrameReader::Frame& frame);
  void TellOtherBuilds();
  void CloseChannel();
  // It owes an answer by then; else `silent` is what it dies of. ExpectNothing: it has answered.
  void ExpectAnswer(int64_t by_ns, Status silent);
  void ExpectNothing();
  void OnSilence();
  void Kill();
  void OnExit();
  void SweepAndTell(Status last);

  // The callee may destroy the Launched, which empties events_: so a copy is called.
  template <typename Event, typename... Arguments>
  void Tell(const Event& event, const Arguments&... arguments) {
    if (over_ || !event) return;
    Event call = event;
    call(arguments...);
  }
  template <typename Event, typename Argument>
  void TellLast(const Event& event, const Argument& argument) {
    if (over_) return;
    over_ = true;
    Event call = event;
    events_ = LaunchEvents();
    if (call) call(argument);
  }

  IoLoop& loop_;
  // Both may outlive the launcher.
  const std::shared_ptr<AdoptedProcesses> adopted_;
  const std::shared_ptr<NotReaped> not_reaped_;
  const LaunchSubject subject_;
  const std::string marker_;
  pid_t pid_ = -1;
  uint64_t start_ticks_ = 0;

  LaunchEvents events_;
  bool over_ = false;  // the last event was told, or nobody listens
  boost::asio::local::stream_protocol::socket channel_;
  boost::asio::posix::stream_descriptor exit_;  // pidfd
  FrameReader frames_;
  std::string outbox_;  // at most one request and a few bytes
  bool sending_ = false;
  IoLoop::Timer exit_limit_;
  std::optional<Status> silent_;  // what it dies of when it goes on owing us an answer
  int64_t answer_by_ns_ = 0;
  IoLoop::Timer answer_limit_;
  bool stop_sent_ = false;
  std::optional<Status> given_up_;  // it was killed for this
};

}  // namespace kprof
