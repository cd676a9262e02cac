// kprof.v1.QueriesService for one caller: user SQL in the sandbox, streamed as batches of columns. The sandbox
// (storage/sandbox) decides what a caller may see and what a query may cost; this service decides which query waits.
//
// Handlers run on gRPC's threads and never block. The context outlives it, it outlives its calls.
#pragma once

#include <memory>
#include <utility>

#include "daemon/access/call_admission.h"
#include "daemon/rpc/service_context.h"
#include "kprof/v1/queries.grpc.pb.h"

namespace kprof {

class QueriesServiceImpl final : public v1::QueriesService::CallbackService {
 public:
  QueriesServiceImpl(const ServiceContext& context, std::shared_ptr<CallAdmission> admission)
      : context_(context), admission_(std::move(admission)) {}

  grpc::ServerWriteReactor<v1::QueryResponse>* Query(grpc::CallbackServerContext* context,
                                                     const v1::QueryRequest* request) override;

 private:
  const ServiceContext& context_;
  const std::shared_ptr<CallAdmission> admission_;  // shared with its calls
};

}  // namespace kprof
