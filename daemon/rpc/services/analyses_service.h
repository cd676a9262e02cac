// kprof.v1.AnalysisService for one caller: the kinds of daemon/analysis/kinds, asked about runs that the caller may
// see, streamed as tables. It knows no kind by name: each kind says what it tells and takes.
//
// Handlers run on gRPC's threads and never block. The context outlives it, it outlives its calls.
#pragma once

#include <memory>
#include <utility>

#include "daemon/access/call_admission.h"
#include "daemon/rpc/service_context.h"
#include "kprof/v1/analyses.grpc.pb.h"

namespace kprof {

class AnalysisServiceImpl final : public v1::AnalysisService::CallbackService {
 public:
  AnalysisServiceImpl(const ServiceContext& context, std::shared_ptr<CallAdmission> admission)
      : context_(context), admission_(std::move(admission)) {}

  grpc::ServerUnaryReactor* ListAnalyses(grpc::CallbackServerContext* context, const v1::ListAnalysesRequest* request,
                                         v1::ListAnalysesResponse* response) override;
  grpc::ServerWriteReactor<v1::AnalyzeResponse>* Analyze(grpc::CallbackServerContext* context,
                                                         const v1::AnalyzeRequest* request) override;
  grpc::ServerWriteReactor<v1::GetReportResponse>* GetReport(grpc::CallbackServerContext* context,
                                                             const v1::GetReportRequest* request) override;

 private:
  const ServiceContext& context_;
  const std::shared_ptr<CallAdmission> admission_;  // shared with its calls
};

}  // namespace kprof
