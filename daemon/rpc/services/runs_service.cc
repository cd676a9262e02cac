#include "daemon/rpc/services/runs_service.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/capture/tools.h"
#include "daemon/rpc/messages/run_message.h"
#include "daemon/rpc/services/list_pages.h"
#include "daemon/rpc/streams/download_sources.h"
#include "daemon/rpc/streams/log_source.h"
#include "daemon/rpc/streams/pull_stream.h"
#include "daemon/rpc/streams/unary_call.h"
#include "daemon/rpc/streams/upload_calls.h"
#include "daemon/rpc/streams/watch_stream.h"
#include "daemon/runs/audit/audited_calls.h"
#include "daemon/runs/object_lookup.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

constexpr int32_t kMaxArtifactsInPage = 1000;
constexpr int64_t kDefaultCancelGraceMs = 5000;
constexpr int64_t kMaxCancelGraceMs = 10 * 60 * 1000;
constexpr size_t kLaunchFailureBytes = 1024;

// By name; a page's token is its last one's. At most 10,000 are looked at, which takes a fraction of a millisecond.
void FillArtifactPage(const std::vector<ArtifactRow>& artifacts, const v1::ListArtifactsRequest& request,
                      v1::ListArtifactsResponse& page) {
  std::vector<const ArtifactRow*> left;
  for (const ArtifactRow& artifact : artifacts) {
    if (request.page_token().empty() || artifact.name > request.page_token()) left.push_back(&artifact);
  }
  const size_t limit =
      request.page_size() == 0 ? kMaxArtifactsInPage : std::min(request.page_size(), kMaxArtifactsInPage);
  const size_t size = std::min(left.size(), limit);
  std::partial_sort(left.begin(), left.begin() + static_cast<ptrdiff_t>(size), left.end(),
                    [](const ArtifactRow* a, const ArtifactRow* b) { return a->name < b->name; });
  for (size_t i = 0; i < size; ++i) FillArtifact(*left[i], *page.add_artifacts());
  if (size < left.size()) page.set_next_page_token(left[size - 1]->name);
}

// Who could not start a run would have had it run: to say that they cancelled it would be wrong.
Status WhyEnded(const RunRow& row, const Caller& caller, const v1::CancelRunRequest& request) {
  const std::string what = "run " + row.id;
  if (row.uid != caller.uid) return Fail(ErrorCode::kCancelled, what, CallerName(caller) + " cancelled it");
  if (request.launch_failure().empty()) return Fail(ErrorCode::kCancelled, what, "its owner cancelled it");
  return Fail(ErrorCode::kSpawnFailed, what,
              "its client could not start it: " + ClippedText(request.launch_failure(), kLaunchFailureBytes));
}

}  // namespace

grpc::ServerUnaryReactor* RunsServiceImpl::SubmitRun(grpc::CallbackServerContext* /*context*/,
                                                     const v1::SubmitRunRequest* request,
                                                     v1::SubmitRunResponse* response) {
  auto* call = new UnaryCall(admission_, Rpc::kSubmitRun);
  if (call->refused()) return call;
  RunRequest run = RequestOf(caller(), *request);
  Status checked = CheckRunRequest(run);
  if (checked.ok()) checked = AuthorizePriority(caller(), run.priority, "submit run");
  if (checked.ok()) checked = call->MakeRoom(request->ByteSizeLong());
  if (!checked.ok()) {
    RecordIfRefused(context_.audit, caller(), Rpc::kSubmitRun, checked);
    call->End(checked);
    return call;
  }
  auto shared_run = std::make_shared<RunRequest>(std::move(run));  // shared: std::function copies
  auto submit = [this, shared_run, call, response] {
    context_.runs.Submit(std::move(*shared_run), [this, call, response](const Result<RunRow>& row) {
      RecordIfRefused(context_.audit, caller(), Rpc::kSubmitRun, row.status());
      call->EndWith(row, response->mutable_run());
    });
  };
  if (shared_run->session_id.empty()) {
    context_.loop.Post(submit);
    return call;
  }
  LookUpSession(context_.lookup(), caller(), shared_run->session_id, Rpc::kSubmitToSession, "submit run to session",
                [shared_run, submit, call](const Result<SessionRow>& session) {
                  if (!session.ok()) return call->End(session.status());
                  shared_run->session_id = session->id;
                  submit();
                });
  return call;
}

grpc::ServerReadReactor<v1::UploadSourceRequest>* RunsServiceImpl::UploadSource(
    grpc::CallbackServerContext* /*context*/, v1::UploadSourceResponse* response) {
  return StartSourceUpload(CallRecord(admission_, Rpc::kUploadSource), context_, *response);
}

grpc::ServerUnaryReactor* RunsServiceImpl::SubmitImport(grpc::CallbackServerContext* /*context*/,
                                                        const v1::SubmitImportRequest* request,
                                                        v1::SubmitImportResponse* response) {
  auto* call = new UnaryCall(admission_, Rpc::kSubmitImport);
  if (call->refused()) return call;
  ImportRequest import = RequestOf(caller(), *request);
  Status checked = CheckImportRequest(import);
  if (checked.ok()) checked = call->MakeRoom(request->ByteSizeLong());
  if (!checked.ok()) {
    RecordIfRefused(context_.audit, caller(), Rpc::kSubmitImport, checked);
    call->End(checked);
    return call;
  }
  auto shared_import = std::make_shared<ImportRequest>(std::move(import));  // shared: std::function copies
  context_.loop.Post([this, shared_import, call, response] {
    auto answer = [this, call, response](const Result<std::vector<SubmittedImport>>& submitted) {
      RecordIfRefused(context_.audit, caller(), Rpc::kSubmitImport, submitted.status());
      if (!submitted.ok()) return call->End(submitted.status());
      for (size_t i = 1; i < submitted->size(); ++i) {
        v1::SubmitImportResponse::Another& another = *response->add_others();
        another.set_existing((*submitted)[i].existing);
        FillRun((*submitted)[i].row, *another.mutable_run());
      }
      response->set_existing(submitted->front().existing);
      call->EndWith(submitted->front().row, response->mutable_run());
    };
    context_.runs.SubmitImport(std::move(*shared_import), call->stop(), answer);
  });
  return call;
}

grpc::ServerUnaryReactor* RunsServiceImpl::GetRun(grpc::CallbackServerContext* /*context*/,
                                                  const v1::GetRunRequest* request, v1::GetRunResponse* response) {
  auto* call = new UnaryCall(admission_, Rpc::kGetRun, SizeOf(response));
  if (call->refused()) return call;
  LookUpRun(context_.lookup(), caller(), request->id(), Rpc::kGetRun, "show run",
            [this, call, response](const Result<RunRow>& row) {
              if (row.ok() && row->state == RunState::kQueued) {
                const std::optional<Runs::View> waits = context_.runs.FindOpen(row->id);
                if (waits) FillOutlook(waits->outlook, *response);
              }
              call->EndWith(row, response->mutable_run());
            });
  return call;
}

grpc::ServerUnaryReactor* RunsServiceImpl::ListRuns(grpc::CallbackServerContext* /*context*/,
                                                    const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  auto* call = new UnaryCall(admission_, Rpc::kListRuns, SizeOf(response));
  if (!call->refused()) AnswerRunPage(context_, caller(), *request, *response, *call);
  return call;
}

grpc::ServerWriteReactor<v1::WatchRunResponse>* RunsServiceImpl::WatchRun(grpc::CallbackServerContext* /*context*/,
                                                                          const v1::WatchRunRequest* request) {
  // Whoever holds a run decides how long it lives.
  return StartWatch(CallRecord(admission_, request->hold() ? Rpc::kHoldRun : Rpc::kWatchRun), context_, *request);
}

grpc::ServerUnaryReactor* RunsServiceImpl::WaitRun(grpc::CallbackServerContext* /*context*/,
                                                   const v1::WaitRunRequest* request, v1::WaitRunResponse* response) {
  return StartWait(CallRecord(admission_, Rpc::kWaitRun), context_, *request, *response);
}

grpc::ServerUnaryReactor* RunsServiceImpl::CancelRun(grpc::CallbackServerContext* /*context*/,
                                                     const v1::CancelRunRequest* request,
                                                     v1::CancelRunResponse* response) {
  auto* call = new UnaryCall(admission_, Rpc::kCancelRun);
  if (call->refused()) return call;
  int64_t grace_ms = request->has_grace_ms() ? request->grace_ms() : kDefaultCancelGraceMs;
  if (grace_ms < 0 || grace_ms > kMaxCancelGraceMs) {
    call->End(Fail(ErrorCode::kUsage, "cancel run " + ClippedText(request->id(), 64),
                   "a grace of " + std::to_string(grace_ms) + " ms is not between 0 and " +
                       std::to_string(kMaxCancelGraceMs) + " ms",
                   "give it another one"));
    return call;
  }
  LookUpRun(context_.lookup(), caller(), request->id(), Rpc::kCancelRun, "cancel run",
            [this, call, request, response, grace_ms](Result<RunRow> row) {
              if (!row.ok()) return call->End(row.status());
              if (Status room = call->MakeRoom(RunMessageBytes(*row)); !room.ok()) return call->End(room);
              context_.runs.Stop(row->id, WhyEnded(*row, caller(), *request), grace_ms,
                                 [this, call, response](const Result<RunRow>& stopped) {
                                   if (stopped.ok()) {
                                     context_.audit.Record(AuditEntryOf(ActorOf(caller()), audit::kCancel, *stopped,
                                                                        context_.clock.unix_ns()));
                                   }
                                   call->EndWith(stopped, response->mutable_run());
                                 });
            });
  return call;
}

grpc::ServerUnaryReactor* RunsServiceImpl::DeleteRun(grpc::CallbackServerContext* /*context*/,
                                                     const v1::DeleteRunRequest* request,
                                                     v1::DeleteRunResponse* response) {
  auto* call = new UnaryCall(admission_, Rpc::kDeleteRun);
  if (call->refused()) return call;
  LookUpRun(context_.lookup(), caller(), request->id(), Rpc::kDeleteRun, "delete run",
            [this, call, response](Result<RunRow> row) {
              if (!row.ok()) return call->End(row.status());
              context_.runs.Delete(row->id, ActorOf(caller()), [call, response, id = row->id](Status status) {
                response->set_id(id);
                call->End(status);
              });
            });
  return call;
}

void RunsServiceImpl::SetPinned(const std::string& name, bool pinned, UnaryCall* call, v1::Run* out) {
  LookUpRun(context_.lookup(), caller(), name, pinned ? Rpc::kPinRun : Rpc::kUnpinRun, pinned ? "pin run" : "unpin run",
            [this, pinned, call, out](Result<RunRow> row) {
              if (!row.ok()) return call->End(row.status());
              if (Status room = call->MakeRoom(RunMessageBytes(*row)); !room.ok()) return call->End(room);
              context_.runs.SetPinned(row->id, pinned, ActorOf(caller()),
                                      [call, out](const Result<RunRow>& changed) { call->EndWith(changed, out); });
            });
}

grpc::ServerUnaryReactor* RunsServiceImpl::PinRun(grpc::CallbackServerContext* /*context*/,
                                                  const v1::PinRunRequest* request, v1::PinRunResponse* response) {
  auto* call = new UnaryCall(admission_, Rpc::kPinRun);
  if (call->refused()) return call;
  SetPinned(request->id(), true, call, response->mutable_run());
  return call;
}

grpc::ServerUnaryReactor* RunsServiceImpl::UnpinRun(grpc::CallbackServerContext* /*context*/,
                                                    const v1::UnpinRunRequest* request,
                                                    v1::UnpinRunResponse* response) {
  auto* call = new UnaryCall(admission_, Rpc::kUnpinRun);
  if (call->refused()) return call;
  SetPinned(request->id(), false, call, response->mutable_run());
  return call;
}

grpc::ServerWriteReactor<v1::ReadLogResponse>* RunsServiceImpl::ReadLog(grpc::CallbackServerContext* /*context*/,
                                                                        const v1::ReadLogRequest* request) {
  CallRecord record(admission_, Rpc::kReadLog);
  if (request->follow()) record.BecomeWatch();
  if (!record.admitted().ok()) return new RefusedStream<v1::ReadLogResponse>(std::move(record));
  return new PullStream<v1::ReadLogResponse>(std::move(record), context_.loop, context_.bulk,
                                             MakeLogSource(context_, caller(), *request));
}

grpc::ServerUnaryReactor* RunsServiceImpl::ListTools(grpc::CallbackServerContext* /*context*/,
                                                     const v1::ListToolsRequest* /*request*/,
                                                     v1::ListToolsResponse* response) {
  auto* call = new UnaryCall(admission_, Rpc::kListTools, SizeOf(response));
  if (call->refused()) return call;
  for (const Tool* tool : AllTools()) FillTool(*tool, *response->add_tools());
  call->End(OkStatus());
  return call;
}

grpc::ServerUnaryReactor* RunsServiceImpl::ListArtifacts(grpc::CallbackServerContext* /*context*/,
                                                         const v1::ListArtifactsRequest* request,
                                                         v1::ListArtifactsResponse* response) {
  auto* call = new UnaryCall(admission_, Rpc::kListArtifacts, SizeOf(response));
  if (call->refused()) return call;
  if (request->page_size() < 0) {
    call->End(Fail(ErrorCode::kUsage, "list artifacts", "the page size is negative"));
    return call;
  }
  LookUpRun(context_.lookup(), caller(), request->id(), Rpc::kListArtifacts, "list artifacts of run",
            [call, request, response](Result<RunRow> row) {
              if (!row.ok()) return call->End(row.status());
              FillArtifactPage(row->artifacts, *request, *response);
              call->End(OkStatus());
            });
  return call;
}

grpc::ServerWriteReactor<v1::DownloadArtifactResponse>* RunsServiceImpl::DownloadArtifact(
    grpc::CallbackServerContext* /*context*/, const v1::DownloadArtifactRequest* request) {
  CallRecord record(admission_, Rpc::kDownloadArtifact);
  if (!record.admitted().ok()) return new RefusedStream<v1::DownloadArtifactResponse>(std::move(record));
  return new PullStream<v1::DownloadArtifactResponse>(std::move(record), context_.loop, context_.bulk,
                                                      MakeDownloadSource(context_, caller(), *request));
}

grpc::ServerReadReactor<v1::UploadArtifactRequest>* RunsServiceImpl::UploadArtifact(
    grpc::CallbackServerContext* /*context*/, v1::UploadArtifactResponse* response) {
  return StartUpload(CallRecord(admission_, Rpc::kUploadArtifact), context_, *response);
}

grpc::ServerWriteReactor<v1::ExportRunResponse>* RunsServiceImpl::ExportRun(grpc::CallbackServerContext* context,
                                                                            const v1::ExportRunRequest* request) {
  CallRecord record(admission_, Rpc::kExportRun);
  if (!record.admitted().ok()) return new RefusedStream<v1::ExportRunResponse>(std::move(record));
  auto source = MakeExportSource(context_, caller(), *request);
  // One that nobody reads would keep others from its place.
  return new PullStream<v1::ExportRunResponse>(std::move(record), context_.loop, context_.bulk, std::move(source),
                                               context);
}

}  // namespace kprof
