// Records one call from its arrival to its end, as the admission counts it. The object that serves the call owns its
// record, and tells it the code that the call ends with; without one the call was cancelled. The record gives back what
// it took of the caller's account.
//
// One thread at a time.
#pragma once

#include <grpcpp/support/status.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "daemon/access/call_admission.h"
#include "daemon/rpc/messages/status_message.h"

namespace kprof {

// Shows a thread sanitizer the order that gRPC's reactions promise: work done before a call was given to gRPC
// (StartRead, StartWrite, Finish) happened before the reaction to it (OnReadDone, OnWriteDone, OnDone), on whatever
// thread that comes. gRPC keeps the promise with locks inside its library, where a thread sanitizer does not look; it
// sees this atomic.
//
// Any thread.
class TsanHandoff {
 public:
  // Right before the call goes to gRPC.
  void Give() { given_.fetch_add(1, std::memory_order_release); }
  // First thing in the reaction.
  void Take() const { (void)given_.load(std::memory_order_acquire); }

 private:
  std::atomic<uint32_t> given_{0};
};

class CallRecord {
 public:
  CallRecord(std::shared_ptr<CallAdmission> admission, Rpc rpc)
      : admission_(std::move(admission)),
        rpc_(rpc),
        began_ns_(admission_->clock().mono_ns()),
        admitted_(admission_->Enter(rpc)) {}
  CallRecord(CallRecord&& other) noexcept = default;
  CallRecord& operator=(CallRecord&& other) = delete;
  ~CallRecord() {
    if (!admission_) return;
    GiveAnswerBack();
    if (watches_) account().GiveWatchBack();
    admission_->Leave(rpc_, code_, began_ns_);
  }

  // If it is not ok: end the call with it, at once.
  const Status& admitted() const { return admitted_; }
  const Caller& caller() const { return admission_->caller(); }
  Rpc rpc() const { return rpc_; }

  // Call it once, for a call that goes on until something happens; from then on `admitted` may be kQueueFull, too.
  void BecomeWatch() {
    if (!admitted_.ok()) return;
    admitted_ = admission_->TakeWatch(rpc_);
    watches_ = admitted_.ok();
  }

  // Counts the bytes of an answer that is about to be sent, until the record goes or they are given back. kQueueFull
  // when the caller's clients leave too many unread.
  Status TakeAnswer(size_t bytes) {
    RETURN_IF_ERROR(account().TakeAnswer(static_cast<int64_t>(bytes)));
    answer_bytes_ += static_cast<int64_t>(bytes);
    return OkStatus();
  }
  void GiveAnswerBack() {
    if (answer_bytes_ != 0) account().GiveAnswerBack(std::exchange(answer_bytes_, 0));
  }

  // Remembers the status, and returns it for Finish. Call it before Finish: afterwards the record may be gone.
  grpc::Status Ending(const grpc::Status& status) {
    code_ = static_cast<CanonicalCode>(status.error_code());
    return status;
  }
  grpc::Status Ending(const Status& status) { return Ending(ToGrpc(status)); }

 private:
  CallerAccount& account() { return *admission_->account(); }

  std::shared_ptr<CallAdmission> admission_;  // shared with the server; none: moved from
  const Rpc rpc_;
  const int64_t began_ns_;
  Status admitted_;
  bool watches_ = false;
  int64_t answer_bytes_ = 0;
  CanonicalCode code_ = CanonicalCode::kCancelled;
};

}  // namespace kprof
