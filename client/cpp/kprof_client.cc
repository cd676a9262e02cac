#include "client/cpp/kprof_client.h"

#include <fcntl.h>
#include <grpc/grpc.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>

#include "client/cpp/rpc_error.h"
#include "client/cpp/tls_tunnel.h"
#include "client/cpp/version.h"
#include "kprof/v1/node.grpc.pb.h"
#include "kprof/v1/queries.grpc.pb.h"
#include "kprof/v1/runs.grpc.pb.h"
#include "kprof/v1/sessions.grpc.pb.h"
#include "storage/base/sha256.h"
#include "storage/base/unique_fd.h"

namespace kprof {
namespace {

// A page of runs with long command lines is larger than gRPC's 4 MiB.
constexpr int kMessageLimitBytes = 64 << 20;

Status NoDaemon(const std::string& path, const std::string& why) {
  return Fail(ErrorCode::kNoDaemon, "reach kprofd", "no daemon at " + path + " (" + why + ")",
              "start one with 'kprofd --user'");
}

// We connect ourselves and hand gRPC the descriptor: no resolver, no reconnecting behind our back, and errno says
// exactly what is wrong.
Result<UniqueFd> ConnectSocket(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return Fail(ErrorCode::kUsage, "reach kprofd", "'" + path + "' is not a possible socket path",
                "name one of 1 to " + std::to_string(sizeof(address.sun_path) - 1) + " bytes with --socket");
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return FailErrno(errno, "make a socket");
  int rc;
  do {
    rc = ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  } while (rc != 0 && errno == EINTR);
  if (rc != 0) {
    if (errno == EACCES || errno == EPERM) {
      return Fail(ErrorCode::kNotPermitted, "reach kprofd", "the socket " + path + " may not be opened by this user",
                  "ask who runs that daemon, or start one with 'kprofd --user'");
    }
    return NoDaemon(path, std::generic_category().message(errno));
  }
  int flags = ::fcntl(fd.get(), F_GETFL);
  if (flags < 0 || ::fcntl(fd.get(), F_SETFL, flags | O_NONBLOCK) != 0) return FailErrno(errno, "set up a socket");
  return fd;
}

std::shared_ptr<grpc::Channel> NewChannel(UniqueFd fd) {
  // gRPC stays up: the last channel's end would otherwise shut it down, and wait up to 10 s for a poller of its own
  // that it has once a write met a full socket.
  static const bool stays_up = (grpc_init(), true);
  (void)stays_up;
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMessageLimitBytes);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  return grpc::CreateCustomInsecureChannelFromFd("kprofd", fd.Release(), arguments);  // gRPC closes it
}

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

struct KprofClient::Stubs {
  Stubs(std::unique_ptr<TlsTunnel> tunnel, const std::shared_ptr<grpc::Channel>& channel, std::string socket_path,
        int64_t deadline_ms)
      : tunnel(std::move(tunnel)),
        node(v1::NodeService::NewStub(channel)),
        runs(v1::RunsService::NewStub(channel)),
        queries(v1::QueriesService::NewStub(channel)),
        sessions(v1::SessionsService::NewStub(channel)),
        socket_path(std::move(socket_path)),
        deadline_ms(deadline_ms) {}

  void SetDeadline(grpc::ClientContext& context) const {
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(deadline_ms));
  }

  Status Translate(const grpc::Status& status, const std::string& what) {
    if (status.ok()) return OkStatus();
    if (status.error_code() == grpc::UNIMPLEMENTED && status.error_details().empty()) {
      grpc::ClientContext context;
      SetDeadline(context);
      v1::GetStatusResponse response;
      grpc::Status asked = node->GetStatus(&context, v1::GetStatusRequest(), &response);
      return VersionMismatch(what, asked.ok() ? response.version() : "", ClientVersion());
    }
    return StatusOfRpc(FailureOf(status), what);
  }

  template <typename Stub, typename Request, typename Response>
  Result<Response> Call(Stub& stub, grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                        const Request& request, const std::string& what) {
    grpc::ClientContext context;
    SetDeadline(context);
    Response response;
    RETURN_IF_ERROR(Translate((stub.*method)(&context, request, &response), what));
    return response;
  }

  template <typename Response, typename Open>
  Status Stream(const Open& open, const OnMessage<Response>& on_message, const std::stop_token& stop,
                const std::string& what) {
    grpc::ClientContext context;
    std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
    auto reader = open(context);
    Response response;
    Status refused;
    while (refused.ok() && reader->Read(&response)) refused = on_message(response);
    if (!refused.ok()) context.TryCancel();
    grpc::Status status = reader->Finish();
    if (!refused.ok()) return refused;
    if (!status.ok() && stop.stop_requested()) return Fail(ErrorCode::kCancelled, what, "stopped by the caller");
    return Translate(status, what);
  }

  // Set once.
  std::unique_ptr<TlsTunnel> tunnel;  // to another node; ends after the channel
  std::unique_ptr<v1::NodeService::Stub> node;
  std::unique_ptr<v1::RunsService::Stub> runs;
  std::unique_ptr<v1::QueriesService::Stub> queries;
  std::unique_ptr<v1::SessionsService::Stub> sessions;
  std::string socket_path;
  int64_t deadline_ms;
};

KprofClient::KprofClient(std::unique_ptr<Stubs> stubs) : stubs_(std::move(stubs)) {}
KprofClient::~KprofClient() = default;

const std::string& KprofClient::socket_path() const {
  return stubs_->socket_path;
}

Result<std::unique_ptr<KprofClient>> KprofClient::Connect(const std::string& socket_path, int64_t deadline_ms) {
  ASSIGN_OR_RETURN(UniqueFd fd, ConnectSocket(socket_path));
  return std::unique_ptr<KprofClient>(
      new KprofClient(std::make_unique<Stubs>(nullptr, NewChannel(std::move(fd)), socket_path, deadline_ms)));
}

Result<std::unique_ptr<KprofClient>> KprofClient::ConnectToNode(const NodeAddress& address, int64_t deadline_ms) {
  ASSIGN_OR_RETURN(std::unique_ptr<TlsTunnel> tunnel, TlsTunnel::Open(address));
  std::shared_ptr<grpc::Channel> channel = NewChannel(tunnel->TakePlainEnd());
  TlsTunnel& opened = *tunnel;
  std::unique_ptr<KprofClient> client(
      new KprofClient(std::make_unique<Stubs>(std::move(tunnel), channel, "", deadline_ms)));
  RETURN_IF_ERROR(opened.AwaitFirstWords());
  return client;
}

Result<v1::GetStatusResponse> KprofClient::GetStatus() {
  return stubs_->Call(*stubs_->node, &v1::NodeService::Stub::GetStatus, v1::GetStatusRequest(), "ask for the status");
}

Result<v1::ListDevicesResponse> KprofClient::ListDevices() {
  return stubs_->Call(*stubs_->node, &v1::NodeService::Stub::ListDevices, v1::ListDevicesRequest(), "list devices");
}

Result<v1::ListAuditResponse> KprofClient::ListAudit(const v1::ListAuditRequest& request) {
  return stubs_->Call(*stubs_->node, &v1::NodeService::Stub::ListAudit, request, "list the audit");
}

Result<v1::DiagnoseResponse> KprofClient::Diagnose() {
  return stubs_->Call(*stubs_->node, &v1::NodeService::Stub::Diagnose, v1::DiagnoseRequest(), "diagnose the node");
}

Status KprofClient::BackUpCatalog(const OnMessage<v1::BackUpCatalogResponse>& on_message, std::stop_token stop) {
  return stubs_->Stream<v1::BackUpCatalogResponse>(
      [&](grpc::ClientContext& context) { return stubs_->node->BackUpCatalog(&context, v1::BackUpCatalogRequest()); },
      on_message, stop, "back up the catalog");
}

Result<v1::Run> KprofClient::SubmitRun(const v1::SubmitRunRequest& request) {
  ASSIGN_OR_RETURN(auto response,
                   stubs_->Call(*stubs_->runs, &v1::RunsService::Stub::SubmitRun, request, "submit a run"));
  return std::move(*response.mutable_run());
}

Result<v1::Run> KprofClient::GetRun(const std::string& id) {
  v1::GetRunRequest request;
  request.set_id(id);
  ASSIGN_OR_RETURN(auto response,
                   stubs_->Call(*stubs_->runs, &v1::RunsService::Stub::GetRun, request, RunNamed("look up", id)));
  return std::move(*response.mutable_run());
}

Result<v1::ListRunsResponse> KprofClient::ListRuns(const v1::ListRunsRequest& request) {
  return stubs_->Call(*stubs_->runs, &v1::RunsService::Stub::ListRuns, request, "list runs");
}

Status KprofClient::WatchRun(const v1::WatchRunRequest& request, const OnMessage<v1::WatchRunResponse>& on_message,
                             std::stop_token stop) {
  return stubs_->Stream<v1::WatchRunResponse>(
      [&](grpc::ClientContext& context) { return stubs_->runs->WatchRun(&context, request); }, on_message, stop,
      RunNamed("follow", request.id()));
}

Result<v1::Run> KprofClient::WaitRun(const std::string& id, std::stop_token stop) {
  grpc::ClientContext context;
  std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
  v1::WaitRunRequest request;
  request.set_id(id);
  v1::WaitRunResponse response;
  RETURN_IF_ERROR(stubs_->Translate(stubs_->runs->WaitRun(&context, request, &response), RunNamed("wait for", id)));
  return std::move(*response.mutable_run());
}

Result<v1::Run> KprofClient::CancelRun(const v1::CancelRunRequest& request) {
  ASSIGN_OR_RETURN(auto response, stubs_->Call(*stubs_->runs, &v1::RunsService::Stub::CancelRun, request,
                                               RunNamed("cancel", request.id())));
  return std::move(*response.mutable_run());
}

Result<std::string> KprofClient::DeleteRun(const std::string& id) {
  v1::DeleteRunRequest request;
  request.set_id(id);
  ASSIGN_OR_RETURN(auto response,
                   stubs_->Call(*stubs_->runs, &v1::RunsService::Stub::DeleteRun, request, RunNamed("delete", id)));
  return std::move(*response.mutable_id());
}

Result<v1::Run> KprofClient::PinRun(const std::string& id) {
  v1::PinRunRequest request;
  request.set_id(id);
  ASSIGN_OR_RETURN(auto response,
                   stubs_->Call(*stubs_->runs, &v1::RunsService::Stub::PinRun, request, RunNamed("pin", id)));
  return std::move(*response.mutable_run());
}

Result<v1::Run> KprofClient::UnpinRun(const std::string& id) {
  v1::UnpinRunRequest request;
  request.set_id(id);
  ASSIGN_OR_RETURN(auto response,
                   stubs_->Call(*stubs_->runs, &v1::RunsService::Stub::UnpinRun, request, RunNamed("unpin", id)));
  return std::move(*response.mutable_run());
}

Status KprofClient::ReadLog(const v1::ReadLogRequest& request, const OnMessage<v1::ReadLogResponse>& on_message,
                            std::stop_token stop) {
  return stubs_->Stream<v1::ReadLogResponse>(
      [&](grpc::ClientContext& context) { return stubs_->runs->ReadLog(&context, request); }, on_message, stop,
      RunNamed("read the log of", request.id()));
}

Result<v1::ListArtifactsResponse> KprofClient::ListArtifacts(const std::string& id) {
  v1::ListArtifactsRequest request;
  request.set_id(id);
  v1::ListArtifactsResponse all;
  do {
    ASSIGN_OR_RETURN(v1::ListArtifactsResponse page, stubs_->Call(*stubs_->runs, &v1::RunsService::Stub::ListArtifacts,
                                                                  request, RunNamed("list the artifacts of", id)));
    for (v1::Artifact& artifact : *page.mutable_artifacts()) all.add_artifacts()->Swap(&artifact);
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  return all;
}

Status KprofClient::DownloadArtifact(const v1::DownloadArtifactRequest& request,
                                     const OnMessage<v1::DownloadArtifactResponse>& on_message, std::stop_token stop) {
  return stubs_->Stream<v1::DownloadArtifactResponse>(
      [&](grpc::ClientContext& context) { return stubs_->runs->DownloadArtifact(&context, request); }, on_message, stop,
      "get artifact " + request.name() + " of run " + request.id());
}

Result<v1::Artifact> KprofClient::UploadArtifact(const v1::UploadArtifactRequest::Header& header,
                                                 const std::function<Result<std::string>()>& next_chunk) {
  const std::string what = "put artifact " + header.name() + " into run " + header.id();
  grpc::ClientContext context;
  v1::UploadArtifactResponse response;
  std::unique_ptr<grpc::ClientWriter<v1::UploadArtifactRequest>> writer =
      stubs_->runs->UploadArtifact(&context, &response);
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
  RETURN_IF_ERROR(stubs_->Translate(writer->Finish(), what));
  return std::move(*response.mutable_artifact());
}

Status KprofClient::OpenSession(const v1::OpenSessionRequest& request,
                                const OnMessage<v1::OpenSessionResponse>& on_message, std::stop_token stop) {
  return stubs_->Stream<v1::OpenSessionResponse>(
      [&](grpc::ClientContext& context) { return stubs_->sessions->OpenSession(&context, request); }, on_message, stop,
      "open a session");
}

Result<v1::Session> KprofClient::CloseSession(const std::string& id, std::stop_token stop) {
  grpc::ClientContext context;
  std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
  v1::CloseSessionRequest request;
  request.set_id(id);
  v1::CloseSessionResponse response;
  RETURN_IF_ERROR(
      stubs_->Translate(stubs_->sessions->CloseSession(&context, request, &response), SessionNamed("close", id)));
  return std::move(*response.mutable_session());
}

Result<v1::Session> KprofClient::GetSession(const std::string& id) {
  v1::GetSessionRequest request;
  request.set_id(id);
  ASSIGN_OR_RETURN(auto response, stubs_->Call(*stubs_->sessions, &v1::SessionsService::Stub::GetSession, request,
                                               SessionNamed("look up", id)));
  return std::move(*response.mutable_session());
}

Result<v1::ListSessionsResponse> KprofClient::ListSessions(const v1::ListSessionsRequest& request) {
  return stubs_->Call(*stubs_->sessions, &v1::SessionsService::Stub::ListSessions, request, "list sessions");
}

Result<v1::ListRoundsResponse> KprofClient::ListRounds(const std::string& session_id) {
  v1::ListRoundsRequest request;
  request.set_session_id(session_id);
  v1::ListRoundsResponse all;
  do {
    ASSIGN_OR_RETURN(v1::ListRoundsResponse page,
                     stubs_->Call(*stubs_->sessions, &v1::SessionsService::Stub::ListRounds, request,
                                  SessionNamed("list the rounds of", session_id)));
    request.set_page_token(page.next_page_token());
    all.MergeFrom(page);
  } while (!request.page_token().empty());
  all.clear_next_page_token();
  return all;
}

Status KprofClient::Query(const v1::QueryRequest& request, const OnMessage<v1::QueryResponse>& on_message,
                          std::stop_token stop) {
  return stubs_->Stream<v1::QueryResponse>(
      [&](grpc::ClientContext& context) { return stubs_->queries->Query(&context, request); }, on_message, stop,
      "run the query");
}

}  // namespace kprof
