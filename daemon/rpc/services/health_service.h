// grpc.health.v1.Health for one caller: whether the daemon serves. The answer is the same for each of its services. It
// takes the place of gRPC's own, which knows no callers and no limits: here each call passes the caller's admission, as
// any other. A Watch counts among the caller's watches.
//
// Handlers run on gRPC's threads and never block. The arguments outlive it, it outlives its calls.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "daemon/access/call_admission.h"
#include "daemon/base/io_loop.h"
#include "grpc/health/v1/health.grpc.pb.h"

namespace kprof {

// Knows whether the daemon serves, and tells those that watch when it ends. Io loop only.
class ServingState {
 public:
  using WatchId = uint64_t;

  bool serving() const { return serving_; }

  // Ends it for good. Tells all that watch.
  void End() {
    serving_ = false;
    const auto watches = watches_;  // each call may remove watches
    for (const auto& [id, ended] : watches) {
      if (watches_.count(id) != 0) ended();
    }
  }

  WatchId Watch(std::function<void()> ended) {
    watches_[++last_id_] = std::move(ended);
    return last_id_;
  }
  void Unwatch(WatchId id) { watches_.erase(id); }

 private:
  bool serving_ = true;
  WatchId last_id_ = 0;
  std::map<WatchId, std::function<void()>> watches_;
};

class HealthServiceImpl final : public grpc::health::v1::Health::CallbackService {
 public:
  HealthServiceImpl(IoLoop& loop, ServingState& state, std::shared_ptr<CallAdmission> admission)
      : loop_(loop), state_(state), admission_(std::move(admission)) {}

  grpc::ServerUnaryReactor* Check(grpc::CallbackServerContext* context,
                                  const grpc::health::v1::HealthCheckRequest* request,
                                  grpc::health::v1::HealthCheckResponse* response) override;
  grpc::ServerWriteReactor<grpc::health::v1::HealthCheckResponse>* Watch(
      grpc::CallbackServerContext* context, const grpc::health::v1::HealthCheckRequest* request) override;

 private:
  IoLoop& loop_;
  ServingState& state_;
  const std::shared_ptr<CallAdmission> admission_;  // shared with its calls
};

}  // namespace kprof
