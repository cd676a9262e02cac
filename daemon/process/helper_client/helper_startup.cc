#include "daemon/process/helper_client/helper_startup.h"

#include <fcntl.h>

#include <cerrno>
#include <utility>
#include <variant>

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

}  // namespace kprof
