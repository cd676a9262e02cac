#include "daemon/rpc/services/sessions_service.h"

#include <optional>
#include <string>

#include "daemon/rpc/messages/outlook_message.h"
#include "daemon/rpc/messages/session_message.h"
#include "daemon/rpc/services/open_session_stream.h"
#include "daemon/rpc/services/session_pages.h"
#include "daemon/rpc/streams/call_record.h"
#include "daemon/rpc/streams/unary_call.h"
#include "daemon/runs/audit/audited_calls.h"
#include "daemon/runs/session_lookup.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

constexpr int64_t kDefaultCloseGraceMs = 5000;
constexpr int64_t kMaxCloseGraceMs = 10 * 60 * 1000;

void EndWith(UnaryCall* call, const Result<SessionRow>& row, v1::Session* out) {
  if (row.ok()) FillSession(*row, *out);
  call->End(row.status());
}

}  // namespace

grpc::ServerWriteReactor<v1::OpenSessionResponse>* SessionsServiceImpl::OpenSession(
    grpc::CallbackServerContext* /*context*/, const v1::OpenSessionRequest* request) {
  return StartOpenSession(CallRecord(admission_, Rpc::kOpenSession), context_, *request);
}

grpc::ServerUnaryReactor* SessionsServiceImpl::CloseSession(grpc::CallbackServerContext* /*context*/,
                                                            const v1::CloseSessionRequest* request,
                                                            v1::CloseSessionResponse* response) {
  auto* call = new UnaryCall(admission_, Rpc::kCloseSession);
  if (call->refused()) return call;
  const int64_t grace_ms = request->has_grace_ms() ? request->grace_ms() : kDefaultCloseGraceMs;
  if (grace_ms < 0 || grace_ms > kMaxCloseGraceMs) {
    call->End(Fail(ErrorCode::kUsage, "close session " + ClippedText(request->id(), 64),
                   "a grace of " + std::to_string(grace_ms) + " ms is not between 0 and " +
                       std::to_string(kMaxCloseGraceMs) + " ms",
                   "give it another one"));
    return call;
  }
  LookUpSession(
      context_, caller(), request->id(), Rpc::kCloseSession, "close session",
      [this, call, response, grace_ms](const Result<SessionRow>& row) {
        if (!row.ok()) return call->End(row.status());
        // Whoever closes it wants it to be over; how it came to be is in the answer.
        const bool is_stored = context_.runs.sessions().FindOpenRow(row->id) == nullptr;
        if (is_stored && IsOver(row->state)) return EndWith(call, row, response->mutable_session());
        const std::string who = row->uid == caller().uid ? "its owner" : CallerName(caller());
        context_.runs.sessions().Close(
            row->id, ActorOf(caller()), Fail(ErrorCode::kCancelled, "run", who + " closed the session"), grace_ms,
            [call, response](const Result<SessionRow>& closed) { EndWith(call, closed, response->mutable_session()); });
      });
  return call;
}

grpc::ServerUnaryReactor* SessionsServiceImpl::GetSession(grpc::CallbackServerContext* /*context*/,
                                                          const v1::GetSessionRequest* request,
                                                          v1::GetSessionResponse* response) {
  auto* call = new UnaryCall(admission_, Rpc::kGetSession);
  if (call->refused()) return call;
  LookUpSession(context_, caller(), request->id(), Rpc::kGetSession, "show session",
                [this, call, response](const Result<SessionRow>& row) {
                  if (row.ok() && row->state == SessionState::kQueued) {
                    const std::optional<Sessions::View> waits = context_.runs.sessions().FindOpen(row->id);
                    if (waits) FillOutlook(waits->outlook, *response);
                  }
                  EndWith(call, row, response->mutable_session());
                });
  return call;
}

grpc::ServerUnaryReactor* SessionsServiceImpl::ListSessions(grpc::CallbackServerContext* /*context*/,
                                                            const v1::ListSessionsRequest* request,
                                                            v1::ListSessionsResponse* response) {
  auto* call = new UnaryCall(admission_, Rpc::kListSessions, SizeOf(response));
  if (call->refused()) return call;
  AnswerSessionPage(context_, caller(), *request, *response, *call);
  return call;
}

grpc::ServerUnaryReactor* SessionsServiceImpl::ListRounds(grpc::CallbackServerContext* /*context*/,
                                                          const v1::ListRoundsRequest* request,
                                                          v1::ListRoundsResponse* response) {
  auto* call = new UnaryCall(admission_, Rpc::kListRounds, SizeOf(response));
  if (call->refused()) return call;
  LookUpSession(context_, caller(), request->session_id(), Rpc::kListRounds, "list rounds of session",
                [this, call, request, response](const Result<SessionRow>& row) {
                  if (!row.ok()) return call->End(row.status());
                  AnswerRoundPage(context_, row->id, *request, *response, *call);
                });
  return call;
}

}  // namespace kprof
