#include "daemon/rpc/services/sessions_service.h"

#include <grpcpp/support/server_callback.h>

#include <optional>
#include <string>
#include <utility>

#include "daemon/access/permissions.h"
#include "daemon/rpc/messages/run_message.h"
#include "daemon/rpc/messages/session_message.h"
#include "daemon/rpc/messages/status_message.h"
#include "daemon/rpc/service_context.h"
#include "daemon/rpc/services/list_pages.h"
#include "daemon/rpc/streams/call_record.h"
#include "daemon/rpc/streams/unary_call.h"
#include "daemon/runs/audit/audited_calls.h"
#include "daemon/runs/command/run_end.h"
#include "daemon/runs/object_lookup.h"
#include "kprof/v1/sessions.pb.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

// SessionsService.OpenSession: opens a session or takes one up again, tells how it stands, and holds an attached one
// while the stream lasts. Closes a session of which its client has heard nothing when the stream ends. A slow reader
// misses intermediate states, never the last.
//
// All fields belong to the io loop, where the session lives; gRPC's reactions post to it. The stream goes when gRPC is
// done with it and the session, which another thread makes durable, has been opened.
class OpenSessionStream final : public grpc::ServerWriteReactor<v1::OpenSessionResponse> {
 public:
  OpenSessionStream(CallRecord record, const ServiceContext& context, const v1::OpenSessionRequest& message)
      : context_(context), record_(std::move(record)), resume_token_(message.resume_token()) {
    record_.BecomeWatch();
    Status refused = record_.admitted();
    SessionRequest request = RequestOf(record_.caller(), message);
    if (refused.ok() && resume_token_.empty()) refused = CheckSessionRequest(request);
    if (refused.ok() && resume_token_.empty()) {
      refused = AuthorizePriority(record_.caller(), request.priority, "open a session");
      RecordIfRefused(context_.audit, record_.caller(), Rpc::kOpenSession, refused);
    }
    to_grpc_.Give();
    context_.loop.Post([this, refused, request = std::move(request)] { Begin(refused, request); });
  }

  void OnWriteDone(bool ok) override {
    to_grpc_.Take();
    context_.loop.Post([this, ok] {
      writing_ = false;
      if (finished_) return;
      if (!ok) return End(grpc::Status::CANCELLED);
      told_ = true;
      SendPending();
    });
  }
  void OnCancel() override {
    to_grpc_.Take();
    context_.loop.Post([this] { End(grpc::Status::CANCELLED); });
  }
  void OnDone() override {
    to_grpc_.Take();
    context_.loop.Post([this] {
      released_ = true;
      if (!opening_) delete this;
    });
  }

 private:
  ~OpenSessionStream() override = default;

  Sessions& sessions() { return context_.runs.sessions(); }

  void Begin(const Status& refused, const SessionRequest& request) {
    if (finished_) return;
    if (!refused.ok()) return End(ToGrpc(refused));
    if (!resume_token_.empty()) {
      Result<std::string> id = sessions().Resume(record_.caller().uid, resume_token_);
      if (id.ok()) return Follow(*id);
      RecordNotResumed(id.status());
      return End(ToGrpc(id.status()));
    }
    opening_ = true;
    sessions().Open(request, [this](const Result<SessionRow>& row) {
      opening_ = false;
      RecordIfRefused(context_.audit, record_.caller(), Rpc::kOpenSession, row.status());
      if (finished_ && row.ok()) CloseUnknown(row->id);
      if (released_) {
        delete this;
        return;
      }
      if (finished_) return;
      row.ok() ? Follow(row->id) : End(ToGrpc(row.status()));
    });
  }

  // A token is a secret: whoever brings one that opens nothing may be guessing, or have somebody else's.
  void RecordNotResumed(const Status& why) {
    const SessionRow* row = sessions().FindByToken(resume_token_);
    if (row == nullptr) {
      RecordRefused(context_.audit, record_.caller(), Rpc::kOpenSession, why);
    } else if (row->uid != record_.caller().uid) {
      RecordRefused(context_.audit, record_.caller(), Rpc::kOpenSession, *row, why);
    }
  }

  void Follow(const std::string& id) {
    id_ = id;
    sessions().Hold(id_);
    watch_ = sessions().Watch(id_, [this](const Sessions::View& view) { Changed(view); });
    Changed(*sessions().FindOpen(id_));
  }

  void Changed(const Sessions::View& view) {
    pending_ = view;
    if (!writing_) SendPending();
  }

  void SendPending() {
    if (finished_) return;
    if (!pending_) {
      if (last_) End(*last_);
      return;
    }
    const SessionRow& row = pending_->row;
    message_.Clear();
    FillSession(row, *message_.mutable_session());
    FillOutlook(pending_->outlook, message_);
    message_.set_resume_token(pending_->token);
    message_.set_now_unix_ns(context_.clock.unix_ns());
    if (IsOver(row.state)) {
      last_ = !row.granted_ns && row.error ? ToGrpc(StatusOfEnd(row)) : grpc::Status::OK;
    } else if (!row.attached && row.state == SessionState::kOpen) {
      last_ = grpc::Status::OK;
    }
    pending_.reset();
    writing_ = true;
    StartWrite(&message_);
  }

  // The client went before it heard of it: nobody knows its id. An attached one ends by itself.
  void CloseUnknown(const std::string& id) {
    const SessionRow* row = sessions().FindOpenRow(id);
    if (row == nullptr || row->attached || IsOver(row->state)) return;
    const Status why = Fail(ErrorCode::kClientGone, "run", "the client that opened its session went away");
    sessions().Close(id, ActorOf(record_.caller()), why, 0, [](const Result<SessionRow>&) {});
  }

  // Only the first one counts.
  void End(const grpc::Status& status) {
    if (std::exchange(finished_, true)) return;
    if (watch_ != 0) {
      sessions().Unwatch(id_, watch_);
      sessions().Unhold(id_);
      if (!told_) CloseUnknown(id_);
    }
    Finish(record_.Ending(status));
  }

  const ServiceContext& context_;
  CallRecord record_;
  const std::string resume_token_;
  TsanHandoff to_grpc_;  // of what the constructor made; all else is the loop's
  std::string id_;
  WatchId watch_ = 0;
  v1::OpenSessionResponse message_;
  std::optional<Sessions::View> pending_;
  std::optional<grpc::Status> last_;  // what it ends with, once its last message is on its way
  bool writing_ = false;
  bool told_ = false;  // a message, and with it the id
  bool opening_ = false;
  bool finished_ = false;
  bool released_ = false;
};

// Any thread. Owns itself; `request` is read before it returns. `parts` outlives it.
grpc::ServerWriteReactor<v1::OpenSessionResponse>* StartOpenSession(CallRecord record, const ServiceContext& context,
                                                                    const v1::OpenSessionRequest& request) {
  return new OpenSessionStream(std::move(record), context, request);
}

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
      context_.lookup(), caller(), request->id(), Rpc::kCloseSession, "close session",
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
  LookUpSession(context_.lookup(), caller(), request->id(), Rpc::kGetSession, "show session",
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
  LookUpSession(context_.lookup(), caller(), request->session_id(), Rpc::kListRounds, "list rounds of session",
                [this, call, request, response](const Result<SessionRow>& row) {
                  if (!row.ok()) return call->End(row.status());
                  AnswerRoundPage(context_, row->id, *request, *response, *call);
                });
  return call;
}

}  // namespace kprof
