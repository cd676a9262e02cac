// grpc.health.v1.Health for one caller: whether the daemon serves, all of it or one of its services, which is the same.
// Our own, so that whoever asks comes by the caller's admission as with any call: gRPC's own one knows no callers and
// no limits. A Watch counts among the caller's watches.
//
// Handlers run on gRPC's threads and never block. What it is given outlives it, it outlives its calls.
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

// Whether the daemon serves, and who wants to hear when it no longer does. Io loop only.
class ServingState {
 public:
  using WatchId = uint64_t;

  bool serving() const { return serving_; }

  // For good. Tells all who watch.
  void End() {
    serving_ = false;
    const auto watches = watches_;  // who is told may go
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
