// A daemon that says what a test tells it to: the real services of kprof.v1 on a real Unix socket, each call answered
// by a function of the test's. A call without one is UNIMPLEMENTED, as from an older daemon. Failures travel as the
// real ones do, with their ErrorDetail.
//
// Calls run on gRPC's threads, several at once. Stop (and the destructor) ends the calls that are open, as a daemon
// that stops does; their functions must see `gone()` and return.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "kprof/v1/analyses.pb.h"
#include "kprof/v1/node.pb.h"
#include "kprof/v1/queries.pb.h"
#include "kprof/v1/runs.pb.h"
#include "kprof/v1/sessions.pb.h"
#include "storage/base/status.h"

namespace kprof {

// Debian's gRPC is not instrumented: ThreadSanitizer does not see how a message gets from one of its threads to the
// next and takes every one for a race. Tests that cross it are skipped there.
#ifdef __SANITIZE_THREAD__
constexpr bool kUnderThreadSanitizer = true;
#else
constexpr bool kUnderThreadSanitizer = false;
#endif

// The server's end of a stream to the client.
template <typename Message>
struct FakeStream {
  std::function<bool(const Message&)> write;  // false: the client has gone
  std::function<bool()> gone;                 // also when the fake stops
};

class FakeDaemon {
 public:
  template <typename Request, typename Response>
  using Unary = std::function<Status(const Request&, Response&)>;
  template <typename Request, typename Response>
  using Stream = std::function<Status(const Request&, FakeStream<Response>)>;

  // Set before Start.
  struct Calls {
    Unary<v1::GetStatusRequest, v1::GetStatusResponse> get_status;
    Unary<v1::ListDevicesRequest, v1::ListDevicesResponse> list_devices;
    Stream<v1::WatchDevicesRequest, v1::WatchDevicesResponse> watch_devices;
    Unary<v1::RecordCeilingRequest, v1::RecordCeilingResponse> record_ceiling;
    Unary<v1::ForgetCeilingsRequest, v1::ForgetCeilingsResponse> forget_ceilings;
    Unary<v1::DiagnoseRequest, v1::DiagnoseResponse> diagnose;
    Unary<v1::ListAuditRequest, v1::ListAuditResponse> list_audit;
    Stream<v1::BackUpCatalogRequest, v1::BackUpCatalogResponse> back_up_catalog;
    Unary<v1::SubmitRunRequest, v1::SubmitRunResponse> submit_run;
    Unary<v1::GetRunRequest, v1::GetRunResponse> get_run;
    Unary<v1::ListRunsRequest, v1::ListRunsResponse> list_runs;
    Stream<v1::WatchRunRequest, v1::WatchRunResponse> watch_run;
    Unary<v1::WaitRunRequest, v1::WaitRunResponse> wait_run;
    Unary<v1::CancelRunRequest, v1::CancelRunResponse> cancel_run;
    Unary<v1::DeleteRunRequest, v1::DeleteRunResponse> delete_run;
    Unary<v1::PinRunRequest, v1::PinRunResponse> pin_run;
    Unary<v1::UnpinRunRequest, v1::UnpinRunResponse> unpin_run;
    Stream<v1::ReadLogRequest, v1::ReadLogResponse> read_log;
    Unary<v1::ListToolsRequest, v1::ListToolsResponse> list_tools;
    Unary<v1::ListArtifactsRequest, v1::ListArtifactsResponse> list_artifacts;
    Stream<v1::DownloadArtifactRequest, v1::DownloadArtifactResponse> download_artifact;
    // All of an upload at once: the header and the bytes after it.
    std::function<Status(const v1::UploadArtifactRequest::Header&, const std::string& bytes,
                         v1::UploadArtifactResponse&)>
        upload_artifact;
    Stream<v1::ExportRunRequest, v1::ExportRunResponse> export_run;
    // All of a source at once, as of an upload.
    std::function<Status(const v1::UploadSourceRequest::Header&, const std::string& bytes, v1::UploadSourceResponse&)>
        upload_source;
    Unary<v1::SubmitImportRequest, v1::SubmitImportResponse> submit_import;
    Stream<v1::QueryRequest, v1::QueryResponse> query;
    Unary<v1::ListAnalysesRequest, v1::ListAnalysesResponse> list_analyses;
    Stream<v1::AnalyzeRequest, v1::AnalyzeResponse> analyze;
    Stream<v1::GetReportRequest, v1::GetReportResponse> get_report;
    Stream<v1::OpenSessionRequest, v1::OpenSessionResponse> open_session;
    Unary<v1::CloseSessionRequest, v1::CloseSessionResponse> close_session;
    Unary<v1::GetSessionRequest, v1::GetSessionResponse> get_session;
    Unary<v1::ListSessionsRequest, v1::ListSessionsResponse> list_sessions;
    Unary<v1::ListRoundsRequest, v1::ListRoundsResponse> list_rounds;
  };

  explicit FakeDaemon(std::string socket_path);
  ~FakeDaemon();
  FakeDaemon(const FakeDaemon&) = delete;
  FakeDaemon& operator=(const FakeDaemon&) = delete;

  Calls calls;

  // Listens; after Stop, again.
  void Start();
  void Stop();

  const std::string& socket_path() const { return socket_path_; }

 private:
  struct Server;

  const std::string socket_path_;
  std::unique_ptr<Server> server_;
};

}  // namespace kprof
