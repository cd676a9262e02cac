// kprof.v1.SessionsService for one caller. Translates, authorises, hands on; the work is done in runs/.
//
// Handlers run on gRPC's threads and never block. The context outlives it, it outlives its calls.
#pragma once

#include <memory>
#include <utility>

#include "daemon/access/call_admission.h"
#include "daemon/rpc/service_context.h"
#include "kprof/v1/sessions.grpc.pb.h"

namespace kprof {

class SessionsServiceImpl final : public v1::SessionsService::CallbackService {
 public:
  SessionsServiceImpl(const ServiceContext& context, std::shared_ptr<CallAdmission> admission)
      : context_(context), admission_(std::move(admission)) {}

  grpc::ServerWriteReactor<v1::OpenSessionResponse>* OpenSession(grpc::CallbackServerContext* context,
                                                                 const v1::OpenSessionRequest* request) override;
  grpc::ServerUnaryReactor* CloseSession(grpc::CallbackServerContext* context, const v1::CloseSessionRequest* request,
                                         v1::CloseSessionResponse* response) override;
  grpc::ServerUnaryReactor* GetSession(grpc::CallbackServerContext* context, const v1::GetSessionRequest* request,
                                       v1::GetSessionResponse* response) override;
  grpc::ServerUnaryReactor* ListSessions(grpc::CallbackServerContext* context, const v1::ListSessionsRequest* request,
                                         v1::ListSessionsResponse* response) override;
  grpc::ServerUnaryReactor* ListRounds(grpc::CallbackServerContext* context, const v1::ListRoundsRequest* request,
                                       v1::ListRoundsResponse* response) override;

 private:
  const Caller& caller() const { return admission_->caller(); }

  const ServiceContext& context_;
  const std::shared_ptr<CallAdmission> admission_;  // shared with its calls
};

}  // namespace kprof
