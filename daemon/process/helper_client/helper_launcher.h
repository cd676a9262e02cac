// The Launcher of detached captures in system mode: the root helper starts the supervisor as the run's caller, who
// asked for it while connected (caller_grants.h). When the supervisor dies or hangs, the helper ends what is left.
//
// Io loop only. The loop and the link must outlive it and its Launched objects.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "daemon/base/io_loop.h"
#include "daemon/process/helper_client/helper_link.h"
#include "daemon/process/launchers/launcher.h"
#include "daemon/process/launchers/remote_supervisor.h"
#include "storage/base/descriptors.h"
#include "storage/base/status.h"

namespace kprof {

// Has the root helper start a run's supervisor, also when the helper restarts meanwhile. Waits 5 minutes in all for a
// helper that is away or silent, and asks again after one went away: it notes each start on its disk before it does it,
// so it starts nothing twice. If it says that the run was started already, the supervisor's channel tells how that
// went.
//
// Holds the supervisor's end of the channel until the supervisor is there, so that the channel does not end before.
//
// The answer also tells whether the command shares the helper's cgroup. If it is lost, the helper's state is asked
// until it tells, or the command is over. Then the command is said to share it: one reason too many is better in a
// trust than one too few. (Where runs have units of their own, systemd brings the helper back at once.)
//
// Io loop only. Kept by its question. Loop and link must outlive it.
class HelperStartup : public std::enable_shared_from_this<HelperStartup> {
 public:
  static constexpr int64_t kLimitNs = 300 * kNanosPerSecond;

  struct Events {
    std::function<void()> shares_cgroup;
    std::function<void(Status)> held_up;  // as in LaunchEvents
  };

  // `channel`: the supervisor's end.
  HelperStartup(IoLoop& loop, HelperLink& link, std::string marker, UniqueFd channel,
                std::shared_ptr<RemoteSupervisor> supervisor, Events events);

  void Begin();

  // The supervisor is there.
  void OnReady();
  // The command is over; its end is told right after this.
  void OnEnd();
  // Nobody wants the supervisor any more.
  void Settle();

  // False: nothing was started, nor will be.
  bool may_have_started() const { return may_have_started_; }
  // True if the run's failure was told by this, not by its supervisor.
  bool gave_up() const { return gave_up_; }

 private:
  void Ask();
  void Hear(const Result<HelperMessage>& answer);
  void GiveUp(const Status& why);
  // The supervisor is there, as far as anybody knows, but no answer told where: asks.
  void FindPlace();
  void AskPlace();
  void HearPlace(const Result<HelperMessage>& answer);
  void TellPlace(bool own_unit);

  IoLoop& loop_;
  HelperLink& link_;
  const std::string marker_;
  UniqueFd channel_;
  const std::shared_ptr<RemoteSupervisor> supervisor_;
  const Events events_;
  HelperLink::Tag asked_ = 0;
  bool settled_ = false;
  bool lost_ = false;        // a helper went away over it
  bool asks_place_ = false;  // where it runs: among the helper's processes, or in a unit
  bool knows_place_ = false;
  bool may_have_started_ = false;
  bool gave_up_ = false;
  IoLoop::Timer held_up_;
  IoLoop::Timer limit_;
  IoLoop::Timer ask_place_again_;
};

class HelperLauncher final : public Launcher {
 public:
  HelperLauncher(IoLoop& loop, HelperLink& link) : loop_(loop), link_(link) {}

  // Waits for a helper that is away, as HelperStartup does. A helper that refuses, or stays away, is told by `failed`:
  // kNotPermitted, kSpawnFailed.
  Result<std::unique_ptr<Launched>> Launch(const LaunchRequest& request, const LaunchAs& as, const std::string& marker,
                                           const OutputFiles& files, LaunchEvents events) override;

  // Also lets go of the run's grant when no process is left.
  void EndRemains(const LaunchAs& as, const std::string& marker, UniqueFd progress,
                  std::function<void(Status)> done) override;

 private:
  IoLoop& loop_;
  HelperLink& link_;
};

}  // namespace kprof
