// kprofd's API for C++ programs: one method per call of kprof.v1, Status and Result instead of gRPC's types. The
// messages are explained in proto/kprof/v1. The caller chooses the daemon (client/cli/find_daemon.h).
//
// One connection at a time. Each restart of the daemon breaks it. Then a lost request is sent again to the daemon that
// listens now, where that does no harm: requests that read or can be repeated, unless a stream has begun to answer, and
// some others if the daemon says that it has not done them. All other lost requests, and requests to a daemon that does
// not answer, fail with kNoDaemon (followers.h goes on with a run). Any thread, also several at once. Every method
// blocks: a call with one answer for at most the deadline each time, a stream until it ends, `stop` is requested or the
// callback fails.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "client/cpp/node_address.h"
#include "kprof/v1/analyses.pb.h"
#include "kprof/v1/node.pb.h"
#include "kprof/v1/queries.pb.h"
#include "kprof/v1/runs.pb.h"
#include "kprof/v1/sessions.pb.h"
#include "storage/base/status.h"

namespace kprof {

// The version of this build of the client, as `kprofctl --version` says it: "0.1.0".
std::string_view ClientVersion();

class KprofClient {
 public:
  // Fails with kNoDaemon when nobody listens there, kNotPermitted when the socket is not for us.
  // `deadline_ms` holds for each call with one answer, WaitRun excepted.
  static Result<std::unique_ptr<KprofClient>> Connect(const std::string& socket_path, int64_t deadline_ms = 30'000);
  // To a daemon on another node, over TLS. Fails with kNoDaemon when nobody answers there, kNotPermitted when one side
  // does not accept the other's certificate, kBadInput for files that cannot be used; says which.
  static Result<std::unique_ptr<KprofClient>> ConnectToNode(const NodeAddress& address, int64_t deadline_ms = 30'000);
  ~KprofClient();
  KprofClient(const KprofClient&) = delete;
  KprofClient& operator=(const KprofClient&) = delete;

  // Path of the socket that it is connected to; empty for a daemon on another node.
  const std::string& socket_path() const;

  // Called with each message of a stream; a failure ends the stream and becomes its result.
  template <typename Message>
  using OnMessage = std::function<Status(const Message&)>;

  Result<v1::GetStatusResponse> GetStatus();
  Result<v1::ListDevicesResponse> ListDevices();
  Status WatchDevices(const v1::WatchDevicesRequest& request, const OnMessage<v1::WatchDevicesResponse>& on_message,
                      std::stop_token stop = {});
  Result<v1::RecordCeilingResponse> RecordCeiling(const v1::RecordCeilingRequest& request);
  Result<v1::ForgetCeilingsResponse> ForgetCeilings(const std::string& device_id);
  Result<v1::DiagnoseResponse> Diagnose();
  Result<v1::ListAuditResponse> ListAudit(const v1::ListAuditRequest& request);
  Status BackUpCatalog(const OnMessage<v1::BackUpCatalogResponse>& on_message, std::stop_token stop = {});

  // Never sent again by itself. With an idempotency_key the caller may send it again, if the run is still wanted.
  Result<v1::Run> SubmitRun(const v1::SubmitRunRequest& request);
  // Sends the chunks of `next_chunk` (at most 256 KiB each) until one is empty; its failure is the result. Returns the
  // ticket with which SubmitImport claims the source.
  Result<std::string> UploadSource(const v1::UploadSourceRequest::Header& header,
                                   const std::function<Result<std::string>()>& next_chunk);
  // As SubmitRun, but without a deadline: sources may have to be hashed first.
  Result<v1::SubmitImportResponse> SubmitImport(const v1::SubmitImportRequest& request, std::stop_token stop = {});
  Result<v1::GetRunResponse> GetRun(const std::string& id);
  Result<v1::ListRunsResponse> ListRuns(const v1::ListRunsRequest& request);
  Status WatchRun(const v1::WatchRunRequest& request, const OnMessage<v1::WatchRunResponse>& on_message,
                  std::stop_token stop = {});
  // Has no deadline. A run that failed or was cancelled is a failure with the code of its error.
  Result<v1::Run> WaitRun(const std::string& id, std::stop_token stop = {});
  Result<v1::Run> CancelRun(const v1::CancelRunRequest& request);
  // Returns the whole id of the deleted run.
  Result<std::string> DeleteRun(const std::string& id);
  Result<v1::Run> PinRun(const std::string& id);
  Result<v1::Run> UnpinRun(const std::string& id);
  Status ReadLog(const v1::ReadLogRequest& request, const OnMessage<v1::ReadLogResponse>& on_message,
                 std::stop_token stop = {});

  Result<v1::ListToolsResponse> ListTools();
  // Returns all of them, read page by page.
  Result<v1::ListArtifactsResponse> ListArtifacts(const std::string& id);
  Status DownloadArtifact(const v1::DownloadArtifactRequest& request,
                          const OnMessage<v1::DownloadArtifactResponse>& on_message, std::stop_token stop = {});
  // Sends the chunks of `next_chunk` (at most 256 KiB each) until one is empty; its failure is the result, and nothing
  // is kept.
  Result<v1::Artifact> UploadArtifact(const v1::UploadArtifactRequest::Header& header,
                                      const std::function<Result<std::string>()>& next_chunk);
  Status ExportRun(const v1::ExportRunRequest& request, const OnMessage<v1::ExportRunResponse>& on_message,
                   std::stop_token stop = {});

  // Follows the session until the stream ends: when a detached session is open, when an attached session ends.
  Status OpenSession(const v1::OpenSessionRequest& request, const OnMessage<v1::OpenSessionResponse>& on_message,
                     std::stop_token stop = {});
  // Has no deadline: a run of the session that is running gets its grace first.
  Result<v1::Session> CloseSession(const std::string& id, std::stop_token stop = {});
  Result<v1::GetSessionResponse> GetSession(const std::string& id);
  Result<v1::ListSessionsResponse> ListSessions(const v1::ListSessionsRequest& request);
  // Returns all of them, read page by page.
  Result<v1::ListRoundsResponse> ListRounds(const std::string& session_id);

  Status Query(const v1::QueryRequest& request, const OnMessage<v1::QueryResponse>& on_message,
               std::stop_token stop = {});
  Result<v1::ListAnalysesResponse> ListAnalyses();
  Status Analyze(const v1::AnalyzeRequest& request, const OnMessage<v1::AnalyzeResponse>& on_message,
                 std::stop_token stop = {});
  Status GetReport(const v1::GetReportRequest& request, const OnMessage<v1::GetReportResponse>& on_message,
                   std::stop_token stop = {});

 private:
  struct State;
  explicit KprofClient(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace kprof
