#include "daemon/process/helper_client/helper_launcher.h"

#include <fcntl.h>

#include <cerrno>
#include <utility>
#include <variant>

#include "daemon/process/helper_client/helper_grants.h"
#include "daemon/process/launchers/remote_supervisor.h"
#include "daemon/process/launchers/supervisor_channel.h"

namespace kprof {
namespace {

constexpr int64_t kHeldUpNs = 10 * kNanosPerSecond;
constexpr int64_t kAskPlaceAgainNs = kNanosPerSecond;
constexpr const char* kStartupRemedy = "see 'systemctl status kprofd-helper' and its journal; then run it again";

}  // namespace

HelperStartup::HelperStartup(IoLoop& loop, HelperLink& link, std::string marker, UniqueFd channel,
                             std::shared_ptr<RemoteSupervisor> supervisor, Events events)
    : loop_(loop),
      link_(link),
      marker_(std::move(marker)),
      channel_(std::move(channel)),
      supervisor_(std::move(supervisor)),
      events_(std::move(events)) {}

void HelperStartup::Begin() {
  held_up_ = loop_.After(kHeldUpNs, [this] {
    if (!events_.held_up) return;
    events_.held_up(Fail(ErrorCode::kNoDaemon, "start run " + marker_, "kprofd-helper has not answered within 10 s",
                         "it is waited for; see 'systemctl status kprofd-helper' and its journal"));
  });
  limit_ = loop_.After(kLimitNs, [self = weak_from_this()] {
    if (auto startup = self.lock()) {
      startup->GiveUp(
          Fail(ErrorCode::kSpawnFailed, "start", "kprofd-helper has not answered for 5 minutes", kStartupRemedy));
    }
  });
  Ask();
}

void HelperStartup::Ask() {
  UniqueFd channel(::fcntl(channel_.get(), F_DUPFD_CLOEXEC, 0));
  if (!channel.valid()) {
    return loop_.Post([self = shared_from_this(), why = FailErrno(errno, "start", "raise the limit of open files")] {
      if (!self->settled_) self->GiveUp(why);
    });
  }
  asked_ =
      link_.Ask(HelperStart{marker_}, std::move(channel),
                [self = shared_from_this()](const Result<HelperMessage>& answer, UniqueFd) { self->Hear(answer); });
}

void HelperStartup::Hear(const Result<HelperMessage>& answer) {
  asked_ = 0;
  if (supervisor_->over()) return;
  if (answer.ok()) {  // the supervisor may have been heard before
    may_have_started_ = true;
    if (const auto* started = std::get_if<HelperStarted>(&*answer)) TellPlace(started->own_unit);
    return Settle();
  }
  const Status& why = answer.status();
  if (why.code() == ErrorCode::kLostDaemon) lost_ = may_have_started_ = true;
  if (settled_) return FindPlace();
  if (why.code() == ErrorCode::kLostDaemon) return supervisor_->greeted() ? OnReady() : Ask();
  if (lost_ && why.code() == ErrorCode::kUsage) {
    supervisor_->BlameUnlessReady(Fail(ErrorCode::kSpawnFailed, "start run " + marker_,
                                       "kprofd-helper was restarted while it started it", "run it again"));
    return OnReady();
  }
  if (why.code() == ErrorCode::kTimedOut) may_have_started_ = true;  // it hung on its way to its program
  GiveUp(why);
}

void HelperStartup::OnReady() {
  Settle();
  if (lost_) FindPlace();
}

void HelperStartup::OnEnd() {
  if (asks_place_) TellPlace(false);
}

void HelperStartup::FindPlace() {
  if (!knows_place_ && !std::exchange(asks_place_, true)) AskPlace();
}

void HelperStartup::AskPlace() {
  link_.Ask(HelperGetState{}, UniqueFd(),
            [self = shared_from_this()](const Result<HelperMessage>& answer, UniqueFd) { self->HearPlace(answer); });
}

void HelperStartup::HearPlace(const Result<HelperMessage>& answer) {
  if (supervisor_->over() || knows_place_) return;
  if (const auto* state = answer.ok() ? std::get_if<HelperState>(&*answer) : nullptr)
    return TellPlace(state->own_units);
  ask_place_again_ = loop_.After(kAskPlaceAgainNs, [self = weak_from_this()] {
    if (auto startup = self.lock()) startup->AskPlace();
  });
}

void HelperStartup::TellPlace(bool own_unit) {
  if (std::exchange(knows_place_, true)) return;
  if (!own_unit && events_.shares_cgroup) events_.shares_cgroup();
}

void HelperStartup::Settle() {
  if (std::exchange(settled_, true)) return;
  held_up_.Cancel();
  limit_.Cancel();
  channel_.Reset();
  if (asked_ != 0 && !link_.Withdraw(asked_)) may_have_started_ = true;
  supervisor_->ExpectReady();
}

void HelperStartup::GiveUp(const Status& why) {
  Settle();
  gave_up_ = true;
  const ErrorCode code = why.code() == ErrorCode::kNotPermitted ? why.code() : ErrorCode::kSpawnFailed;
  supervisor_->GiveUp(Status(code, "start run " + marker_, why.why(), why.remedy()));
}

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
