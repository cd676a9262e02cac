// grpc.health.v1.Health for one caller: whether the daemon serves, all of it or one of its services, which is the same.
// Our own, so that whoever asks comes by the caller's admission as with any call: gRPC's own one knows no callers and
// no limits. A Watch counts among the caller's watches.
//
// Handlers run on gRPC's threads and never block. What it is given outlives it, it outlives its calls.
#pragma once

#include <memory>
#include <utility>

#include "daemon/access/call_admission.h"
#include "daemon/base/io_loop.h"
#include "daemon/rpc/services/serving_state.h"
#include "grpc/health/v1/health.grpc.pb.h"

namespace kprof {

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
