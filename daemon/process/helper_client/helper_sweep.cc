#include "daemon/process/helper_client/helper_sweep.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "daemon/base/log.h"

namespace kprof {
namespace {

constexpr int64_t kTryingNs = 120 * kNanosPerSecond;
constexpr int64_t kFirstPauseNs = 500 * kNanosPerMilli;
constexpr int64_t kLongestSweepPauseNs = 10 * kNanosPerSecond;
constexpr int64_t kLongestSlowPauseNs = 600 * kNanosPerSecond;

Status OutcomeOf(const std::string& marker, const Result<HelperMessage>& answer) {
  const std::string what = "end what run " + marker + " left";
  if (!answer.ok()) return answer.status().In(what);
  const auto* swept = std::get_if<HelperSwept>(&*answer);
  if (swept == nullptr) return Fail(ErrorCode::kInternal, what, "kprofd-helper answered something else");
  if (swept->left == 0) return OkStatus();
  return Fail(ErrorCode::kTimedOut, what, std::to_string(swept->left) + " of its processes do not die",
              "look for processes that hang in the kernel (state D)");
}

// Kept by its timer, or by the question that is under way.
class PatientSweep : public std::enable_shared_from_this<PatientSweep> {
 public:
  enum class Then { kIsDone, kForgets };
  PatientSweep(IoLoop& loop, HelperLink& link, std::string marker, Then then, std::function<void(Status)> done)
      : loop_(loop),
        link_(link),
        marker_(std::move(marker)),
        then_(then),
        done_(std::move(done)),
        until_ns_(loop.clock().mono_ns() + kTryingNs) {}

  void Try() {
    link_.Ask(HelperSweep{marker_}, UniqueFd(),
              [self = shared_from_this()](const Result<HelperMessage>& answer, UniqueFd) {
                self->Hear(OutcomeOf(self->marker_, answer));
              });
  }

 private:
  void Hear(const Status& ended) {
    if (ended.ok()) {
      if (then_ == Then::kForgets) link_.Forget(marker_);
      return Tell(ended);
    }
    const bool late = loop_.clock().mono_ns() >= until_ns_;
    LogWarning(late ? "what a run left cannot be ended" : "what a run left is not ended yet",
               {{"run", marker_}, {"error", ended.ToString()}});
    if (late) Tell(ended);
    if (late && then_ == Then::kIsDone) return;
    again_ = loop_.After(pause_ns_, [self = shared_from_this()] { self->Try(); });
    pause_ns_ = std::min(2 * pause_ns_, late ? kLongestSlowPauseNs : kLongestSweepPauseNs);
  }

  void Tell(const Status& ended) {
    if (const auto done = std::exchange(done_, nullptr)) done(ended);
  }

  IoLoop& loop_;
  HelperLink& link_;
  const std::string marker_;
  const Then then_;
  std::function<void(Status)> done_;  // until it was told
  const int64_t until_ns_;
  int64_t pause_ns_ = kFirstPauseNs;
  IoLoop::Timer again_;
};

}  // namespace

void SweepPatiently(IoLoop& loop, HelperLink& link, const std::string& marker, std::function<void(Status)> done) {
  KPROF_ON_IO_LOOP(loop);
  std::make_shared<PatientSweep>(loop, link, marker, PatientSweep::Then::kIsDone, std::move(done))->Try();
}

void SweepAndForget(IoLoop& loop, HelperLink& link, const std::string& marker, std::function<void(Status)> done) {
  KPROF_ON_IO_LOOP(loop);
  std::make_shared<PatientSweep>(loop, link, marker, PatientSweep::Then::kForgets, std::move(done))->Try();
}

}  // namespace kprof
