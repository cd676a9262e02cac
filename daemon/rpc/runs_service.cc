#include "daemon/rpc/runs_service.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/rpc/download_source.h"
#include "daemon/rpc/log_source.h"
#include "daemon/rpc/pull_stream.h"
#include "daemon/rpc/run_lookup.h"
#include "daemon/rpc/run_message.h"
#include "daemon/rpc/run_pages.h"
#include "daemon/rpc/unary_call.h"
#include "daemon/rpc/upload_call.h"
#include "daemon/rpc/watch_stream.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

constexpr int32_t kMaxArtifactsInPage = 1000;
constexpr int64_t kDefaultGraceMs = 5000;
constexpr int64_t kMaxGraceMs = 10 * 60 * 1000;

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

}  // namespace

grpc::ServerUnaryReactor* RunsServiceImpl::SubmitRun(grpc::CallbackServerContext* context,
                                                     const v1::SubmitRunRequest* request,
                                                     v1::SubmitRunResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  RunRequest run = RequestOf(caller_, *request);
  Status checked = CheckRunRequest(run);
  if (!checked.ok()) {
    reactor->Finish(ToGrpc(checked));
    return reactor;
  }
  auto shared_run = std::make_shared<RunRequest>(std::move(run));  // shared: std::function copies
  parts_.loop.Post([this, shared_run, reactor, response] {
    parts_.runs.Submit(std::move(*shared_run), [reactor, response](const Result<RunRow>& row) {
      FinishWith(reactor, row, response->mutable_run());
    });
  });
  return reactor;
}

grpc::ServerUnaryReactor* RunsServiceImpl::GetRun(grpc::CallbackServerContext* context,
                                                  const v1::GetRunRequest* request, v1::GetRunResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  LookUpRun(parts_, caller_, request->id(), RunAction::kSee, "show run",
            [reactor, response](const Result<RunRow>& row) { FinishWith(reactor, row, response->mutable_run()); });
  return reactor;
}

grpc::ServerUnaryReactor* RunsServiceImpl::ListRuns(grpc::CallbackServerContext* context,
                                                    const v1::ListRunsRequest* request,
                                                    v1::ListRunsResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  ReadRunPage(parts_, caller_, *request, *response,
              [reactor](const Status& status) { reactor->Finish(ToGrpc(status)); });
  return reactor;
}

grpc::ServerWriteReactor<v1::WatchRunResponse>* RunsServiceImpl::WatchRun(grpc::CallbackServerContext* /*context*/,
                                                                          const v1::WatchRunRequest* request) {
  return StartWatch(parts_, caller_, *request);
}

grpc::ServerUnaryReactor* RunsServiceImpl::WaitRun(grpc::CallbackServerContext* /*context*/,
                                                   const v1::WaitRunRequest* request, v1::WaitRunResponse* response) {
  return StartWait(parts_, caller_, *request, *response);
}

grpc::ServerUnaryReactor* RunsServiceImpl::CancelRun(grpc::CallbackServerContext* context,
                                                     const v1::CancelRunRequest* request,
                                                     v1::CancelRunResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  int64_t grace_ms = request->has_grace_ms() ? request->grace_ms() : kDefaultGraceMs;
  if (grace_ms < 0 || grace_ms > kMaxGraceMs) {
    reactor->Finish(ToGrpc(Fail(
        ErrorCode::kUsage, "cancel run " + ClippedText(request->id(), 64),
        "a grace of " + std::to_string(grace_ms) + " ms is not between 0 and " + std::to_string(kMaxGraceMs) + " ms",
        "give it another one")));
    return reactor;
  }
  LookUpRun(parts_, caller_, request->id(), RunAction::kChange, "cancel run",
            [this, reactor, response, grace_ms](Result<RunRow> row) {
              if (!row.ok()) return reactor->Finish(ToGrpc(row.status()));
              std::string why = row->uid == caller_.uid ? "its owner cancelled it"
                                                        : "uid " + std::to_string(caller_.uid) + " cancelled it";
              parts_.runs.Stop(row->id, Fail(ErrorCode::kCancelled, "run " + row->id, why), grace_ms,
                               [reactor, response](const Result<RunRow>& stopped) {
                                 FinishWith(reactor, stopped, response->mutable_run());
                               });
            });
  return reactor;
}

grpc::ServerUnaryReactor* RunsServiceImpl::DeleteRun(grpc::CallbackServerContext* context,
                                                     const v1::DeleteRunRequest* request,
                                                     v1::DeleteRunResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  LookUpRun(parts_, caller_, request->id(), RunAction::kChange, "delete run",
            [this, reactor, response](Result<RunRow> row) {
              if (!row.ok()) return reactor->Finish(ToGrpc(row.status()));
              parts_.runs.Delete(row->id, [reactor, response, id = row->id](Status status) {
                response->set_id(id);
                reactor->Finish(ToGrpc(status));
              });
            });
  return reactor;
}

void RunsServiceImpl::SetPinned(const std::string& name, bool pinned, grpc::ServerUnaryReactor* reactor, v1::Run* out) {
  LookUpRun(parts_, caller_, name, RunAction::kChange, pinned ? "pin run" : "unpin run",
            [this, pinned, reactor, out](Result<RunRow> row) {
              if (!row.ok()) return reactor->Finish(ToGrpc(row.status()));
              parts_.runs.SetPinned(row->id, pinned, [reactor, out](const Result<RunRow>& changed) {
                FinishWith(reactor, changed, out);
              });
            });
}

grpc::ServerUnaryReactor* RunsServiceImpl::PinRun(grpc::CallbackServerContext* context,
                                                  const v1::PinRunRequest* request, v1::PinRunResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  SetPinned(request->id(), true, reactor, response->mutable_run());
  return reactor;
}

grpc::ServerUnaryReactor* RunsServiceImpl::UnpinRun(grpc::CallbackServerContext* context,
                                                    const v1::UnpinRunRequest* request,
                                                    v1::UnpinRunResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  SetPinned(request->id(), false, reactor, response->mutable_run());
  return reactor;
}

grpc::ServerWriteReactor<v1::ReadLogResponse>* RunsServiceImpl::ReadLog(grpc::CallbackServerContext* /*context*/,
                                                                        const v1::ReadLogRequest* request) {
  return new PullStream<v1::ReadLogResponse>(parts_.loop, parts_.bulk, MakeLogSource(parts_, caller_, *request));
}

grpc::ServerUnaryReactor* RunsServiceImpl::ListArtifacts(grpc::CallbackServerContext* context,
                                                         const v1::ListArtifactsRequest* request,
                                                         v1::ListArtifactsResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  if (request->page_size() < 0) {
    reactor->Finish(ToGrpc(Fail(ErrorCode::kUsage, "list artifacts", "the page size is negative")));
    return reactor;
  }
  LookUpRun(parts_, caller_, request->id(), RunAction::kSee, "list artifacts of run",
            [reactor, request, response](Result<RunRow> row) {
              if (!row.ok()) return reactor->Finish(ToGrpc(row.status()));
              FillArtifactPage(row->artifacts, *request, *response);
              reactor->Finish(grpc::Status::OK);
            });
  return reactor;
}

grpc::ServerWriteReactor<v1::DownloadArtifactResponse>* RunsServiceImpl::DownloadArtifact(
    grpc::CallbackServerContext* /*context*/, const v1::DownloadArtifactRequest* request) {
  return new PullStream<v1::DownloadArtifactResponse>(parts_.loop, parts_.bulk,
                                                      MakeDownloadSource(parts_, caller_, *request));
}

grpc::ServerReadReactor<v1::UploadArtifactRequest>* RunsServiceImpl::UploadArtifact(
    grpc::CallbackServerContext* /*context*/, v1::UploadArtifactResponse* response) {
  return StartUpload(parts_, caller_, *response);
}

}  // namespace kprof
