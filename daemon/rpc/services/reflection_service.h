// grpc.reflection.v1 and v1alpha for one caller: the services that are served, and the descriptors of all that they are
// made of. The two protocols are the same under two names; newer tools ask the first alone. It takes the place of
// gRPC's own, a synchronous service that has threads in each server: here each call passes the caller's admission, as
// any other, and costs no thread. A stream counts among the caller's watches, each of its questions as a call.
//
// Handlers run on gRPC's threads and never block.
#pragma once

#include <memory>
#include <utility>

#include "daemon/access/call_admission.h"
#include "daemon/access/permissions.h"
#include "grpc/reflection/v1/reflection.grpc.pb.h"
#include "grpc/reflection/v1alpha/reflection.grpc.pb.h"

namespace kprof {

struct ReflectionV1 {
  using Service = grpc::reflection::v1::ServerReflection::CallbackService;
  using Request = grpc::reflection::v1::ServerReflectionRequest;
  using Response = grpc::reflection::v1::ServerReflectionResponse;
  using Files = grpc::reflection::v1::FileDescriptorResponse;
  static constexpr Rpc kRpc = Rpc::kReflect;
};

struct ReflectionV1Alpha {
  using Service = grpc::reflection::v1alpha::ServerReflection::CallbackService;
  using Request = grpc::reflection::v1alpha::ServerReflectionRequest;
  using Response = grpc::reflection::v1alpha::ServerReflectionResponse;
  using Files = grpc::reflection::v1alpha::FileDescriptorResponse;
  static constexpr Rpc kRpc = Rpc::kReflectAlpha;
};

template <typename Version>
class ReflectionServiceImpl final : public Version::Service {
 public:
  explicit ReflectionServiceImpl(std::shared_ptr<CallAdmission> admission) : admission_(std::move(admission)) {}

  grpc::ServerBidiReactor<typename Version::Request, typename Version::Response>* ServerReflectionInfo(
      grpc::CallbackServerContext* context) override;

 private:
  const std::shared_ptr<CallAdmission> admission_;  // shared with its calls
};

}  // namespace kprof
