// One call from its arrival to its end, as the desk counts it. Whatever serves a call owns its record, and says with
// which code it ended; one that never says so was cancelled. What it took of its caller's account goes back with it.
//
// One thread at a time.
#pragma once

#include <grpcpp/support/status.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "daemon/access/call_admission.h"
#include "daemon/rpc/messages/status_message.h"

namespace kprof {

class CallRecord {
 public:
  CallRecord(std::shared_ptr<CallerDesk> desk, Rpc rpc)
      : desk_(std::move(desk)), rpc_(rpc), began_ns_(desk_->clock().mono_ns()), admission_(desk_->Enter(rpc)) {}
  CallRecord(CallRecord&& other) noexcept = default;
  CallRecord& operator=(CallRecord&& other) = delete;
  ~CallRecord() {
    if (!desk_) return;
    GiveAnswerBack();
    if (watches_) account().GiveWatchBack();
    desk_->Leave(rpc_, code_, began_ns_);
  }

  // Not ok: the call is to be ended with it, at once.
  const Status& admission() const { return admission_; }
  const Caller& caller() const { return desk_->caller(); }
  Rpc rpc() const { return rpc_; }

  // The call is one that goes on until something happens. Once; from then on `admission` may be kQueueFull, too.
  void BecomeWatch() {
    if (!admission_.ok()) return;
    admission_ = desk_->TakeWatch(rpc_);
    watches_ = admission_.ok();
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

  // What to end the call with; remembered. Before Finish: what comes after it may find the record gone.
  grpc::Status Ending(const grpc::Status& status) {
    code_ = static_cast<CanonicalCode>(status.error_code());
    return status;
  }
  grpc::Status Ending(const Status& status) { return Ending(ToGrpc(status)); }

 private:
  CallerAccount& account() { return *desk_->account(); }

  std::shared_ptr<CallerDesk> desk_;  // shared with the server; none: moved from
  const Rpc rpc_;
  const int64_t began_ns_;
  Status admission_;
  bool watches_ = false;
  int64_t answer_bytes_ = 0;
  CanonicalCode code_ = CanonicalCode::kCancelled;
};

}  // namespace kprof
