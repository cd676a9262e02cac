#include "daemon/access/call_admission.h"

#include <algorithm>
#include <utility>

namespace kprof {
namespace {

constexpr double kBurst = 2;  // seconds' worth of calls

}  // namespace

CallerAccount::CallerAccount(const Clock& clock, std::string name, const CallLimits& limits, CallTotals& totals)
    : clock_(clock),
      name_(std::move(name)),
      totals_(totals),
      limits_(limits),
      left_(kBurst * static_cast<double>(limits.per_second)),
      left_at_ns_(clock.mono_ns()) {}

Status CallerAccount::Begin() {
  MutexLock lock(mu_);
  ++in_flight_;
  RETURN_IF_ERROR(TakeFromRate());
  if (in_flight_ > limits_.in_flight) {
    return Fail(ErrorCode::kQueueFull, "call kprofd",
                name_ + " has " + std::to_string(limits_.in_flight) + " calls under way already",
                "wait for some of them to end");
  }
  return OkStatus();
}

void CallerAccount::End() {
  MutexLock lock(mu_);
  --in_flight_;
}

Status CallerAccount::TakeFromRate() {
  const auto per_second = static_cast<double>(limits_.per_second);
  const int64_t now_ns = clock_.mono_ns();
  const double passed_s = static_cast<double>(now_ns - left_at_ns_) / 1e9;
  left_at_ns_ = now_ns;
  left_ = std::min(left_ + passed_s * per_second, kBurst * per_second);
  if (left_ < 1) {
    return Fail(ErrorCode::kQueueFull, "call kprofd",
                name_ + " made more than " + std::to_string(limits_.per_second) + " calls a second",
                "ask less often, or wait for a run with kprofctl wait");
  }
  left_ -= 1;
  return OkStatus();
}

Status CallerAccount::TakeWatch() {
  auto refuse = [](const std::string& who) {
    return Fail(ErrorCode::kQueueFull, "watch", who + " at a time, and as many are under way",
                "end some of them; what goes on is also told by kprofctl runs");
  };
  MutexLock lock(mu_);
  if (watches_ >= limits_.watches) {
    return refuse(name_ + " may watch or wait for " + std::to_string(limits_.watches) + " runs and sessions");
  }
  if (!totals_.watches.Take(1)) {
    return refuse("all users together may watch or wait for " + std::to_string(totals_.watches.limit()) +
                  " runs and sessions");
  }
  ++watches_;
  return OkStatus();
}

void CallerAccount::GiveWatchBack() {
  totals_.watches.GiveBack(1);
  MutexLock lock(mu_);
  --watches_;
}

Status CallerAccount::TakeAnswer(int64_t bytes) {
  auto refuse = [](const std::string& whose, int64_t taken, int64_t limit) {
    return Fail(ErrorCode::kQueueFull, "answer",
                std::to_string(taken) + " bytes of answers to " + whose +
                    " are not read yet, and there may be no more than " + std::to_string(limit),
                "let your clients read what they have asked for, then ask again");
  };
  MutexLock lock(mu_);
  if (answer_bytes_ + bytes > limits_.answer_bytes) return refuse(name_, answer_bytes_, limits_.answer_bytes);
  if (!totals_.answer_bytes.Take(bytes)) {
    return refuse("all users", totals_.answer_bytes.taken(), totals_.answer_bytes.limit());
  }
  answer_bytes_ += bytes;
  return OkStatus();
}

void CallerAccount::GiveAnswerBack(int64_t bytes) {
  totals_.answer_bytes.GiveBack(bytes);
  MutexLock lock(mu_);
  answer_bytes_ -= bytes;
}

int64_t CallerAccount::answer_bytes() const {
  MutexLock lock(mu_);
  return answer_bytes_;
}

void CallerAccount::SetLimits(const CallLimits& limits) {
  MutexLock lock(mu_);
  limits_ = limits;
}

CallAdmission::CallAdmission(const Clock& clock, Caller caller, std::shared_ptr<CallerAccount> account, Status refusal,
                             CallObserver* observer)
    : clock_(clock),
      caller_(std::move(caller)),
      account_(std::move(account)),
      refusal_(std::move(refusal)),
      observer_(observer) {}

Status CallAdmission::Enter(Rpc rpc) {
  if (observer_ != nullptr) observer_->CallBegan(rpc);
  in_flight_.fetch_add(1);
  const Status begun = account_->Begin();
  RETURN_IF_ERROR(refusal_);
  if (closed_.load()) {
    return Fail(ErrorCode::kNoDaemon, "reach kprofd", "it is stopping, or looks anew at who you are",
                "connect again; nothing was done");
  }
  if (!begun.ok()) return Refuse(rpc, begun);
  Status authorized = AuthorizeCall(caller_, rpc);
  return authorized.ok() ? authorized : Refuse(rpc, std::move(authorized));
}

Status CallAdmission::TakeWatch(Rpc rpc) {
  Status taken = account_->TakeWatch();
  return taken.ok() ? taken : Refuse(rpc, std::move(taken));
}

Status CallAdmission::Refuse(Rpc rpc, Status refused) const {
  if (observer_ != nullptr) observer_->CallRefused(caller_, rpc, refused);
  return refused;
}

void CallAdmission::Leave(Rpc rpc, CanonicalCode code, int64_t entered_mono_ns) {
  account_->End();
  in_flight_.fetch_sub(1);
  if (observer_ != nullptr) observer_->CallEnded(rpc, code, clock_.mono_ns() - entered_mono_ns);
}

void CallAdmission::Close() {
  closed_.store(true);
}

int64_t CallAdmission::calls_in_flight() const {
  return in_flight_.load();
}

}  // namespace kprof
