#include "daemon/clocks/pause/profiler_pause.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <variant>

#include "daemon/base/log.h"

namespace kprof {
namespace {

// The next run often comes at once, and a keeper takes its time to begin.
constexpr int64_t kResumeRestAfterNs = 30 * kNanosPerSecond;
constexpr int64_t kFirstResumePauseNs = kNanosPerSecond;
constexpr int64_t kLongestResumePauseNs = 30 * kNanosPerSecond;
// What a keeper waits beyond the last limit, for us to ask it first.
constexpr int64_t kKeeperGraceNs = 2 * kNanosPerSecond;
// From Hopper on DCGM reads through NVML, beside any profiler.
constexpr int kFirstWithoutCounters = 9;

int64_t ResumePauseAfter(int failures) {
  return std::min(kFirstResumePauseNs << std::min(failures, 10), kLongestResumePauseNs);
}

Status SomethingElse(const std::string& act) {
  return Fail(ErrorCode::kInternal, act, "the keeper says something else");
}

bool IsReadWithoutCounters(const DeviceFacts& device) {
  if (!device.nvidia) return device.kind != DeviceKind::kNvidia;
  const std::string& capability = device.nvidia->compute_capability;
  int major = 0;
  std::from_chars(capability.data(), capability.data() + capability.size(), major);
  return major >= kFirstWithoutCounters;
}

}  // namespace

ProfilerPause::ProfilerPause(IoLoop& loop, Settings settings) : loop_(loop), settings_(std::move(settings)) {}

ProfilerPause::~ProfilerPause() {
  if (!keeper_) return;
  keeper_->Forget();
  keeper_->Close();
}

void ProfilerPause::Begin(bool is_noted) {
  may_hold_ |= is_noted;
  Kick();
}

void ProfilerPause::Pause(const std::string& holder, int64_t limit_ns, Paused paused) {
  KPROF_ON_IO_LOOP(loop_);
  Holder& one = holders_[holder];
  one.until_mono_ns = loop_.clock().mono_ns() + limit_ns;
  one.waiting = std::move(paused);
  one.limit = loop_.After(limit_ns, [this, holder] { Expire(holder); });
  again_.Cancel();
  Kick();
}

void ProfilerPause::Resume(const std::string& holder, std::function<void()> resumed) {
  KPROF_ON_IO_LOOP(loop_);
  if (const auto found = holders_.find(holder); found != holders_.end()) {
    TellCancelled(found->second);
    holders_.erase(found);
  }
  if (resumed) resuming_.push_back(std::move(resumed));
  Kick();
}

// Who does not wait for the answer is told all the same.
void ProfilerPause::TellCancelled(Holder& holder) {
  if (!holder.waiting) return;
  loop_.Post([waiting = std::move(holder.waiting)] {
    waiting({false, false, Fail(ErrorCode::kCancelled, "pause DCGM's profiling", "it was not wanted any more")});
  });
}

void ProfilerPause::ReleaseAll(int64_t limit_ns, std::function<void()> resumed) {
  KPROF_ON_IO_LOOP(loop_);
  struct Waiting {
    std::function<void()> resumed;
    IoLoop::Timer limit;
  };
  auto waiting = std::make_shared<Waiting>();  // shared by the answer and the limit
  waiting->resumed = std::move(resumed);
  const auto tell = [waiting] {
    waiting->limit.Cancel();
    if (auto told = std::exchange(waiting->resumed, nullptr)) told();
  };
  for (auto& [name, holder] : holders_) TellCancelled(holder);
  holders_.clear();
  resuming_.emplace_back(tell);
  waiting->limit = loop_.After(limit_ns, tell);
  Kick();
}

void ProfilerPause::Expire(const std::string& holder) {
  const auto found = holders_.find(holder);
  if (found == holders_.end()) return;
  const Status why = Fail(ErrorCode::kTimedOut, "keep DCGM's profiling paused",
                          "it was paused as long as was asked for", "ask for longer");
  const auto gone = holders_.extract(found);
  Kick();
  if (const Paused& waiting = gone.mapped().waiting) {
    waiting({false, false, why});
  } else if (on_lost) {
    on_lost(gone.key(), why);
  }
}

void ProfilerPause::Kick() {
  // Later: nobody is called from inside.
  if (!kick_.pending()) kick_ = loop_.After(0, [this] { Advance(); });
}

bool ProfilerPause::SomebodyWaits() const {
  return std::any_of(holders_.begin(), holders_.end(),
                     [](const auto& holder) { return holder.second.waiting != nullptr; });
}

// What is to be done next, by what is wanted and what is.
void ProfilerPause::Advance() {
  if (asked_ != Asked::kNothing) return;
  if (!holders_.empty()) {
    TellResumed();  // others hold it still
    if (again_.pending() || (paused_ && !SomebodyWaits())) return;
    return Ask(Asked::kPause);
  }
  if (may_hold_) {
    // What is being tried again is not waited for; one who comes new has it tried at once.
    if (again_.pending() && resuming_.empty()) return;
    again_.Cancel();
    return Ask(Asked::kRelease);
  }
  TellResumed();
  RestLater();
}

void ProfilerPause::Ask(Asked what) {
  rest_.Cancel();
  if (!keeper_ && !reaped_) return WaitForTheOneBefore();
  asked_ = what;
  asked_for_.clear();
  if (what == Asked::kPause) {
    for (const auto& [name, holder] : holders_) asked_for_.push_back(name);
  }
  if (const Status started = keeper_ ? OkStatus() : StartKeeper(); !started.ok()) {
    return Finish(KeeperFailedOf(started));
  }
  KeeperMessage message = KeeperRelease();
  if (what == Asked::kPause) {
    may_hold_ = true;
    message = Request();
  }
  keeper_->Send(EncodeKeeperPacket({++tag_, std::move(message)}));
  keeper_->Expect(true);
}

KeeperPause ProfilerPause::Request() const {
  KeeperPause request;
  int64_t until_ns = 0;
  for (const auto& [name, holder] : holders_) {
    request.holder += (request.holder.empty() ? "" : ", ") + name;
    until_ns = std::max(until_ns, holder.until_mono_ns);
  }
  request.limit_ns = std::max<int64_t>(until_ns - loop_.clock().mono_ns(), 0) + kKeeperGraceNs;
  return request;
}

// OnOver's `reaped` goes on; one that hangs in the kernel may never be reaped.
void ProfilerPause::WaitForTheOneBefore() {
  if (stuck_.pending()) return;
  stuck_ = loop_.After(settings_.call_limit_ns, [this] {
    if (reaped_ || asked_ != Asked::kNothing) return;
    asked_ = holders_.empty() ? Asked::kRelease : Asked::kPause;
    asked_for_.clear();
    for (const auto& [name, holder] : holders_) asked_for_.push_back(name);
    Finish(KeeperFailedOf(Fail(ErrorCode::kTimedOut, "pause DCGM's profiling",
                               "the process that did so before hangs, and cannot be ended",
                               "see dmesg for what the driver says")));
  });
}

Status ProfilerPause::StartKeeper() {
  WorkerChannel::Program program;
  program.path = settings_.program;
  program.arguments = {settings_.library, settings_.tool_path, settings_.folder, settings_.boot_id};
  program.packet_limit_bytes = kKeeperPacketLimitBytes;
  program.call_limit_ns = settings_.call_limit_ns;
  program.own = settings_.own;
  WorkerChannel::Events events;
  events.packet = [this](const std::string& bytes) { OnPacket(bytes); };
  events.over = [this](const Status& why) { OnOver(why); };
  events.reaped = [this, alive = std::weak_ptr<bool>(alive_)] {
    if (alive.expired()) return;
    reaped_ = true;
    stuck_.Cancel();
    Kick();
  };
  ASSIGN_OR_RETURN(keeper_, WorkerChannel::Start(loop_, program, std::move(events)));
  reaped_ = false;
  return OkStatus();
}

void ProfilerPause::OnPacket(const std::string& bytes) {
  Result<KeeperPacket> packet = DecodeKeeperPacket(bytes);
  if (!packet.ok()) {
    keeper_->Kill();
    return OnOver(packet.status());
  }
  if (asked_ == Asked::kNothing || packet->tag != tag_) return;
  keeper_->Expect(false);
  Finish(packet->message);
}

// It is gone, or of no use: what it paused is noted on the disk, and the next one sees to that.
void ProfilerPause::OnOver(const Status& how) {
  const Status why(how.code(), "pause DCGM's profiling", how.why(),
                   "see whether DCGM's host engine hangs (dcgmi discovery -l), and its log");
  keeper_.reset();
  const bool was_paused = paused_.has_value();
  paused_.reset();
  if (asked_ != Asked::kNothing) return Finish(KeeperFailedOf(why));
  if (!was_paused) return;
  std::vector<std::string> holders;
  for (const auto& [name, holder] : holders_) holders.push_back(name);
  // Another pauses it again. One that dies again and again is not started without end.
  again_ = loop_.After(failures_ == 0 ? 0 : ResumePauseAfter(failures_ - 1), [this] { Kick(); });
  ++failures_;
  TellLost(holders, why);
}

void ProfilerPause::Finish(const KeeperMessage& answer) {
  const Asked asked = std::exchange(asked_, Asked::kNothing);
  Kick();
  asked == Asked::kPause ? FinishPause(answer) : FinishRelease(answer);
}

// Those who came while it was asked are asked for next.
void ProfilerPause::FinishPause(const KeeperMessage& answer) {
  const auto* paused = std::get_if<KeeperPaused>(&answer);
  const auto* failed = std::get_if<KeeperFailed>(&answer);
  Status why;
  paused_.reset();
  if (paused != nullptr) {
    paused_ = *paused;
    trouble_ = OkStatus();
  } else {
    why = failed != nullptr ? StatusOf(*failed) : SomethingElse("pause DCGM's profiling");
  }
  std::vector<Paused> waiting;
  std::vector<std::string> lost;
  for (const std::string& name : std::exchange(asked_for_, {})) {
    const auto found = holders_.find(name);
    if (found == holders_.end()) continue;
    if (found->second.waiting) {
      waiting.push_back(std::exchange(found->second.waiting, nullptr));
    } else if (!paused_) {
      lost.push_back(name);
    }
    if (!paused_) holders_.erase(found);
  }
  Outcome outcome;
  outcome.paused = paused != nullptr;
  outcome.by_others = paused != nullptr && paused->by_others;
  if (why.code() != ErrorCode::kNotFound) outcome.why_not = why;
  for (const Paused& one : waiting) one(outcome);
  TellLost(lost, why);
}

void ProfilerPause::FinishRelease(const KeeperMessage& answer) {
  paused_.reset();
  if (std::holds_alternative<KeeperReleased>(answer)) {
    trouble_ = OkStatus();
    failures_ = 0;
    may_hold_ = false;
    return;  // Advance tells whoever waits, unless somebody wants it paused again
  }
  const auto* failed = std::get_if<KeeperFailed>(&answer);
  trouble_ = failed != nullptr ? StatusOf(*failed) : SomethingElse("resume DCGM's profiling");
  LogWarning("DCGM's profiling is not resumed yet", {{"error", trouble_.ToString()}});
  again_ = loop_.After(ResumePauseAfter(failures_++), [this] { Kick(); });
  TellResumed();
}

void ProfilerPause::TellResumed() {
  for (const std::function<void()>& resumed : std::exchange(resuming_, {})) resumed();
}

void ProfilerPause::TellLost(const std::vector<std::string>& holders, const Status& why) {
  for (const std::string& holder : holders) {
    if (on_lost) on_lost(holder, why);
  }
}

void ProfilerPause::RestLater() {
  if (!keeper_ || rest_.pending()) return;
  rest_ = loop_.After(kResumeRestAfterNs, [this] {
    if (!keeper_) return;
    keeper_->Close();  // it has nothing to give back, and ends
    keeper_.reset();
  });
}

std::optional<Condition> WhyNotPaused(const ProfilerPause::Outcome& outcome, const std::vector<DeviceFacts>& devices) {
  if (outcome.paused || outcome.why_not.ok()) return std::nullopt;
  const bool needs_none = outcome.why_not.code() == ErrorCode::kToolMissing &&
                          std::all_of(devices.begin(), devices.end(), IsReadWithoutCounters);
  if (needs_none) return std::nullopt;
  return Condition{kProfilersNotPaused, "DCGM may have had the hardware counters: " + outcome.why_not.ToString()};
}

}  // namespace kprof
