// One call from its arrival to its end, as the desk counts it. Whatever serves a call owns its record, and says with
// which code it ended; one that never says so was cancelled.
#pragma once

#include <grpcpp/support/status.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "daemon/rpc/caller_desk.h"
#include "daemon/rpc/status_map.h"

namespace kprof {

class CallRecord {
 public:
  CallRecord(std::shared_ptr<CallerDesk> desk, Rpc rpc)
      : desk_(std::move(desk)), rpc_(rpc), began_ns_(desk_->clock().mono_ns()), admission_(desk_->Enter(rpc)) {}
  CallRecord(CallRecord&& other) noexcept = default;
  CallRecord& operator=(CallRecord&& other) = delete;
  ~CallRecord() {
    if (desk_) desk_->Leave(rpc_, code_, began_ns_);
  }

  // Not ok: the call is to be ended with it, at once.
  const Status& admission() const { return admission_; }
  const Caller& caller() const { return desk_->caller(); }
  Rpc rpc() const { return rpc_; }

  // What to end the call with; remembered. Before Finish: what comes after it may find the record gone.
  grpc::Status Ending(const grpc::Status& status) {
    code_ = static_cast<CanonicalCode>(status.error_code());
    return status;
  }
  grpc::Status Ending(const Status& status) { return Ending(ToGrpc(status)); }

 private:
  std::shared_ptr<CallerDesk> desk_;  // shared with the server; none: moved from
  const Rpc rpc_;
  const int64_t began_ns_;
  Status admission_;
  CanonicalCode code_ = CanonicalCode::kCancelled;
};

}  // namespace kprof
