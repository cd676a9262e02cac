// kprofd's API for C++ programs: one method per call of kprof.v1, Status and Result instead of gRPC's types. What the
// messages mean is written in proto/kprof/v1. Which daemon to use is the caller's choice (client/cli/find_daemon.h).
//
// One connection at a time. When it breaks, and with each restart of the daemon it does, what was asked is asked again
// of whoever listens now, where that can do no harm: what reads, unless a stream has begun to answer, and what the
// daemon says it has not done. All else that is lost so, and a daemon that does not answer, is kNoDaemon
// (followers.h goes on with a run). Any thread, also several at once. Every method blocks: calls with one answer for
// at most the deadline each time, streams until they end, `stop` is requested or the callback fails.
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
  // does not accept the other's certificate, kUsage for files that cannot be used; says which.
  static Result<std::unique_ptr<KprofClient>> ConnectToNode(const NodeAddress& address, int64_t deadline_ms = 30'000);
  ~KprofClient();
  KprofClient(const KprofClient&) = delete;
  KprofClient& operator=(const KprofClient&) = delete;

  // The socket that it is connected to; empty for a daemon on another node.
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

  // Never asked again by itself: with an idempotency_key it may be, when somebody still wants the run.
  Result<v1::Run> SubmitRun(const v1::SubmitRunRequest& request);
  // Sends what `next_chunk` gives (at most 256 KiB each) until it gives an empty one; its failure is the result. The
  // ticket that SubmitImport claims it by.
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
  // The whole id of what is gone.
  Result<std::string> DeleteRun(const std::string& id);
  Result<v1::Run> PinRun(const std::string& id);
  Result<v1::Run> UnpinRun(const std::string& id);
  Status ReadLog(const v1::ReadLogRequest& request, const OnMessage<v1::ReadLogResponse>& on_message,
                 std::stop_token stop = {});

  Result<v1::ListToolsResponse> ListTools();
  // All of them, page by page.
  Result<v1::ListArtifactsResponse> ListArtifacts(const std::string& id);
  Status DownloadArtifact(const v1::DownloadArtifactRequest& request,
                          const OnMessage<v1::DownloadArtifactResponse>& on_message, std::stop_token stop = {});
  // Sends what `next_chunk` gives (at most 256 KiB each) until it gives an empty one; its failure is the result, and
  // nothing is kept.
  Result<v1::Artifact> UploadArtifact(const v1::UploadArtifactRequest::Header& header,
                                      const std::function<Result<std::string>()>& next_chunk);
  Status ExportRun(const v1::ExportRunRequest& request, const OnMessage<v1::ExportRunResponse>& on_message,
                   std::stop_token stop = {});

  // Follows the session until its stream ends: once it is open for a detached one, with its end for an attached one.
  Status OpenSession(const v1::OpenSessionRequest& request, const OnMessage<v1::OpenSessionResponse>& on_message,
                     std::stop_token stop = {});
  // Has no deadline: its running run has its grace.
  Result<v1::Session> CloseSession(const std::string& id, std::stop_token stop = {});
  Result<v1::GetSessionResponse> GetSession(const std::string& id);
  Result<v1::ListSessionsResponse> ListSessions(const v1::ListSessionsRequest& request);
  // All of them, page by page.
  Result<v1::ListRoundsResponse> ListRounds(const std::string& session_id);

  Status Query(const v1::QueryRequest& request, const OnMessage<v1::QueryResponse>& on_message,
               std::stop_token stop = {});
  Result<v1::ListAnalysesResponse> ListAnalyses();
  Status Analyze(const v1::AnalyzeRequest& request, const OnMessage<v1::AnalyzeResponse>& on_message,
                 std::stop_token stop = {});

 private:
  struct State;
  explicit KprofClient(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace kprof
