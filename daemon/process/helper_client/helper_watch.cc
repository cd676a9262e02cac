#include "daemon/process/helper_client/helper_watch.h"

#include <utility>
#include <variant>

#include "daemon/base/log.h"

namespace kprof {
namespace {

constexpr int64_t kWhileUpNs = 60 * kNanosPerSecond;
constexpr int64_t kWhileDownNs = 5 * kNanosPerSecond;

constexpr const char* kWatchWhat = "ask kprofd-helper for its state";
constexpr const char* kWatchRemedy = "see 'systemctl status kprofd-helper' and its journal";

Result<HelperState> StateOf(const Result<HelperMessage>& answer) {
  if (!answer.ok()) return answer.status();
  const auto* state = std::get_if<HelperState>(&*answer);
  if (state == nullptr) return Fail(ErrorCode::kInternal, kWatchWhat, "it answers otherwise");
  return *state;
}

}  // namespace

HelperWatch::HelperWatch(IoLoop& loop, HelperLink& link, Metrics& metrics)
    : loop_(loop),
      link_(link),
      up_(metrics.AddGauge("kprof_helper_up", "1 while kprofd-helper answers; without it no detached capture starts.")),
      grants_(metrics.AddGauge("kprof_helper_grants", "Detached runs that kprofd-helper knows, waiting or started.")) {}

void HelperWatch::Find(Heard heard) {
  KPROF_ON_IO_LOOP(loop_);
  waiting_.push_back(std::move(heard));
  Ask();
}

void HelperWatch::Doubt() {
  KPROF_ON_IO_LOOP(loop_);
  if (is_up_.value_or(false)) Ask();  // else it is asked again soon
}

void HelperWatch::Ask() {
  KPROF_ON_IO_LOOP(loop_);
  if (limit_.pending()) return;
  const uint64_t number = ++asked_;
  limit_ = loop_.After(kLimitNs, [this] {
    Hear(Fail(ErrorCode::kTimedOut, kWatchWhat, "it has not answered within 2 s", kWatchRemedy));
  });
  link_.Ask(HelperGetState{}, UniqueFd(), [this, number](const Result<HelperMessage>& answer, UniqueFd) {
    Result<HelperState> state = StateOf(answer);
    // A late answer is one. A late failure was told at its time.
    if (state.ok() || (number == asked_ && limit_.pending())) Hear(std::move(state));
  });
}

void HelperWatch::Hear(Result<HelperState> state) {
  if (!state.ok() && is_up_.value_or(true)) {
    LogWarning("kprofd-helper does not answer: detached captures wait for it, 5 minutes each, and then fail",
               {{"error", state.status().ToString()}});
  } else if (state.ok() && !is_up_.value_or(true)) {
    LogInfo("kprofd-helper answers again");
  }
  is_up_ = state.ok();
  up_.Set(state.ok() ? 1 : 0);
  if (state.ok()) grants_.Set(state->grants);
  limit_ = IoLoop::Timer();
  again_ = loop_.After(state.ok() ? kWhileUpNs : kWhileDownNs, [this] { Ask(); });
  for (const Heard& heard : std::exchange(waiting_, {})) heard(state);
}

}  // namespace kprof
