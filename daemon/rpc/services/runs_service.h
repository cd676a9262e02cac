// kprof.v1.RunsService for one caller. Translates, authorises, hands on; the work is done in runs/.
//
// Handlers run on gRPC's threads and never block. The context outlives it, it outlives its calls.
#pragma once

#include <memory>
#include <utility>

#include "daemon/access/call_admission.h"
#include "daemon/rpc/service_context.h"
#include "kprof/v1/runs.grpc.pb.h"

namespace kprof {

class UnaryCall;

class RunsServiceImpl final : public v1::RunsService::WithRawCallbackMethod_ListRuns<v1::RunsService::CallbackService> {
 public:
  RunsServiceImpl(const ServiceContext& context, std::shared_ptr<CallAdmission> admission)
      : context_(context), admission_(std::move(admission)) {}

  grpc::ServerUnaryReactor* SubmitRun(grpc::CallbackServerContext* context, const v1::SubmitRunRequest* request,
                                      v1::SubmitRunResponse* response) override;
  grpc::ServerReadReactor<v1::UploadSourceRequest>* UploadSource(grpc::CallbackServerContext* context,
                                                                 v1::UploadSourceResponse* response) override;
  grpc::ServerUnaryReactor* SubmitImport(grpc::CallbackServerContext* context, const v1::SubmitImportRequest* request,
                                         v1::SubmitImportResponse* response) override;
  grpc::ServerUnaryReactor* GetRun(grpc::CallbackServerContext* context, const v1::GetRunRequest* request,
                                   v1::GetRunResponse* response) override;
  // Request and response are bytes: most answers come from answer_cache.h.
  grpc::ServerUnaryReactor* ListRuns(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* response) override;
  grpc::ServerWriteReactor<v1::WatchRunResponse>* WatchRun(grpc::CallbackServerContext* context,
                                                           const v1::WatchRunRequest* request) override;
  grpc::ServerUnaryReactor* WaitRun(grpc::CallbackServerContext* context, const v1::WaitRunRequest* request,
                                    v1::WaitRunResponse* response) override;
  grpc::ServerUnaryReactor* CancelRun(grpc::CallbackServerContext* context, const v1::CancelRunRequest* request,
                                      v1::CancelRunResponse* response) override;
  grpc::ServerUnaryReactor* DeleteRun(grpc::CallbackServerContext* context, const v1::DeleteRunRequest* request,
                                      v1::DeleteRunResponse* response) override;
  grpc::ServerUnaryReactor* PinRun(grpc::CallbackServerContext* context, const v1::PinRunRequest* request,
                                   v1::PinRunResponse* response) override;
  grpc::ServerUnaryReactor* UnpinRun(grpc::CallbackServerContext* context, const v1::UnpinRunRequest* request,
                                     v1::UnpinRunResponse* response) override;
  grpc::ServerWriteReactor<v1::ReadLogResponse>* ReadLog(grpc::CallbackServerContext* context,
                                                         const v1::ReadLogRequest* request) override;
  grpc::ServerUnaryReactor* ListTools(grpc::CallbackServerContext* context, const v1::ListToolsRequest* request,
                                      v1::ListToolsResponse* response) override;
  grpc::ServerUnaryReactor* ListArtifacts(grpc::CallbackServerContext* context, const v1::ListArtifactsRequest* request,
                                          v1::ListArtifactsResponse* response) override;
  grpc::ServerWriteReactor<v1::DownloadArtifactResponse>* DownloadArtifact(
      grpc::CallbackServerContext* context, const v1::DownloadArtifactRequest* request) override;
  grpc::ServerReadReactor<v1::UploadArtifactRequest>* UploadArtifact(grpc::CallbackServerContext* context,
                                                                     v1::UploadArtifactResponse* response) override;
  grpc::ServerWriteReactor<v1::ExportRunResponse>* ExportRun(grpc::CallbackServerContext* context,
                                                             const v1::ExportRunRequest* request) override;

 private:
  // `out`: a part of the response.
  void SetPinned(const std::string& name, bool pinned, UnaryCall* call, v1::Run* out);

  const Caller& caller() const { return admission_->caller(); }

  const ServiceContext& context_;
  const std::shared_ptr<CallAdmission> admission_;  // shared with its calls
};

}  // namespace kprof
