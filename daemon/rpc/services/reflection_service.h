// grpc.reflection.v1alpha.ServerReflection for one caller: the services that are served, and the descriptors of all
// that they are made of. Our own, so that whoever asks comes by the caller's admission as with any call, and costs no
// thread: gRPC's own one is a synchronous service, which has threads in each server. A stream counts among the caller's
// watches, each of its questions as a call.
//
// Handlers run on gRPC's threads and never block.
#pragma once

#include <memory>
#include <utility>

#include "daemon/access/call_admission.h"
#include "grpc/reflection/v1alpha/reflection.grpc.pb.h"

namespace kprof {

class ReflectionServiceImpl final : public grpc::reflection::v1alpha::ServerReflection::CallbackService {
 public:
  explicit ReflectionServiceImpl(std::shared_ptr<CallAdmission> admission) : admission_(std::move(admission)) {}

  grpc::ServerBidiReactor<grpc::reflection::v1alpha::ServerReflectionRequest,
                          grpc::reflection::v1alpha::ServerReflectionResponse>*
  ServerReflectionInfo(grpc::CallbackServerContext* context) override;

 private:
  const std::shared_ptr<CallAdmission> admission_;  // shared with its calls
};

}  // namespace kprof
