#include "daemon/rpc/runs_service.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>

#include "daemon/rpc/download_source.h"
#include "daemon/rpc/log_source.h"
#include "daemon/rpc/pull_stream.h"
#include "daemon/rpc/run_lookup.h"
#include "daemon/rpc/run_message.h"
#include "daemon/rpc/unary_call.h"
#include "daemon/rpc/upload_call.h"
#include "daemon/rpc/watch_stream.h"
#include "daemon/runs/run_id.h"
#include "storage/base/readable_text.h"
#include "storage/catalog/run_list.h"

namespace kprof {
namespace {

constexpr int32_t kDefaultPageSize = 50;
constexpr int32_t kMaxPageSize = 1000;
constexpr int64_t kPortionRuns = 50;
constexpr size_t kPageBytes = 1 << 20;
constexpr int64_t kDefaultGraceMs = 5000;
constexpr int64_t kMaxGraceMs = 10 * 60 * 1000;

// In which of these a run may still be in the catalog whose end could not be stored yet (a full disk). So may a queued
// one, but of those there may be ten thousand, and whoever asks for ended runs would have them all read.
constexpr RunState kStatesOfUnstoredEnds[] = {RunState::kPreparing, RunState::kRunning, RunState::kCollecting};

Result<RunFilter> FilterOf(const Caller& caller, const v1::ListRunsRequest& request) {
  RunFilter filter;
  if (!caller.is_operator) filter.uid = caller.uid;
  if (request.page_size() < 0) return Fail(ErrorCode::kUsage, "list runs", "the page size is negative");
  filter.limit = request.page_size() == 0 ? kDefaultPageSize : std::min(request.page_size(), kMaxPageSize);
  filter.labels.assign(request.labels().begin(), request.labels().end());
  filter.tools.assign(request.tools().begin(), request.tools().end());
  for (int state : request.states()) {
    if (!v1::RunState_IsValid(state) || state == v1::RUN_STATE_UNSPECIFIED) {
      return Fail(ErrorCode::kUsage, "list runs", "state " + std::to_string(state) + " is not known to this kprofd",
                  "update kprofd, or leave the state out");
    }
    filter.states.push_back(FromWire(static_cast<v1::RunState>(state)));
  }
  if (std::any_of(filter.states.begin(), filter.states.end(), IsTerminal)) {
    filter.states.insert(filter.states.end(), std::begin(kStatesOfUnstoredEnds), std::end(kStatesOfUnstoredEnds));
  }
  if (!request.page_token().empty() && !LooksLikeRunId(request.page_token())) {
    return Fail(ErrorCode::kUsage, "list runs", "the page token is not one of this daemon's",
                "begin again without a token");
  }
  filter.before_id = request.page_token();
  return filter;
}

// Up to the page's size, and no further than a message can carry: command lines may be long. Read in small portions,
// so that what is not sent is hardly read.
Status FillPage(Db& db, RunFilter filter, v1::ListRunsResponse& page) {
  int64_t left = filter.limit;
  size_t page_bytes = 0;
  while (left > 0) {
    filter.limit = std::min(left, kPortionRuns);
    ASSIGN_OR_RETURN(std::vector<RunRow> rows, kprof::ListRuns(db, filter));
    for (const RunRow& row : rows) {
      FillRun(row, *page.add_runs());
      page_bytes += page.runs(page.runs_size() - 1).ByteSizeLong();
      filter.before_id = row.id;
      if (page_bytes >= kPageBytes) break;
    }
    left -= static_cast<int64_t>(rows.size());
    if (page_bytes >= kPageBytes) break;
    if (static_cast<int64_t>(rows.size()) < filter.limit) return OkStatus();  // that was the last
  }
  page.set_next_page_token(filter.before_id);
  return OkStatus();
}

// By name; a page's token is its last one's. At most 10,000 are looked at, which takes a fraction of a millisecond.
void FillArtifactPage(const std::vector<ArtifactRow>& artifacts, const v1::ListArtifactsRequest& request,
                      v1::ListArtifactsResponse& page) {
  std::vector<const ArtifactRow*> left;
  for (const ArtifactRow& artifact : artifacts) {
    if (request.page_token().empty() || artifact.name > request.page_token()) left.push_back(&artifact);
  }
  const size_t limit = request.page_size() == 0 ? kMaxPageSize : std::min(request.page_size(), kMaxPageSize);
  const size_t size = std::min(left.size(), limit);
  std::partial_sort(left.begin(), left.begin() + static_cast<ptrdiff_t>(size), left.end(),
                    [](const ArtifactRow* a, const ArtifactRow* b) { return a->name < b->name; });
  for (size_t i = 0; i < size; ++i) FillArtifact(*left[i], *page.add_artifacts());
  if (size < left.size()) page.set_next_page_token(left[size - 1]->name);
}

// Which of some runs, open in the catalog, have ended as far as Runs knows. Io loop, a few at a time.
struct EndSearch {
  std::vector<std::string> ids;
  std::function<void(std::vector<RunRow>)> then;
  size_t next = 0;
  std::vector<RunRow> ended;
};
void GoOn(const RpcParts& parts, const std::shared_ptr<EndSearch>& search) {
  const size_t end = std::min(search->next + static_cast<size_t>(kPortionRuns), search->ids.size());
  for (; search->next < end; ++search->next) {
    std::optional<Runs::View> open = parts.runs.FindOpen(search->ids[search->next]);
    if (open && IsTerminal(open->row.state)) search->ended.push_back(std::move(open->row));
  }
  if (end == search->ids.size()) return search->then(std::move(search->ended));
  parts.loop.Post([&parts, search] { GoOn(parts, search); });
}

// Runs that have ended become what they are; then those go that were read only because they might have.
void OverlayEnds(const std::vector<RunRow>& ended, const v1::ListRunsRequest& request, v1::ListRunsResponse& page) {
  for (v1::Run& run : *page.mutable_runs()) {
    auto found = std::find_if(ended.begin(), ended.end(), [&](const RunRow& row) { return row.id == run.id(); });
    if (found == ended.end()) continue;
    run.Clear();
    FillRun(*found, run);
  }
  if (request.states().empty()) return;
  auto unwanted = [&](const v1::Run& run) {
    return std::find(request.states().begin(), request.states().end(), run.state()) == request.states().end();
  };
  page.mutable_runs()->erase(std::remove_if(page.mutable_runs()->begin(), page.mutable_runs()->end(), unwanted),
                             page.mutable_runs()->end());
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
  auto read = [this, request, response]() -> Status {
    ASSIGN_OR_RETURN(RunFilter filter, FilterOf(caller_, *request));
    ASSIGN_OR_RETURN(ReaderPool::Lease reader, parts_.catalog.readers().Borrow());
    return FillPage(*reader, filter, *response);
  };
  // From the catalog; then, if some are open there, by way of Runs, which may know better.
  Status submitted = parts_.workers.Submit([this, read, reactor, request, response] {
    Status status = read();
    auto search = std::make_shared<EndSearch>();  // shared: std::function copies
    for (const v1::Run& run : response->runs()) {
      if (!IsTerminal(FromWire(run.state()))) search->ids.push_back(run.id());
    }
    if (!status.ok() || search->ids.empty()) return reactor->Finish(ToGrpc(status));
    search->then = [this, reactor, request, response](std::vector<RunRow> ended) {
      FinishOnWorker(parts_.workers, reactor, [ended = std::move(ended), request, response] {
        OverlayEnds(ended, *request, *response);
        return OkStatus();
      });
    };
    parts_.loop.Post([this, search] { GoOn(parts_, search); });
  });
  if (!submitted.ok()) reactor->Finish(ToGrpc(submitted));
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
