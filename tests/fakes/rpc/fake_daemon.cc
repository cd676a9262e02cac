#include "tests/fakes/rpc/fake_daemon.h"

#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <chrono>

#include "kprof/v1/analyses.grpc.pb.h"
#include "kprof/v1/error.pb.h"
#include "kprof/v1/node.grpc.pb.h"
#include "kprof/v1/queries.grpc.pb.h"
#include "kprof/v1/runs.grpc.pb.h"
#include "kprof/v1/sessions.grpc.pb.h"
#include "storage/crypto/sha256.h"

namespace kprof {
namespace {

grpc::Status ToGrpc(const Status& status) {
  if (status.ok()) return grpc::Status::OK;
  v1::ErrorDetail detail;
  detail.set_code(std::string(ErrorName(status.code())));
  detail.set_what(status.what());
  detail.set_why(status.why());
  detail.set_remedy(status.remedy());
  v1::RpcStatus wire;
  wire.set_code(static_cast<int>(CanonicalOf(status.code())));
  wire.set_message(status.ToString());
  wire.add_details()->PackFrom(detail);
  return grpc::Status(static_cast<grpc::StatusCode>(wire.code()), wire.message(), wire.SerializeAsString());
}

grpc::Status Unimplemented() {
  return grpc::Status(grpc::UNIMPLEMENTED, "");
}

template <typename Call, typename Request, typename Response>
grpc::Status Answer(const Call& call, const Request* request, Response* response) {
  return call ? ToGrpc(call(*request, *response)) : Unimplemented();
}

template <typename Call, typename Request, typename Response>
grpc::Status Answer(const Call& call, grpc::ServerContext* context, const Request* request,
                    grpc::ServerWriter<Response>* writer) {
  if (!call) return Unimplemented();
  FakeStream<Response> stream = {[writer](const Response& message) { return writer->Write(message); },
                                 [context] { return context->IsCancelled(); }};
  return ToGrpc(call(*request, stream));
}

class Node final : public v1::NodeService::Service {
 public:
  explicit Node(const FakeDaemon::Calls& calls) : calls_(calls) {}

  grpc::Status GetStatus(grpc::ServerContext*, const v1::GetStatusRequest* request,
                         v1::GetStatusResponse* response) override {
    return Answer(calls_.get_status, request, response);
  }
  grpc::Status ListAudit(grpc::ServerContext*, const v1::ListAuditRequest* request,
                         v1::ListAuditResponse* response) override {
    return Answer(calls_.list_audit, request, response);
  }
  grpc::Status ListDevices(grpc::ServerContext*, const v1::ListDevicesRequest* request,
                           v1::ListDevicesResponse* response) override {
    return Answer(calls_.list_devices, request, response);
  }
  grpc::Status WatchDevices(grpc::ServerContext* context, const v1::WatchDevicesRequest* request,
                            grpc::ServerWriter<v1::WatchDevicesResponse>* writer) override {
    return Answer(calls_.watch_devices, context, request, writer);
  }
  grpc::Status RecordCeiling(grpc::ServerContext*, const v1::RecordCeilingRequest* request,
                             v1::RecordCeilingResponse* response) override {
    return Answer(calls_.record_ceiling, request, response);
  }
  grpc::Status ForgetCeilings(grpc::ServerContext*, const v1::ForgetCeilingsRequest* request,
                              v1::ForgetCeilingsResponse* response) override {
    return Answer(calls_.forget_ceilings, request, response);
  }
  grpc::Status Diagnose(grpc::ServerContext*, const v1::DiagnoseRequest* request,
                        v1::DiagnoseResponse* response) override {
    return Answer(calls_.diagnose, request, response);
  }
  grpc::Status BackUpCatalog(grpc::ServerContext* context, const v1::BackUpCatalogRequest* request,
                             grpc::ServerWriter<v1::BackUpCatalogResponse>* writer) override {
    return Answer(calls_.back_up_catalog, context, request, writer);
  }

 private:
  const FakeDaemon::Calls& calls_;
};

class Runs final : public v1::RunsService::Service {
 public:
  explicit Runs(const FakeDaemon::Calls& calls) : calls_(calls) {}

  grpc::Status SubmitRun(grpc::ServerContext*, const v1::SubmitRunRequest* request,
                         v1::SubmitRunResponse* response) override {
    return Answer(calls_.submit_run, request, response);
  }
  grpc::Status GetRun(grpc::ServerContext*, const v1::GetRunRequest* request, v1::GetRunResponse* response) override {
    return Answer(calls_.get_run, request, response);
  }
  grpc::Status ListRuns(grpc::ServerContext*, const v1::ListRunsRequest* request,
                        v1::ListRunsResponse* response) override {
    return Answer(calls_.list_runs, request, response);
  }
  grpc::Status WatchRun(grpc::ServerContext* context, const v1::WatchRunRequest* request,
                        grpc::ServerWriter<v1::WatchRunResponse>* writer) override {
    return Answer(calls_.watch_run, context, request, writer);
  }
  grpc::Status WaitRun(grpc::ServerContext*, const v1::WaitRunRequest* request,
                       v1::WaitRunResponse* response) override {
    return Answer(calls_.wait_run, request, response);
  }
  grpc::Status CancelRun(grpc::ServerContext*, const v1::CancelRunRequest* request,
                         v1::CancelRunResponse* response) override {
    return Answer(calls_.cancel_run, request, response);
  }
  grpc::Status DeleteRun(grpc::ServerContext*, const v1::DeleteRunRequest* request,
                         v1::DeleteRunResponse* response) override {
    return Answer(calls_.delete_run, request, response);
  }
  grpc::Status PinRun(grpc::ServerContext*, const v1::PinRunRequest* request, v1::PinRunResponse* response) override {
    return Answer(calls_.pin_run, request, response);
  }
  grpc::Status UnpinRun(grpc::ServerContext*, const v1::UnpinRunRequest* request,
                        v1::UnpinRunResponse* response) override {
    return Answer(calls_.unpin_run, request, response);
  }
  grpc::Status ReadLog(grpc::ServerContext* context, const v1::ReadLogRequest* request,
                       grpc::ServerWriter<v1::ReadLogResponse>* writer) override {
    return Answer(calls_.read_log, context, request, writer);
  }
  grpc::Status ListTools(grpc::ServerContext*, const v1::ListToolsRequest* request,
                         v1::ListToolsResponse* response) override {
    return Answer(calls_.list_tools, request, response);
  }
  grpc::Status ListArtifacts(grpc::ServerContext*, const v1::ListArtifactsRequest* request,
                             v1::ListArtifactsResponse* response) override {
    return Answer(calls_.list_artifacts, request, response);
  }
  grpc::Status DownloadArtifact(grpc::ServerContext* context, const v1::DownloadArtifactRequest* request,
                                grpc::ServerWriter<v1::DownloadArtifactResponse>* writer) override {
    return Answer(calls_.download_artifact, context, request, writer);
  }
  grpc::Status UploadArtifact(grpc::ServerContext* context, grpc::ServerReader<v1::UploadArtifactRequest>* reader,
                              v1::UploadArtifactResponse* response) override {
    if (!calls_.upload_artifact) return Unimplemented();
    v1::UploadArtifactRequest::Header header;
    std::string bytes;
    std::string sha256;
    v1::UploadArtifactRequest request;
    while (reader->Read(&request)) {
      if (request.has_header()) header = request.header();
      bytes += request.data();
      if (request.has_sha256()) sha256 = request.sha256();
    }
    if (context->IsCancelled()) return grpc::Status::CANCELLED;
    if (sha256 != Sha256Of(bytes)) {
      return ToGrpc(Fail(ErrorCode::kBadInput, "put artifact", "the sum does not match"));
    }
    return ToGrpc(calls_.upload_artifact(header, bytes, *response));
  }
  grpc::Status ExportRun(grpc::ServerContext* context, const v1::ExportRunRequest* request,
                         grpc::ServerWriter<v1::ExportRunResponse>* writer) override {
    return Answer(calls_.export_run, context, request, writer);
  }
  grpc::Status UploadSource(grpc::ServerContext* context, grpc::ServerReader<v1::UploadSourceRequest>* reader,
                            v1::UploadSourceResponse* response) override {
    if (!calls_.upload_source) return Unimplemented();
    v1::UploadSourceRequest::Header header;
    std::string bytes;
    int64_t sent_bytes = -1;
    v1::UploadSourceRequest request;
    while (reader->Read(&request)) {
      if (request.has_header()) header = request.header();
      bytes += request.data();
      if (request.has_sent_bytes()) sent_bytes = request.sent_bytes();
    }
    if (context->IsCancelled()) return grpc::Status::CANCELLED;
    if (sent_bytes != static_cast<int64_t>(bytes.size())) {
      return ToGrpc(Fail(ErrorCode::kBadInput, "import", "another number of bytes came"));
    }
    return ToGrpc(calls_.upload_source(header, bytes, *response));
  }
  grpc::Status SubmitImport(grpc::ServerContext*, const v1::SubmitImportRequest* request,
                            v1::SubmitImportResponse* response) override {
    return Answer(calls_.submit_import, request, response);
  }

 private:
  const FakeDaemon::Calls& calls_;
};

class Queries final : public v1::QueriesService::Service {
 public:
  explicit Queries(const FakeDaemon::Calls& calls) : calls_(calls) {}

  grpc::Status Query(grpc::ServerContext* context, const v1::QueryRequest* request,
                     grpc::ServerWriter<v1::QueryResponse>* writer) override {
    return Answer(calls_.query, context, request, writer);
  }

 private:
  const FakeDaemon::Calls& calls_;
};

class Analyses final : public v1::AnalysisService::Service {
 public:
  explicit Analyses(const FakeDaemon::Calls& calls) : calls_(calls) {}

  grpc::Status ListAnalyses(grpc::ServerContext*, const v1::ListAnalysesRequest* request,
                            v1::ListAnalysesResponse* response) override {
    return Answer(calls_.list_analyses, request, response);
  }
  grpc::Status Analyze(grpc::ServerContext* context, const v1::AnalyzeRequest* request,
                       grpc::ServerWriter<v1::AnalyzeResponse>* writer) override {
    return Answer(calls_.analyze, context, request, writer);
  }
  grpc::Status GetReport(grpc::ServerContext* context, const v1::GetReportRequest* request,
                         grpc::ServerWriter<v1::GetReportResponse>* writer) override {
    return Answer(calls_.get_report, context, request, writer);
  }

 private:
  const FakeDaemon::Calls& calls_;
};

class Sessions final : public v1::SessionsService::Service {
 public:
  explicit Sessions(const FakeDaemon::Calls& calls) : calls_(calls) {}

  grpc::Status OpenSession(grpc::ServerContext* context, const v1::OpenSessionRequest* request,
                           grpc::ServerWriter<v1::OpenSessionResponse>* writer) override {
    return Answer(calls_.open_session, context, request, writer);
  }
  grpc::Status CloseSession(grpc::ServerContext*, const v1::CloseSessionRequest* request,
                            v1::CloseSessionResponse* response) override {
    return Answer(calls_.close_session, request, response);
  }
  grpc::Status GetSession(grpc::ServerContext*, const v1::GetSessionRequest* request,
                          v1::GetSessionResponse* response) override {
    return Answer(calls_.get_session, request, response);
  }
  grpc::Status ListSessions(grpc::ServerContext*, const v1::ListSessionsRequest* request,
                            v1::ListSessionsResponse* response) override {
    return Answer(calls_.list_sessions, request, response);
  }
  grpc::Status ListRounds(grpc::ServerContext*, const v1::ListRoundsRequest* request,
                          v1::ListRoundsResponse* response) override {
    return Answer(calls_.list_rounds, request, response);
  }

 private:
  const FakeDaemon::Calls& calls_;
};

}  // namespace

struct FakeDaemon::Server {
  explicit Server(const Calls& calls) : node(calls), runs(calls), queries(calls), analyses(calls), sessions(calls) {}

  Node node;
  Runs runs;
  Queries queries;
  Analyses analyses;
  Sessions sessions;
  std::unique_ptr<grpc::Server> grpc;
};

FakeDaemon::FakeDaemon(std::string socket_path) : socket_path_(std::move(socket_path)) {}
FakeDaemon::~FakeDaemon() {
  Stop();
}

void FakeDaemon::Start() {
  KPROF_CHECK(server_ == nullptr);
  ::unlink(socket_path_.c_str());
  server_ = std::make_unique<Server>(calls);
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + socket_path_, grpc::InsecureServerCredentials());
  builder.RegisterService(&server_->node);
  builder.RegisterService(&server_->runs);
  builder.RegisterService(&server_->queries);
  builder.RegisterService(&server_->analyses);
  builder.RegisterService(&server_->sessions);
  server_->grpc = builder.BuildAndStart();
  KPROF_CHECK(server_->grpc != nullptr);
}

void FakeDaemon::Stop() {
  if (server_ == nullptr) return;
  server_->grpc->Shutdown(std::chrono::system_clock::now());
  server_.reset();
  ::unlink(socket_path_.c_str());
}

}  // namespace kprof
