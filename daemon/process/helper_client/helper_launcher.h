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

// Has the root helper start a run's supervisor, whatever becomes of the helper meanwhile. A helper that is not there,
// or does not answer, is waited for: 5 minutes in all. One that went away before it answered is asked again: it starts
// nothing twice, because it notes on its disk what it starts before it does. Where it says that the run was started
// already, the supervisor's channel tells what became of that.
//
// Holds the supervisor's end of the channel until it is known that there is a supervisor; so it is not told before then
// that there is none any more.
//
// Where the answer was lost that says whether the command shares the helper's cgroup, the helper is asked what it does
// with all (its state), until it says so or the command is over. If it is over first it is said to share it: a trust
// that lacks a reason is worse than one with a reason too many, and where runs have units of their own systemd brings
// the helper back at once.
//
// Io loop only. Kept by its question. Loop and link must outlive it.
class HelperStartup : public std::enable_shared_from_this<HelperStartup> {
 public:
  static constexpr int64_t kLimitNs = 300 * kNanosPerSecond;

  struct Events {
    std::function<void()> shares_cgroup;
    std::function<void(Status)> held_up;  // as in LaunchEvents
  };

  // `channel`: the end that the supervisor is to have.
  HelperStartup(IoLoop& loop, HelperLink& link, std::string marker, UniqueFd channel,
                std::shared_ptr<RemoteSupervisor> supervisor, Events events);

  void Begin();

  // The supervisor is there.
  void OnReady();
  // The command is over, which will be told at once.
  void OnEnd();
  // Nobody wants the supervisor any more.
  void Settle();

  // It may be that something was started; else nothing was, nor will be.
  bool may_have_started() const { return may_have_started_; }
  // That the run has failed was told by this, not by its supervisor.
  bool gave_up() const { return gave_up_; }

 private:
  void Ask();
  void Hear(const Result<HelperMessage>& answer);
  void GiveUp(const Status& why);
  // The supervisor is there, as far as anybody knows, and no answer says where.
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
  bool asks_place_ = false;  // what the answer would have said: among the helper's processes, or in a unit
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

  // A helper that is not there is waited for (helper_launcher.h). One that refuses, or does not come, is told by
  // `failed`: kNotPermitted, kSpawnFailed.
  Result<std::unique_ptr<Launched>> Launch(const LaunchRequest& request, const LaunchAs& as, const std::string& marker,
                                           const OutputFiles& files, LaunchEvents events) override;

  // Lets go of the run's grant, too, when nobody is left.
  void EndRemains(const LaunchAs& as, const std::string& marker, UniqueFd progress,
                  std::function<void(Status)> done) override;

 private:
  IoLoop& loop_;
  HelperLink& link_;
};

}  // namespace kprof
