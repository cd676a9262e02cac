// kprof.v1.NodeService for one caller: the daemon itself, its devices, its health, the catalog's backup.
//
// Handlers run on gRPC's threads and never block. The context outlives it, it outlives its calls.
#pragma once

#include <memory>
#include <utility>

#include "daemon/access/call_admission.h"
#include "daemon/rpc/service_context.h"
#include "kprof/v1/node.grpc.pb.h"

namespace kprof {

class NodeServiceImpl final
    : public v1::NodeService::WithRawCallbackMethod_GetStatus<v1::NodeService::CallbackService> {
 public:
  NodeServiceImpl(const ServiceContext& context, std::shared_ptr<CallAdmission> admission)
      : context_(context), admission_(std::move(admission)) {}

  // Request and response are bytes: most answers come from answer_cache.h.
  grpc::ServerUnaryReactor* GetStatus(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                      grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* ListDevices(grpc::CallbackServerContext* context, const v1::ListDevicesRequest* request,
                                        v1::ListDevicesResponse* response) override;
  grpc::ServerWriteReactor<v1::WatchDevicesResponse>* WatchDevices(grpc::CallbackServerContext* context,
                                                                   const v1::WatchDevicesRequest* request) override;
  grpc::ServerUnaryReactor* RecordCeiling(grpc::CallbackServerContext* context, const v1::RecordCeilingRequest* request,
                                          v1::RecordCeilingResponse* response) override;
  grpc::ServerUnaryReactor* ForgetCeilings(grpc::CallbackServerContext* context,
                                           const v1::ForgetCeilingsRequest* request,
                                           v1::ForgetCeilingsResponse* response) override;
  grpc::ServerUnaryReactor* Diagnose(grpc::CallbackServerContext* context, const v1::DiagnoseRequest* request,
                                     v1::DiagnoseResponse* response) override;
  grpc::ServerWriteReactor<v1::BackUpCatalogResponse>* BackUpCatalog(grpc::CallbackServerContext* context,
                                                                     const v1::BackUpCatalogRequest* request) override;

  grpc::ServerUnaryReactor* ListAudit(grpc::CallbackServerContext* context, const v1::ListAuditRequest* request,
                                      v1::ListAuditResponse* response) override;

 private:
  // Io loop.
  void FillStatus(v1::GetStatusResponse& out) const;

  const Caller& caller() const { return admission_->caller(); }

  const ServiceContext& context_;
  const std::shared_ptr<CallAdmission> admission_;  // shared with its calls
};

}  // namespace kprof
