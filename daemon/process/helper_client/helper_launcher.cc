#include "daemon/process/helper_client/helper_launcher.h"

#include <utility>

#include "daemon/process/helper_client/helper_startup.h"
#include "daemon/process/helper_client/helper_sweep.h"
#include "daemon/process/launchers/launch_sockets.h"
#include "daemon/process/launchers/remote_supervisor.h"
#include "daemon/process/launchers/supervisor_handle.h"

namespace kprof {
namespace {

// Has the startup hear of what `events` tell before others do.
void TellToo(const std::weak_ptr<HelperStartup>& startup, LaunchEvents& events) {
  events.prepared = [startup, tell = std::move(events.prepared)] {
    if (auto begun = startup.lock()) begun->OnReady();
    if (tell) tell();
  };
  events.step_begins = [startup, tell = std::move(events.step_begins)] {
    if (auto begun = startup.lock()) begun->OnReady();
    if (tell) tell();
  };
  events.ended = [startup, tell = std::move(events.ended)](const CommandEnded& end) {
    if (auto begun = startup.lock()) begun->OnEnd();
    if (tell) tell(end);
  };
  events.lost = [startup, tell = std::move(events.lost)](const Status& why) {
    if (auto begun = startup.lock()) begun->OnEnd();
    if (tell) tell(why);
  };
}

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

}  // namespace

Result<std::unique_ptr<Launched>> HelperLauncher::Launch(const LaunchRequest& request, const LaunchAs& /*as*/,
                                                         const std::string& marker, const OutputFiles& files,
                                                         LaunchEvents events) {
  KPROF_ON_IO_LOOP(loop_);
  ASSIGN_OR_RETURN(const LaunchRequest marked, MarkedRequest(request, marker));
  Result<SocketPair> ends = MakeLaunchSockets(files);
  if (!ends.ok()) return Status(ErrorCode::kSpawnFailed, "start run " + marker, ends.status().why());
  auto supervisor = std::make_shared<RemoteSupervisor>(loop_, [this, marker](std::function<void(Status)> done) {
    SweepPatiently(loop_, link_, marker, std::move(done));
  });
  auto startup = std::make_shared<HelperStartup>(loop_, link_, marker, std::move(ends->theirs), supervisor,
                                                 HelperStartup::Events{events.shares_cgroup, events.held_up});
  TellToo(startup, events);
  const std::shared_ptr<const bool> may_live_on = WatchForSurvivors(events);
  RETURN_IF_ERROR(
      supervisor->Begin(std::move(ends->ours), SubjectOf(marked), marker, std::move(events), FirstFrames(marked)));
  startup->Begin();
  // The helper ends what a run left that is given up, and forgets a run that left nothing. It keeps the grant of any
  // other: without that no later start could have it swept.
  auto abandon = [&loop = loop_, &link = link_, supervisor, startup, marker, may_live_on] {
    const bool told_its_end = supervisor->over() && !startup->gave_up();
    startup->Settle();
    supervisor->Abandon();
    const bool all_ended = told_its_end ? !*may_live_on : !startup->may_have_started();
    if (all_ended) {
      link.Forget(marker);
    } else {
      SweepAndForget(loop, link, marker, [](const Status&) {});
    }
  };
  return std::unique_ptr<Launched>(
      std::make_unique<SupervisorHandle>(loop_, supervisor->channel(), std::move(abandon)));
}

void HelperLauncher::EndRemains(const LaunchAs& /*as*/, const std::string& marker, UniqueFd /*progress*/,
                                std::function<void(Status)> done) {
  KPROF_ON_IO_LOOP(loop_);
  SweepAndForget(loop_, link_, marker, std::move(done));
}

}  // namespace kprof
