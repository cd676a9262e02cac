#include "daemon/clocks/locks/clock_link.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "daemon/base/log.h"

namespace kprof {
namespace {

// The next run often comes at once, and a keeper takes its time to begin.
constexpr int64_t kReconnectRestAfterNs = 30 * kNanosPerSecond;
constexpr int64_t kFirstReconnectPauseNs = kNanosPerSecond;
constexpr int64_t kLongestReconnectPauseNs = 30 * kNanosPerSecond;

constexpr const char* kDriverHangs = "see dmesg for what the driver says; a driver that hangs wants a reboot";
constexpr const char* kUnitHangs =
    "see dmesg for what the driver says, and 'systemctl status kprof-clocks-*' for the process; a driver that hangs "
    "wants a reboot";

int64_t ReconnectPauseAfter(int failures) {
  return std::min(kFirstReconnectPauseNs << std::min(failures, 10), kLongestReconnectPauseNs);
}

}  // namespace

ClockLink::ClockLink(IoLoop& loop, Settings settings, std::string uuid, Events events)
    : loop_(loop), settings_(std::move(settings)), uuid_(std::move(uuid)), events_(std::move(events)) {}

ClockLink::~ClockLink() {
  if (!keeper_) return;
  keeper_->Forget();
  keeper_->Close();
}

void ClockLink::Lock(KeeperLock request, Locked locked) {
  KPROF_ON_IO_LOOP(loop_);
  again_.Cancel();
  Add({std::move(request), std::move(locked), {}});
}

void ClockLink::Release(Released released) {
  KPROF_ON_IO_LOOP(loop_);
  wanted_.reset();
  Add({std::nullopt, {}, std::move(released)});
}

void ClockLink::GiveBackLeft() {
  may_hold_ = true;
  // A keeper sees to what was left before all else; one that cannot be had is asked again for this.
  if (!held_ && !wanted_ && wishes_.empty()) Release(nullptr);
}

void ClockLink::Add(Wish wish) {
  wishes_.push_back(std::move(wish));
  // Later: nobody is called from inside.
  if (!kick_.pending()) kick_ = loop_.After(0, [this] { SendNext(); });
}

void ClockLink::SendNext() {
  if (asked_ || wishes_.empty()) return;
  rest_.Cancel();
  if (!keeper_ && !may_hold_ && !wishes_.front().lock) {
    asked_ = true;
    return Finish(KeeperReleased());
  }
  if (!keeper_ && !reaped_) return WaitForTheOneBefore();
  if (const Status started = keeper_ ? OkStatus() : StartKeeper(); !started.ok()) {
    asked_ = true;
    return Finish(KeeperFailedOf(started));
  }
  asked_ = true;
  const Wish& wish = wishes_.front();
  KeeperMessage message = KeeperRelease();
  if (wish.lock) message = *wish.lock;
  keeper_->Send(EncodeKeeperPacket({++tag_, std::move(message)}));
  keeper_->Expect(true);
}

// OnReaped goes on; one that hangs in the kernel may never be reaped.
void ClockLink::WaitForTheOneBefore() {
  if (stuck_.pending()) return;
  stuck_ = loop_.After(settings_.call_limit_ns, [this] {
    if (wishes_.empty()) return;
    asked_ = true;
    Finish(KeeperFailedOf(Fail(ErrorCode::kTimedOut, "set the clocks",
                               "the process that set them before hangs in the driver, and cannot be ended",
                               settings_.helper == nullptr ? kDriverHangs : kUnitHangs)));
  });
}

Status ClockLink::StartKeeper() {
  WorkerChannel::Program program;
  program.path = settings_.program;
  program.arguments = {settings_.library, settings_.folder, uuid_, settings_.boot_id};
  program.packet_limit_bytes = kKeeperPacketLimitBytes;
  program.call_limit_ns = settings_.call_limit_ns;
  program.own = settings_.own;
  program.helper = settings_.helper;
  program.request = HelperHoldClocks{uuid_};
  WorkerChannel::Events events;
  events.packet = [this](const std::string& bytes) { OnPacket(bytes); };
  events.over = [this](const Status& why) { OnOver(why); };
  events.reaped = [this, alive = std::weak_ptr<bool>(alive_)] {
    if (!alive.expired()) OnReaped();
  };
  ASSIGN_OR_RETURN(keeper_, WorkerChannel::Start(loop_, program, std::move(events)));
  reaped_ = false;
  return OkStatus();
}

void ClockLink::OnPacket(const std::string& bytes) {
  Result<KeeperPacket> packet = DecodeKeeperPacket(bytes);
  if (!packet.ok()) {
    keeper_->Kill();
    return OnOver(packet.status());
  }
  if (!asked_ || packet->tag != tag_) return;
  keeper_->Expect(false);
  may_hold_ |= IsLockUnderWay();
  Finish(packet->message);
}

// It is gone, or of no use: what it held is noted on the disk, and the next one sees to that.
void ClockLink::OnOver(const Status& why) {
  may_hold_ |= IsLockUnderWay() && keeper_->may_have_begun();
  keeper_.reset();
  const bool held = held_.has_value();
  held_.reset();
  if (asked_) return Finish(KeeperFailedOf(why));
  if (held) LockAgain(why);
}

void ClockLink::OnReaped() {
  reaped_ = true;
  stuck_.Cancel();
  SendNext();
}

void ClockLink::Finish(const KeeperMessage& answer) {
  asked_ = false;
  Wish wish = std::move(wishes_.front());
  wishes_.pop_front();
  wish.lock ? FinishLock(std::move(wish), answer) : FinishRelease(wish, answer);
  SendNext();
  if (wishes_.empty() && !held_) RestLater();
}

void ClockLink::FinishLock(Wish wish, const KeeperMessage& answer) {
  if (const auto* locked = std::get_if<KeeperLocked>(&answer)) {
    held_ = *locked;
    wanted_ = std::move(wish.lock);
    trouble_ = OkStatus();
    if (wish.locked) wish.locked(*locked);
    return;
  }
  held_.reset();
  wanted_.reset();
  const auto* failed = std::get_if<KeeperFailed>(&answer);
  const Status why =
      failed ? StatusOf(*failed) : Fail(ErrorCode::kInternal, "lock the clocks", "the keeper says something else");
  if (keeper_) {
    Add({std::nullopt, {}, {}});  // it has given back what it could not keep, and is asked whether that worked
  } else if (may_hold_) {
    ReleaseLater(why);  // it may have been killed in the middle
  }
  if (wish.locked) wish.locked(why);
}

void ClockLink::FinishRelease(const Wish& wish, const KeeperMessage& answer) {
  held_.reset();
  if (const auto* released = std::get_if<KeeperReleased>(&answer)) {
    for (const std::string& note : released->notes) LogWarning("clocks given back", {{"note", note}});
    trouble_ = OkStatus();
    failures_ = 0;
    may_hold_ = false;
    if (wish.released) wish.released(OkStatus());
    return;
  }
  const auto* failed = std::get_if<KeeperFailed>(&answer);
  const Status why =
      failed ? StatusOf(*failed) : Fail(ErrorCode::kInternal, "release the clocks", "the keeper says something else");
  ReleaseLater(why);
  if (wish.released) wish.released(why);
}

// One that dies again and again is not started without end.
void ClockLink::LockAgain(const Status& why) {
  if (!wanted_) return;
  if (events_.lost) events_.lost(why);
  const int64_t pause_ns = failures_ == 0 ? 0 : ReconnectPauseAfter(failures_ - 1);
  ++failures_;
  again_ = loop_.After(pause_ns, [this] {
    if (!wanted_) return;
    Lock(*wanted_, [this](const Result<KeeperLocked>& locked) {
      if (!locked.ok() && events_.given_up) events_.given_up(locked.status());
    });
  });
}

void ClockLink::ReleaseLater(const Status& why) {
  trouble_ = why;
  if (!wishes_.empty()) return;  // whatever that is, it begins with giving back what is left
  const int64_t pause_ns = ReconnectPauseAfter(failures_++);
  again_ = loop_.After(pause_ns, [this] {
    Release([this](const Status& released) {
      if (!released.ok())
        LogWarning("clocks are not given back yet", {{"device", uuid_}, {"error", released.ToString()}});
    });
  });
}

void ClockLink::RestLater() {
  if (!trouble_.ok() || !keeper_) return;
  rest_ = loop_.After(kReconnectRestAfterNs, [this] {
    if (!keeper_) return;
    keeper_->Close();  // it has nothing to give back, and ends
    keeper_.reset();
  });
}

}  // namespace kprof
