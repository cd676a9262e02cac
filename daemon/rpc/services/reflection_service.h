// grpc.reflection.v1alpha.ServerReflection for one caller: the services that are served, and the descriptors of all
// that they are made of. It takes the place of gRPC's own, a synchronous service that has threads in each server: here
// each call passes the caller's admission, as any other, and costs no thread. A stream counts among the caller's
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
