#include "daemon/access/call_admission.h"

#include <utility>

namespace kprof {

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
