#include "client/cpp/kprof_client.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <optional>
#include <thread>

#include "client/cpp/connection.h"
#include "client/cpp/rpc_error.h"
#include "storage/base/mutex.h"
#include "storage/base/readable_text.h"
#include "storage/crypto/sha256.h"

namespace kprof {

std::string_view ClientVersion() {
  return KPROF_VERSION;
}

namespace {

constexpr int kConnectAttempts = 3;
constexpr std::chrono::milliseconds kConnectPause(100);

RpcFailure FailureOf(const grpc::Status& status) {
  return RpcFailure{static_cast<int>(status.error_code()), status.error_message(), status.error_details()};
}

std::string RunNamed(const char* act, const std::string& id) {
  return std::string(act) + " run " + id;
}

std::string SessionNamed(const char* act, const std::string& id) {
  return std::string(act) + " session " + id;
}

}  // namespace

// A daemon that is being restarted may break a connection at any time. What it says it did not do is asked again of the
// one that listens then; what does no harm when done twice, too. Where nobody listens, that is the answer.
enum class Repeat {
  kNever,
  kWhenNotHeard,
  kAlways,
};

struct KprofClient::State {
  using Open = std::function<Result<std::shared_ptr<Connection>>()>;

  State(Open open, std::shared_ptr<Connection> first, std::string socket_path, int64_t deadline_ms)
      : open(std::move(open)),
        socket_path(std::move(socket_path)),
        deadline_ms(deadline_ms),
        connection(std::move(first)) {}

  // Where to ask: over a new connection when the last one is known to be lost. Of several calls one makes it.
  Result<std::shared_ptr<Connection>> Current() {
    MutexLock lock(mu);
    if (connection == nullptr || connection->hung_up()) {
      ASSIGN_OR_RETURN(connection, open());
    }
    return connection;
  }
  void Lost(const std::shared_ptr<Connection>& lost) {
    MutexLock lock(mu);
    if (connection == lost) connection.reset();
  }

  // Makes the call, over and over while that may help.
  Status Ask(Repeat repeat, const std::string& what,
             const std::function<grpc::Status(Connection&, grpc::ClientContext&)>& call,
             const std::stop_token& stop = {}) {
    Status failure;
    for (int attempt = 1;; ++attempt) {
      const Result<std::shared_ptr<Connection>> asked = Current();
      if (!asked.ok()) {
        const bool is_old_news = attempt > 1 && asked.status().code() == ErrorCode::kNoDaemon;
        return is_old_news ? failure : asked.status();
      }
      grpc::ClientContext context;
      std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
      const grpc::Status status = call(**asked, context);
      if (status.ok()) return OkStatus();
      const bool unavailable = status.error_code() == grpc::UNAVAILABLE;
      if (unavailable) Lost(*asked);
      failure = Translate(status, what, **asked);
      const bool harmless =
          repeat == Repeat::kAlways || (repeat == Repeat::kWhenNotHeard && IsDaemonsOwn(FailureOf(status)));
      if (!unavailable || !harmless || attempt == kConnectAttempts || stop.stop_requested()) return failure;
      if (attempt > 1) std::this_thread::sleep_for(kConnectPause);
    }
  }

  void SetDeadline(grpc::ClientContext& context) const {
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(deadline_ms));
  }

  // Of a call over `to`.
  Status Translate(const grpc::Status& status, const std::string& what, Connection& to) const {
    if (status.ok()) return OkStatus();
    if (status.error_code() == grpc::UNIMPLEMENTED && status.error_details().empty()) {
      grpc::ClientContext context;
      SetDeadline(context);
      v1::GetStatusResponse response;
      const grpc::Status asked = to.node->GetStatus(&context, v1::GetStatusRequest(), &response);
      return VersionMismatch(what, asked.ok() ? response.version() : "", ClientVersion());
    }
    return StatusOfRpc(FailureOf(status), what);
  }

  template <typename Stub, typename Request, typename Response>
  using Method = grpc::Status (Stub::*)(grpc::ClientContext*, const Request&, Response*);

  // With a `stop` it has no deadline.
  template <typename Stub, typename Request, typename Response>
  Result<Response> Call(Repeat repeat, const std::unique_ptr<Stub> Connection::*stub,
                        Method<Stub, Request, Response> method, const Request& request, const std::string& what,
                        const std::optional<std::stop_token>& stop = std::nullopt) {
    Response response;
    auto call = [&](Connection& to, grpc::ClientContext& context) {
      if (!stop) SetDeadline(context);
      return ((*(to.*stub)).*method)(&context, request, &response);
    };
    RETURN_IF_ERROR(Ask(repeat, what, call, stop.value_or(std::stop_token())));
    return response;
  }

  // Asked again while nothing has come of it.
  template <typename Stub, typename Request, typename Response>
  Status Stream(Repeat repeat, const std::unique_ptr<Stub> Connection::*stub,
                std::unique_ptr<grpc::ClientReader<Response>> (Stub::*method)(grpc::ClientContext*, const Request&),
                const Request& request, const OnMessage<Response>& on_message, const std::stop_token& stop,
                const std::string& what) {
    Status refused;
    bool came = false;
    Status lost;
    Status ended = Ask(
        repeat, what,
        [&](Connection& to, grpc::ClientContext& context) {
          auto reader = ((*(to.*stub)).*method)(&context, request);
          Response response;
          while (refused.ok() && reader->Read(&response)) {
            came = true;
            refused = on_message(response);
          }
          if (!refused.ok()) context.TryCancel();
          grpc::Status status = reader->Finish();
          if (!came || status.ok()) return status;
          lost = Translate(status, what, to);
          return grpc::Status::OK;
        },
        stop);
    if (!refused.ok()) return refused;
    if (!lost.ok()) ended = lost;
    if (!ended.ok() && stop.stop_requested()) return Fail(ErrorCode::kCancelled, what, "stopped by the caller");
    return ended;
  }

  // Set once.
  const Open open;
  const std::string socket_path;
  const int64_t deadline_ms;

  Mutex mu;
  std::shared_ptr<Connection> connection KPROF_GUARDED_BY(mu);
};

KprofClient::KprofClient(std::unique_ptr<State> state) : state_(std::move(state)) {}
KprofClient::~KprofClient() = default;

const std::string& KprofClient::socket_path() const {
  return state_->socket_path;
}

Result<std::unique_ptr<KprofClient>> KprofClient::Connect(const std::string& socket_path, int64_t deadline_ms) {
  auto open = [socket_path] { return Connection::Open(socket_path); };
  ASSIGN_OR_RETURN(std::shared_ptr<Connection> first, open());
  return std::unique_ptr<KprofClient>(
      new KprofClient(std::make_unique<State>(open, std::move(first), socket_path, deadline_ms)));
}

Result<std::unique_ptr<KprofClient>> KprofClient::ConnectToNode(const NodeAddress& address, int64_t deadline_ms) {
  auto open = [address] { return Connection::OpenToNode(address); };
  ASSIGN_OR_RETURN(std::shared_ptr<Connection> first, open());
  return std::unique_ptr<KprofClient>(
      new KprofClient(std::make_unique<State>(open, std::move(first), "", deadline_ms)));
}

Result<v1::GetStatusResponse> KprofClient::GetStatus() {
  return state_->Call(Repeat::kAlways, &Connection::node, &v1::NodeService::Stub::GetStatus, v1::GetStatusRequest(),
                      "ask for the status");
}

Result<v1::ListDevicesResponse> KprofClient::ListDevices() {
  return state_->Call(Repeat::kAlways, &Connection::node, &v1::NodeService::Stub::ListDevices, v1::ListDevicesRequest(),
                      "list devices");
}

Status KprofClient::WatchDevices(const v1::WatchDevicesRequest& request,
                                 const OnMessage<v1::WatchDevicesResponse>& on_message, std::stop_token stop) {
  return state_->Stream(Repeat::kAlways, &Connection::node, &v1::NodeService::Stub::WatchDevices, request, on_message,
                        stop, "watch devices");
}

Result<v1::ListAuditResponse> KprofClient::ListAudit(const v1::ListAuditRequest& request) {
  return state_->Call(Repeat::kAlways, &Connection::node, &v1::NodeService::Stub::ListAudit, request, "list the audit");
}

// The same number again is the same.
Result<v1::RecordCeilingResponse> KprofClient::RecordCeiling(const v1::RecordCeilingRequest& request) {
  return state_->Call(Repeat::kAlways, &Connection::node, &v1::NodeService::Stub::RecordCeiling, request,
                      "record a ceiling of run " + request.run_id());
}

Result<v1::ForgetCeilingsResponse> KprofClient::ForgetCeilings(const std::string& device_id) {
  v1::ForgetCeilingsRequest request;
  request.set_device_id(device_id);
  return state_->Call(Repeat::kNever, &Connection::node, &v1::NodeService::Stub::ForgetCeilings, request,
                      "forget the ceilings of device " + device_id);
}

Result<v1::DiagnoseResponse> KprofClient::Diagnose() {
  return state_->Call(Repeat::kAlways, &Connection::node, &v1::NodeService::Stub::Diagnose, v1::DiagnoseRequest(),
                      "diagnose the node");
}

Status KprofClient::BackUpCatalog(const OnMessage<v1::BackUpCatalogResponse>& on_message, std::stop_token stop) {
  return state_->Stream(Repeat::kAlways, &Connection::node, &v1::NodeService::Stub::BackUpCatalog,
                        v1::BackUpCatalogRequest(), on_message, stop, "back up the catalog");
}

Result<v1::Run> KprofClient::SubmitRun(const v1::SubmitRunRequest& request) {
  ASSIGN_OR_RETURN(auto response, state_->Call(Repeat::kNever, &Connection::runs, &v1::RunsService::Stub::SubmitRun,
                                               request, "submit a run"));
  return std::move(*response.mutable_run());
}

Result<std::string> KprofClient::UploadSource(const v1::UploadSourceRequest::Header& header,
                                              const std::function<Result<std::string>()>& next_chunk) {
  const std::string what = "send '" + ReadableText(header.name()) + "'";
  ASSIGN_OR_RETURN(const std::shared_ptr<Connection> connection, state_->Current());
  grpc::ClientContext context;
  v1::UploadSourceResponse response;
  std::unique_ptr<grpc::ClientWriter<v1::UploadSourceRequest>> writer =
      connection->runs->UploadSource(&context, &response);
  v1::UploadSourceRequest request;
  *request.mutable_header() = header;
  int64_t sent_bytes = 0;
  bool open = writer->Write(request);
  while (open) {
    Result<std::string> chunk = next_chunk();
    if (!chunk.ok()) {
      context.TryCancel();
      (void)writer->Finish();
      return chunk.status();
    }
    if (chunk->empty()) break;
    sent_bytes += static_cast<int64_t>(chunk->size());
    request.set_data(*std::move(chunk));
    open = writer->Write(request);
  }
  if (open) {
    request.set_sent_bytes(sent_bytes);
    writer->Write(request);
    writer->WritesDone();
  }
  RETURN_IF_ERROR(state_->Translate(writer->Finish(), what, *connection));
  return std::move(*response.mutable_ticket());
}

Result<v1::SubmitImportResponse> KprofClient::SubmitImport(const v1::SubmitImportRequest& request,
                                                           std::stop_token stop) {
  return state_->Call(Repeat::kNever, &Connection::runs, &v1::RunsService::Stub::SubmitImport, request,
                      "submit an import", stop);
}

Result<v1::GetRunResponse> KprofClient::GetRun(const std::string& id) {
  v1::GetRunRequest request;
  request.set_id(id);
  return state_->Call(Repeat::kAlways, &Connection::runs, &v1::RunsService::Stub::GetRun, request,
                      RunNamed("look up", id));
}

Result<v1::ListRunsResponse> KprofClient::ListRuns(const v1::ListRunsRequest& request) {
  return state_->Call(Repeat::kAlways, &Connection::runs, &v1::RunsService::Stub::ListRuns, request, "list runs");
}

Status KprofClient::WatchRun(const v1::WatchRunRequest& request, const OnMessage<v1::WatchRunResponse>& on_message,
                             std::stop_token stop) {
  return state_->Stream(Repeat::kAlways, &Connection::runs, &v1::RunsService::Stub::WatchRun, request, on_message, stop,
                        RunNamed("follow", request.id()));
}

Result<v1::Run> KprofClient::WaitRun(const std::string& id, std::stop_token stop) {
  v1::WaitRunRequest request;
  request.set_id(id);
  ASSIGN_OR_RETURN(auto response, state_->Call(Repeat::kAlways, &Connection::runs, &v1::RunsService::Stub::WaitRun,
                                               request, RunNamed("wait for", id), stop));
  return std::move(*response.mutable_run());
}

Result<v1::Run> KprofClient::CancelRun(const v1::CancelRunRequest& request) {
  ASSIGN_OR_RETURN(auto response,
                   state_->Call(Repeat::kWhenNotHeard, &Connection::runs, &v1::RunsService::Stub::CancelRun, request,
                                RunNamed("cancel", request.id())));
  return std::move(*response.mutable_run());
}

Result<std::string> KprofClient::DeleteRun(const std::string& id) {
  v1::DeleteRunRequest request;
  request.set_id(id);
  ASSIGN_OR_RETURN(auto response, state_->Call(Repeat::kWhenNotHeard, &Connection::runs,
                                               &v1::RunsService::Stub::DeleteRun, request, RunNamed("delete", id)));
  return std::move(*response.mutable_id());
}

Result<v1::Run> KprofClient::PinRun(const std::string& id) {
  v1::PinRunRequest request;
  request.set_id(id);
  ASSIGN_OR_RETURN(auto response, state_->Call(Repeat::kAlways, &Connection::runs, &v1::RunsService::Stub::PinRun,
                                               request, RunNamed("pin", id)));
  return std::move(*response.mutable_run());
}

Result<v1::Run> KprofClient::UnpinRun(const std::string& id) {
  v1::UnpinRunRequest request;
  request.set_id(id);
  ASSIGN_OR_RETURN(auto response, state_->Call(Repeat::kAlways, &Connection::runs, &v1::RunsService::Stub::UnpinRun,
                                               request, RunNamed("unpin", id)));
  return std::move(*response.mutable_run());
}

Status KprofClient::ReadLog(const v1::ReadLogRequest& request, const OnMessage<v1::ReadLogResponse>& on_message,
                            std::stop_token stop) {
  return state_->Stream(Repeat::kAlways, &Connection::runs, &v1::RunsService::Stub::ReadLog, request, on_message, stop,
                        RunNamed("read the log of", request.id()));
}

Result<v1::ListToolsResponse> KprofClient::ListTools() {
  return state_->Call(Repeat::kAlways, &Connection::runs, &v1::RunsService::Stub::ListTools, v1::ListToolsRequest(),
                      "list the tools");
}

Result<v1::ListArtifactsResponse> KprofClient::ListArtifacts(const std::string& id) {
  v1::ListArtifactsRequest request;
  request.set_id(id);
  v1::ListArtifactsResponse all;
  do {
    ASSIGN_OR_RETURN(v1::ListArtifactsResponse page,
                     state_->Call(Repeat::kAlways, &Connection::runs, &v1::RunsService::Stub::ListArtifacts, request,
                                  RunNamed("list the artifacts of", id)));
    for (v1::Artifact& artifact : *page.mutable_artifacts()) all.add_artifacts()->Swap(&artifact);
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  return all;
}

Status KprofClient::DownloadArtifact(const v1::DownloadArtifactRequest& request,
                                     const OnMessage<v1::DownloadArtifactResponse>& on_message, std::stop_token stop) {
  return state_->Stream(Repeat::kAlways, &Connection::runs, &v1::RunsService::Stub::DownloadArtifact, request,
                        on_message, stop, "get artifact " + request.name() + " of run " + request.id());
}

Result<v1::Artifact> KprofClient::UploadArtifact(const v1::UploadArtifactRequest::Header& header,
                                                 const std::function<Result<std::string>()>& next_chunk) {
  const std::string what = "put artifact " + header.name() + " into run " + header.id();
  ASSIGN_OR_RETURN(const std::shared_ptr<Connection> connection, state_->Current());
  grpc::ClientContext context;
  v1::UploadArtifactResponse response;
  std::unique_ptr<grpc::ClientWriter<v1::UploadArtifactRequest>> writer =
      connection->runs->UploadArtifact(&context, &response);
  v1::UploadArtifactRequest request;
  *request.mutable_header() = header;
  Sha256 sum;
  bool open = writer->Write(request);
  while (open) {
    Result<std::string> chunk = next_chunk();
    if (!chunk.ok()) {
      context.TryCancel();
      (void)writer->Finish();
      return chunk.status();
    }
    if (chunk->empty()) break;
    sum.Add(*chunk);
    request.set_data(*std::move(chunk));
    open = writer->Write(request);
  }
  if (open) {
    request.set_sha256(sum.Finish());
    writer->Write(request);
    writer->WritesDone();
  }
  RETURN_IF_ERROR(state_->Translate(writer->Finish(), what, *connection));
  return std::move(*response.mutable_artifact());
}

Status KprofClient::ExportRun(const v1::ExportRunRequest& request, const OnMessage<v1::ExportRunResponse>& on_message,
                              std::stop_token stop) {
  return state_->Stream(Repeat::kAlways, &Connection::runs, &v1::RunsService::Stub::ExportRun, request, on_message,
                        stop, RunNamed("export", request.id()));
}

Status KprofClient::OpenSession(const v1::OpenSessionRequest& request,
                                const OnMessage<v1::OpenSessionResponse>& on_message, std::stop_token stop) {
  return state_->Stream(Repeat::kWhenNotHeard, &Connection::sessions, &v1::SessionsService::Stub::OpenSession, request,
                        on_message, stop, "open a session");
}

Result<v1::Session> KprofClient::CloseSession(const std::string& id, std::stop_token stop) {
  v1::CloseSessionRequest request;
  request.set_id(id);
  ASSIGN_OR_RETURN(auto response,
                   state_->Call(Repeat::kWhenNotHeard, &Connection::sessions, &v1::SessionsService::Stub::CloseSession,
                                request, SessionNamed("close", id), stop));
  return std::move(*response.mutable_session());
}

Result<v1::GetSessionResponse> KprofClient::GetSession(const std::string& id) {
  v1::GetSessionRequest request;
  request.set_id(id);
  return state_->Call(Repeat::kAlways, &Connection::sessions, &v1::SessionsService::Stub::GetSession, request,
                      SessionNamed("look up", id));
}

Result<v1::ListSessionsResponse> KprofClient::ListSessions(const v1::ListSessionsRequest& request) {
  return state_->Call(Repeat::kAlways, &Connection::sessions, &v1::SessionsService::Stub::ListSessions, request,
                      "list sessions");
}

Result<v1::ListRoundsResponse> KprofClient::ListRounds(const std::string& session_id) {
  v1::ListRoundsRequest request;
  request.set_session_id(session_id);
  v1::ListRoundsResponse all;
  do {
    ASSIGN_OR_RETURN(v1::ListRoundsResponse page,
                     state_->Call(Repeat::kAlways, &Connection::sessions, &v1::SessionsService::Stub::ListRounds,
                                  request, SessionNamed("list the rounds of", session_id)));
    request.set_page_token(page.next_page_token());
    all.MergeFrom(page);
  } while (!request.page_token().empty());
  all.clear_next_page_token();
  return all;
}

Status KprofClient::Query(const v1::QueryRequest& request, const OnMessage<v1::QueryResponse>& on_message,
                          std::stop_token stop) {
  return state_->Stream(Repeat::kAlways, &Connection::queries, &v1::QueriesService::Stub::Query, request, on_message,
                        stop, "run the query");
}

Result<v1::ListAnalysesResponse> KprofClient::ListAnalyses() {
  return state_->Call(Repeat::kAlways, &Connection::analyses, &v1::AnalysisService::Stub::ListAnalyses,
                      v1::ListAnalysesRequest(), "list the analyses");
}

Status KprofClient::Analyze(const v1::AnalyzeRequest& request, const OnMessage<v1::AnalyzeResponse>& on_message,
                            std::stop_token stop) {
  return state_->Stream(Repeat::kAlways, &Connection::analyses, &v1::AnalysisService::Stub::Analyze, request,
                        on_message, stop, "analyze");
}

Status KprofClient::GetReport(const v1::GetReportRequest& request, const OnMessage<v1::GetReportResponse>& on_message,
                              std::stop_token stop) {
  return state_->Stream(Repeat::kAlways, &Connection::analyses, &v1::AnalysisService::Stub::GetReport, request,
                        on_message, stop, "report");
}

}  // namespace kprof
