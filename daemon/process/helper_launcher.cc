#include "daemon/process/helper_launcher.h"

#include <utility>

#include "daemon/process/distant_supervisor.h"
#include "daemon/process/helper_sweep.h"
#include "daemon/process/launch_sockets.h"

namespace kprof {
namespace {

Status CannotStart(const std::string& marker, const Status& why) {
  const ErrorCode code = why.code() == ErrorCode::kNotPermitted ? why.code() : ErrorCode::kSpawnFailed;
  return Status(code, "start run " + marker, why.why(), why.remedy());
}

}  // namespace

// What is left of a run that is given up is ended; one of which nothing is left is forgotten. Of any other the helper
// keeps the grant, without which no later start could have it swept.
class HelperLauncher::Handle final : public Launched {
 public:
  Handle(IoLoop& loop, HelperLink& link, std::shared_ptr<DistantSupervisor> supervisor, std::string marker,
         std::shared_ptr<const bool> may_live_on)
      : loop_(loop),
        link_(link),
        supervisor_(std::move(supervisor)),
        marker_(std::move(marker)),
        may_live_on_(std::move(may_live_on)) {}
  ~Handle() override {
    KPROF_ON_IO_LOOP(loop_);
    const bool all_ended = supervisor_->over() && !*may_live_on_;
    supervisor_->Abandon();
    if (all_ended) {
      link_.Forget(marker_);
    } else {
      SweepAndForget(loop_, link_, marker_, [](const Status&) {});
    }
  }
  void Go() override { supervisor_->Go(); }
  void Stop(int64_t grace_ms) override { supervisor_->Stop(grace_ms); }

 private:
  IoLoop& loop_;
  HelperLink& link_;
  const std::shared_ptr<DistantSupervisor> supervisor_;
  const std::string marker_;
  const std::shared_ptr<const bool> may_live_on_;
};

// Whether what `events` tell says that something of the run was not ended.
std::shared_ptr<const bool> WatchForSurvivors(LaunchEvents& events) {
  auto found = std::make_shared<bool>(false);
  events.may_live_on = [found, tell = std::move(events.may_live_on)](const Status& why) {
    *found = true;
    if (tell) tell(why);
  };
  events.ended = [found, tell = std::move(events.ended)](const CommandEnded& end) {
    if (end.unkillable_processes > 0) *found = true;
    tell(end);
  };
  return found;
}

Result<std::unique_ptr<Launched>> HelperLauncher::Launch(const LaunchRequest& request, const LaunchAs& /*as*/,
                                                         const std::string& marker, const OutputFiles& files,
                                                         LaunchEvents events) {
  KPROF_ON_IO_LOOP(loop_);
  ASSIGN_OR_RETURN(const LaunchRequest marked, MarkedRequest(request, marker));
  Result<SocketPair> ends = MakeLaunchSockets(files);
  if (!ends.ok()) return CannotStart(marker, ends.status());
  auto supervisor = std::make_shared<DistantSupervisor>(loop_, [this, marker](std::function<void(Status)> done) {
    SweepPatiently(loop_, link_, marker, std::move(done));
  });
  const std::function<void()> shares_cgroup = events.shares_cgroup;
  const std::shared_ptr<const bool> may_live_on = WatchForSurvivors(events);
  RETURN_IF_ERROR(
      supervisor->Begin(std::move(ends->ours), SubjectOf(marked), marker, std::move(events), FirstFrames(marked)));
  link_.Ask(HelperStart{marker}, std::move(ends->theirs),
            [supervisor, shares_cgroup, marker](const Result<HelperMessage>& answer, UniqueFd) {
              if (supervisor->over()) return;
              if (!answer.ok()) {
                // A helper that went away may have started it first: the channel tells.
                if (answer.status().code() != ErrorCode::kLostDaemon) {
                  supervisor->GiveUp(CannotStart(marker, answer.status()));
                }
                return;
              }
              const auto* started = std::get_if<HelperStarted>(&*answer);
              if (started != nullptr && !started->own_unit && shares_cgroup) shares_cgroup();
            });
  return std::unique_ptr<Launched>(std::make_unique<Handle>(loop_, link_, std::move(supervisor), marker, may_live_on));
}

void HelperLauncher::EndRemains(const LaunchAs& /*as*/, const std::string& marker, UniqueFd /*progress*/,
                                std::function<void(Status)> done) {
  KPROF_ON_IO_LOOP(loop_);
  SweepAndForget(loop_, link_, marker, std::move(done));
}

}  // namespace kprof
