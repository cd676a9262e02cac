#include "daemon/process/helper_watch.h"

#include <utility>
#include <variant>

#include "daemon/base/log.h"

namespace kprof {
namespace {

constexpr int64_t kWhileUpNs = 60 * kNanosPerSecond;
constexpr int64_t kWhileDownNs = 5 * kNanosPerSecond;  // and the question itself waits for a helper that comes

Result<HelperState> StateOf(const Result<HelperMessage>& answer) {
  if (!answer.ok()) return answer.status();
  const auto* state = std::get_if<HelperState>(&*answer);
  if (state == nullptr) return Fail(ErrorCode::kInternal, "ask kprofd-helper for its state", "it answers otherwise");
  return *state;
}

}  // namespace

HelperWatch::HelperWatch(IoLoop& loop, HelperLink& link, Metrics& metrics)
    : loop_(loop),
      link_(link),
      up_(metrics.AddGauge("kprof_helper_up", "1 while kprofd-helper answers; without it no detached capture starts.")),
      grants_(metrics.AddGauge("kprof_helper_grants", "Detached runs that kprofd-helper knows, waiting or started.")) {}

void HelperWatch::Ask() {
  KPROF_ON_IO_LOOP(loop_);
  link_.Ask(HelperGetState{}, UniqueFd(),
            [this](const Result<HelperMessage>& answer, UniqueFd) { Hear(StateOf(answer)); });
}

void HelperWatch::Hear(Result<HelperState> state) {
  const bool was_up = last_ && last_->ok();
  if (!state.ok() && (!last_ || was_up)) {
    LogWarning("kprofd-helper does not answer: detached captures fail", {{"error", state.status().ToString()}});
  } else if (state.ok() && last_ && !was_up) {
    LogInfo("kprofd-helper answers again");
  }
  up_.Set(state.ok() ? 1 : 0);
  if (state.ok()) grants_.Set(state->grants);
  again_ = loop_.After(state.ok() ? kWhileUpNs : kWhileDownNs, [this] { Ask(); });
  last_ = std::move(state);
}

}  // namespace kprof
