// kprof.v1.NodeService for one caller: the daemon itself, its devices, its health, the catalog's backup. Only an
// operator gets the latter; the rest is for everybody.
//
// Handlers run on gRPC's threads and never block. `parts` outlives it, it outlives its calls.
#pragma once

#include "daemon/rpc/caller.h"
#include "daemon/rpc/rpc_parts.h"
#include "kprof/v1/node.grpc.pb.h"

namespace kprof {

class NodeServiceImpl final : public v1::NodeService::CallbackService {
 public:
  NodeServiceImpl(const RpcParts& parts, const Caller& caller) : parts_(parts), caller_(caller) {}

  grpc::ServerUnaryReactor* GetStatus(grpc::CallbackServerContext* context, const v1::GetStatusRequest* request,
                                      v1::GetStatusResponse* response) override;
  grpc::ServerUnaryReactor* ListDevices(grpc::CallbackServerContext* context, const v1::ListDevicesRequest* request,
                                        v1::ListDevicesResponse* response) override;
  grpc::ServerUnaryReactor* Diagnose(grpc::CallbackServerContext* context, const v1::DiagnoseRequest* request,
                                     v1::DiagnoseResponse* response) override;
  grpc::ServerWriteReactor<v1::BackUpCatalogResponse>* BackUpCatalog(grpc::CallbackServerContext* context,
                                                                     const v1::BackUpCatalogRequest* request) override;

 private:
  // Io loop.
  void FillDevices(google::protobuf::RepeatedPtrField<v1::Device>& out) const;

  const RpcParts& parts_;
  const Caller caller_;
};

}  // namespace kprof
