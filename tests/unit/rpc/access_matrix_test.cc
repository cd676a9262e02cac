// Every call of every service, made by every role about one's own, another's and another's shared run, over gRPC. The
// table is written down here on its own and not taken from permissions.cc.
#include <gtest/gtest.h>

#include <map>

#include "daemon/access/permissions.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "grpc/reflection/v1/reflection.grpc.pb.h"
#include "grpc/reflection/v1alpha/reflection.grpc.pb.h"
#include "storage/catalog/session_table.h"
#include "tests/unit/rpc/rpc_fixture.h"

namespace kprof {
namespace {

enum class Answer { kYes, kNo, kHidden };  // done or failed for its own reasons; not_permitted; not_found

Answer AnswerOf(const grpc::Status& status) {
  if (status.error_code() == grpc::StatusCode::PERMISSION_DENIED) return Answer::kNo;
  if (status.error_code() == grpc::StatusCode::NOT_FOUND) return Answer::kHidden;
  return Answer::kYes;
}

template <typename Request>
Request Named(const std::string& id) {
  Request request;
  request.set_id(id);
  return request;
}

template <typename Stream, typename Response>
grpc::Status ReadAll(Stream stream, Response response) {
  while (stream->Read(&response)) {
  }
  return stream->Finish();
}

using Ask = std::function<grpc::Status(RpcClient&, const std::string& id)>;

// Of the calls that name a run.
const std::map<Rpc, Ask>& CallsAboutARun() {
  static const std::map<Rpc, Ask> calls = {
      {Rpc::kGetRun,
       [](RpcClient& client, const std::string& id) {
         CallContext context;
         v1::GetRunResponse response;
         return client.runs->GetRun(&context, Named<v1::GetRunRequest>(id), &response);
       }},
      {Rpc::kQueryTrace,
       [](RpcClient& client, const std::string& id) {
         CallContext context;
         v1::QueryRequest request;
         request.set_sql("SELECT 1");
         request.add_runs(id);
         return ReadAll(client.queries->Query(&context, request), v1::QueryResponse());
       }},
      {Rpc::kAnalyze,
       [](RpcClient& client, const std::string& id) {
         CallContext context;
         v1::AnalyzeRequest request;
         request.set_kind("temporal-breakdown");
         request.add_runs(id);
         return ReadAll(client.analyses->Analyze(&context, request), v1::AnalyzeResponse());
       }},
      {Rpc::kGetReport,
       [](RpcClient& client, const std::string& id) {
         CallContext context;
         v1::GetReportRequest request;
         request.set_run(id);
         return ReadAll(client.analyses->GetReport(&context, request), v1::GetReportResponse());
       }},
      {Rpc::kWatchRun,
       [](RpcClient& client, const std::string& id) {
         CallContext context;
         return ReadAll(client.runs->WatchRun(&context, Named<v1::WatchRunRequest>(id)), v1::WatchRunResponse());
       }},
      {Rpc::kHoldRun,
       [](RpcClient& client, const std::string& id) {
         CallContext context;
         auto request = Named<v1::WatchRunRequest>(id);
         request.set_hold(true);
         return ReadAll(client.runs->WatchRun(&context, request), v1::WatchRunResponse());
       }},
      {Rpc::kWaitRun,
       [](RpcClient& client, const std::string& id) {
         CallContext context;
         v1::WaitRunResponse response;
         return client.runs->WaitRun(&context, Named<v1::WaitRunRequest>(id), &response);
       }},
      {Rpc::kCancelRun,
       [](RpcClient& client, const std::string& id) {
         CallContext context;
         v1::CancelRunResponse response;
         return client.runs->CancelRun(&context, Named<v1::CancelRunRequest>(id), &response);
       }},
      {Rpc::kDeleteRun,
       [](RpcClient& client, const std::string& id) {
         CallContext context;
         v1::DeleteRunResponse response;
         return client.runs->DeleteRun(&context, Named<v1::DeleteRunRequest>(id), &response);
       }},
      {Rpc::kPinRun,
       [](RpcClient& client, const std::string& id) {
         CallContext context;
         v1::PinRunResponse response;
         return client.runs->PinRun(&context, Named<v1::PinRunRequest>(id), &response);
       }},
      {Rpc::kUnpinRun,
       [](RpcClient& client, const std::string& id) {
         CallContext context;
         v1::UnpinRunResponse response;
         return client.runs->UnpinRun(&context, Named<v1::UnpinRunRequest>(id), &response);
       }},
      {Rpc::kReadLog,
       [](RpcClient& client, const std::string& id) {
         CallContext context;
         auto request = Named<v1::ReadLogRequest>(id);
         request.set_stream(v1::OUTPUT_STREAM_STDOUT);
         return ReadAll(client.runs->ReadLog(&context, request), v1::ReadLogResponse());
       }},
      {Rpc::kListArtifacts,
       [](RpcClient& client, const std::string& id) {
         CallContext context;
         v1::ListArtifactsResponse response;
         return client.runs->ListArtifacts(&context, Named<v1::ListArtifactsRequest>(id), &response);
       }},
      {Rpc::kDownloadArtifact,
       [](RpcClient& client, const std::string& id) {
         CallContext context;
         auto request = Named<v1::DownloadArtifactRequest>(id);
         request.set_name(std::string(kStdoutName));
         return ReadAll(client.runs->DownloadArtifact(&context, request), v1::DownloadArtifactResponse());
       }},
      {Rpc::kUploadArtifact,
       [](RpcClient& client, const std::string& id) {
         CallContext context;
         v1::UploadArtifactResponse response;
         auto stream = client.runs->UploadArtifact(&context, &response);
         v1::UploadArtifactRequest request;
         request.mutable_header()->set_id(id);
         request.mutable_header()->set_name("more");
         stream->Write(request);
         request.set_sha256(Sha256Of(std::string()));
         stream->Write(request);
         stream->WritesDone();
         return stream->Finish();
       }},
      {Rpc::kRecordCeiling,
       [](RpcClient& client, const std::string& id) {
         CallContext context;
         v1::RecordCeilingRequest request;
         request.set_run_id(id);
         v1::RecordCeilingResponse response;
         return client.node->RecordCeiling(&context, request, &response);
       }},
      {Rpc::kExportRun,
       [](RpcClient& client, const std::string& id) {
         CallContext context;
         auto request = Named<v1::ExportRunRequest>(id);
         request.set_format("chrome");
         return ReadAll(client.runs->ExportRun(&context, request), v1::ExportRunResponse());
       }},
  };
  return calls;
}

// Of the calls that name a session.
const std::map<Rpc, Ask>& CallsAboutASession() {
  static const std::map<Rpc, Ask> calls = {
      {Rpc::kCloseSession,
       [](RpcClient& client, const std::string& id) {
         CallContext context;
         v1::CloseSessionResponse response;
         return client.sessions->CloseSession(&context, Named<v1::CloseSessionRequest>(id), &response);
       }},
      {Rpc::kSubmitToSession,
       [](RpcClient& client, const std::string& id) {
         CallContext context;
         v1::SubmitRunRequest request;
         request.mutable_spec()->set_tool("command");
         request.mutable_spec()->add_argv("/bin/true");
         request.mutable_spec()->set_cwd("/");
         request.mutable_spec()->set_session_id(id);
         v1::SubmitRunResponse response;
         return client.runs->SubmitRun(&context, request, &response);
       }},
      {Rpc::kGetSession,
       [](RpcClient& client, const std::string& id) {
         CallContext context;
         v1::GetSessionResponse response;
         return client.sessions->GetSession(&context, Named<v1::GetSessionRequest>(id), &response);
       }},
      {Rpc::kListRounds,
       [](RpcClient& client, const std::string& id) {
         CallContext context;
         v1::ListRoundsRequest request;
         request.set_session_id(id);
         v1::ListRoundsResponse response;
         return client.sessions->ListRounds(&context, request, &response);
       }},
  };
  return calls;
}

// Of the calls that name none.
const std::map<Rpc, Ask>& CallsAboutNone() {
  static const std::map<Rpc, Ask> calls = {
      {Rpc::kGetStatus,
       [](RpcClient& client, const std::string&) {
         CallContext context;
         v1::GetStatusResponse response;
         return client.node->GetStatus(&context, v1::GetStatusRequest(), &response);
       }},
      {Rpc::kListDevices,
       [](RpcClient& client, const std::string&) {
         CallContext context;
         v1::ListDevicesResponse response;
         return client.node->ListDevices(&context, v1::ListDevicesRequest(), &response);
       }},
      {Rpc::kWatchDevices,
       [](RpcClient& client, const std::string&) {
         CallContext context;
         v1::WatchDevicesResponse message;
         auto reader = client.node->WatchDevices(&context, v1::WatchDevicesRequest());
         if (!reader->Read(&message)) return reader->Finish();
         context.TryCancel();  // it would go on for ever
         (void)reader->Finish();
         return grpc::Status::OK;
       }},
      {Rpc::kDiagnose,
       [](RpcClient& client, const std::string&) {
         CallContext context;
         v1::DiagnoseResponse response;
         return client.node->Diagnose(&context, v1::DiagnoseRequest(), &response);
       }},
      {Rpc::kForgetCeilings,
       [](RpcClient& client, const std::string&) {
         CallContext context;
         v1::ForgetCeilingsRequest request;
         request.set_device_id("cpu");
         v1::ForgetCeilingsResponse response;
         const grpc::Status status = client.node->ForgetCeilings(&context, request, &response);
         // Whoever may is told that there are none.
         return status.error_code() == grpc::StatusCode::NOT_FOUND ? grpc::Status::OK : status;
       }},
      {Rpc::kListAudit,
       [](RpcClient& client, const std::string&) {
         CallContext context;
         v1::ListAuditResponse response;
         return client.node->ListAudit(&context, v1::ListAuditRequest(), &response);
       }},
      {Rpc::kBackUpCatalog,
       [](RpcClient& client, const std::string&) {
         CallContext context;
         return ReadAll(client.node->BackUpCatalog(&context, v1::BackUpCatalogRequest()), v1::BackUpCatalogResponse());
       }},
      {Rpc::kSubmitRun,
       [](RpcClient& client, const std::string&) {
         CallContext context;
         v1::SubmitRunResponse response;
         return client.runs->SubmitRun(&context, v1::SubmitRunRequest(), &response);
       }},
      {Rpc::kUploadSource,
       [](RpcClient& client, const std::string&) {
         CallContext context;
         v1::UploadSourceResponse response;
         auto stream = client.runs->UploadSource(&context, &response);
         stream->WritesDone();
         return stream->Finish();
       }},
      {Rpc::kSubmitImport,
       [](RpcClient& client, const std::string&) {
         CallContext context;
         v1::SubmitImportResponse response;
         return client.runs->SubmitImport(&context, v1::SubmitImportRequest(), &response);
       }},
      {Rpc::kListRuns,
       [](RpcClient& client, const std::string&) {
         CallContext context;
         v1::ListRunsResponse response;
         return client.runs->ListRuns(&context, v1::ListRunsRequest(), &response);
       }},
      {Rpc::kQuery,
       [](RpcClient& client, const std::string&) {
         CallContext context;
         v1::QueryRequest request;
         request.set_sql("SELECT 1");
         return ReadAll(client.queries->Query(&context, request), v1::QueryResponse());
       }},
      {Rpc::kListTools,
       [](RpcClient& client, const std::string&) {
         CallContext context;
         v1::ListToolsResponse response;
         return client.runs->ListTools(&context, v1::ListToolsRequest(), &response);
       }},
      {Rpc::kListAnalyses,
       [](RpcClient& client, const std::string&) {
         CallContext context;
         v1::ListAnalysesResponse response;
         return client.analyses->ListAnalyses(&context, v1::ListAnalysesRequest(), &response);
       }},
      {Rpc::kCheckHealth,
       [](RpcClient& client, const std::string&) {
         CallContext context;
         grpc::health::v1::HealthCheckResponse response;
         return grpc::health::v1::Health::NewStub(client.channel)
             ->Check(&context, grpc::health::v1::HealthCheckRequest(), &response);
       }},
      {Rpc::kWatchHealth,
       [](RpcClient& client, const std::string&) {
         CallContext context;
         auto stream =
             grpc::health::v1::Health::NewStub(client.channel)->Watch(&context, grpc::health::v1::HealthCheckRequest());
         grpc::health::v1::HealthCheckResponse response;
         if (!stream->Read(&response)) return stream->Finish();
         context.TryCancel();  // it would go on
         (void)stream->Finish();
         return grpc::Status::OK;
       }},
      {Rpc::kReflect,
       [](RpcClient& client, const std::string&) {
         CallContext context;
         auto stream = grpc::reflection::v1::ServerReflection::NewStub(client.channel)->ServerReflectionInfo(&context);
         grpc::reflection::v1::ServerReflectionRequest question;
         question.set_list_services("*");
         stream->Write(question);
         stream->WritesDone();
         grpc::reflection::v1::ServerReflectionResponse answer;
         while (stream->Read(&answer)) {
         }
         return stream->Finish();
       }},
      {Rpc::kReflectAlpha,
       [](RpcClient& client, const std::string&) {
         CallContext context;
         auto stream =
             grpc::reflection::v1alpha::ServerReflection::NewStub(client.channel)->ServerReflectionInfo(&context);
         grpc::reflection::v1alpha::ServerReflectionRequest question;
         question.set_list_services("*");
         stream->Write(question);
         stream->WritesDone();
         grpc::reflection::v1alpha::ServerReflectionResponse answer;
         while (stream->Read(&answer)) {
         }
         return stream->Finish();
       }},
      {Rpc::kOpenSession,
       [](RpcClient& client, const std::string&) {
         CallContext context;
         v1::OpenSessionRequest request;
         request.set_clocks("none of the policies");  // whoever may is told that
         return ReadAll(client.sessions->OpenSession(&context, request), v1::OpenSessionResponse());
       }},
      {Rpc::kListSessions,
       [](RpcClient& client, const std::string&) {
         CallContext context;
         v1::ListSessionsResponse response;
         return client.sessions->ListSessions(&context, v1::ListSessionsRequest(), &response);
       }},
  };
  return calls;
}

constexpr uint32_t kOwner = 1000;
constexpr uint32_t kOther = 2000;

class AccessMatrix : public RpcFixture, public testing::Test {
 protected:
  AccessMatrix() { Start(); }

  std::string NewRun(bool shared) {
    std::string id = "01hq3v5n0000000" + std::string(1, static_cast<char>('a' + runs_made_ / 20)) +
                     std::string(1, "0123456789abcdefghjk"[runs_made_ % 20]);
    id = id.substr(id.size() - 16);
    ++runs_made_;
    StoreEnded(id, {{std::string(kStdoutName), "text"}}, kOwner);
    if (shared) {
      Status changed = catalog_->writer().SubmitAndWait([&](Db& db) {
        ASSIGN_OR_RETURN(RunRow row, ReadRun(db, id));
        row.shared = true;
        return UpdateRun(db, row);
      });
      EXPECT_TRUE(changed.ok()) << changed.ToString();
    }
    return id;
  }

  // The id of a detached one, which is open.
  static std::string OpenSession(RpcClient& client) {
    CallContext context;
    v1::OpenSessionRequest request;
    request.set_device("cpu");
    request.set_detached(true);
    auto stream = client.sessions->OpenSession(&context, request);
    v1::OpenSessionResponse response;
    while (stream->Read(&response)) {
    }
    EXPECT_TRUE(stream->Finish().ok());
    EXPECT_EQ(response.session().state(), v1::SESSION_STATE_OPEN);
    return response.session().id();
  }

  int runs_made_ = 0;
};

TEST_F(AccessMatrix, OfRunsIsAsWritten) {
  constexpr Answer kYes = Answer::kYes, kNo = Answer::kNo, kHidden = Answer::kHidden;
  struct Row {
    Rpc rpc;
    // Of the owner, then of others' private and shared ones: viewer, operator, admin.
    Answer owner;
    Answer viewer, operator_, admin;
    Answer viewer_shared, operator_shared, admin_shared;
  };
  const Row rows[] = {
      {Rpc::kGetRun, kYes, kHidden, kYes, kYes, kYes, kYes, kYes},
      {Rpc::kQueryTrace, kYes, kHidden, kYes, kYes, kYes, kYes, kYes},
      {Rpc::kAnalyze, kYes, kHidden, kYes, kYes, kYes, kYes, kYes},
      {Rpc::kGetReport, kYes, kHidden, kYes, kYes, kYes, kYes, kYes},
      {Rpc::kWatchRun, kYes, kHidden, kYes, kYes, kYes, kYes, kYes},
      {Rpc::kHoldRun, kYes, kHidden, kYes, kYes, kNo, kYes, kYes},
      {Rpc::kWaitRun, kYes, kHidden, kYes, kYes, kYes, kYes, kYes},
      {Rpc::kCancelRun, kYes, kHidden, kYes, kYes, kNo, kYes, kYes},
      {Rpc::kDeleteRun, kYes, kHidden, kNo, kYes, kNo, kNo, kYes},
      {Rpc::kPinRun, kYes, kHidden, kYes, kYes, kNo, kYes, kYes},
      {Rpc::kUnpinRun, kYes, kHidden, kYes, kYes, kNo, kYes, kYes},
      {Rpc::kReadLog, kYes, kHidden, kYes, kYes, kYes, kYes, kYes},
      {Rpc::kListArtifacts, kYes, kHidden, kYes, kYes, kYes, kYes, kYes},
      {Rpc::kDownloadArtifact, kYes, kHidden, kYes, kYes, kYes, kYes, kYes},
      {Rpc::kUploadArtifact, kYes, kHidden, kNo, kYes, kNo, kNo, kYes},
      {Rpc::kExportRun, kYes, kHidden, kYes, kYes, kYes, kYes, kYes},
      {Rpc::kRecordCeiling, kNo, kNo, kYes, kYes, kNo, kYes, kYes},
  };
  ASSERT_EQ(std::size(rows), CallsAboutARun().size());
  RpcClient owner = Connect(kOwner, Role::kViewer);
  RpcClient viewer = Connect(kOther, Role::kViewer);
  RpcClient operator_ = Connect(kOther, Role::kOperator);
  RpcClient admin = Connect(kOther, Role::kAdmin);
  for (const Row& row : rows) {
    const Ask& ask = CallsAboutARun().at(row.rpc);
    const char* method = RuleOf(row.rpc).method;
    auto answer = [&](RpcClient& client, bool shared) { return AnswerOf(ask(client, NewRun(shared))); };
    EXPECT_EQ(answer(owner, false), row.owner) << method;
    EXPECT_EQ(answer(viewer, false), row.viewer) << method;
    EXPECT_EQ(answer(operator_, false), row.operator_) << method;
    EXPECT_EQ(answer(admin, false), row.admin) << method;
    EXPECT_EQ(answer(viewer, true), row.viewer_shared) << method;
    EXPECT_EQ(answer(operator_, true), row.operator_shared) << method;
    EXPECT_EQ(answer(admin, true), row.admin_shared) << method;
  }
}

TEST_F(AccessMatrix, OfSessionsIsAsWritten) {
  constexpr Answer kYes = Answer::kYes, kNo = Answer::kNo, kHidden = Answer::kHidden;
  struct Row {
    Rpc rpc;
    Answer owner;
    Answer viewer, operator_, admin;  // of another's
  };
  const Row rows[] = {
      {Rpc::kGetSession, kYes, kHidden, kYes, kYes},
      {Rpc::kListRounds, kYes, kHidden, kYes, kYes},
      {Rpc::kCloseSession, kYes, kHidden, kYes, kYes},
      {Rpc::kSubmitToSession, kYes, kHidden, kNo, kNo},  // the last: the owner's keeps the session's device
  };
  ASSERT_EQ(std::size(rows), CallsAboutASession().size());
  RpcClient owner = Connect(kOwner, Role::kViewer);
  RpcClient viewer = Connect(kOther, Role::kViewer);
  RpcClient operator_ = Connect(kOther, Role::kOperator);
  RpcClient admin = Connect(kOther, Role::kAdmin);
  SessionRow ended;
  ended.id = "01hq3v5n00000000";
  ended.uid = kOwner;
  ended.state = SessionState::kClosed;
  ASSERT_TRUE(catalog_->writer().SubmitAndWait([&](Db& db) { return InsertSession(db, ended); }).ok());
  for (const Row& row : rows) {
    const Ask& ask = CallsAboutASession().at(row.rpc);
    const char* method = RuleOf(row.rpc).method;
    for (bool open : {false, true}) {
      auto answer = [&](RpcClient& client) {
        if (!open) return AnswerOf(ask(client, ended.id));
        const std::string id = OpenSession(owner);
        const grpc::Status status = ask(client, id);
        if (AnswerOf(status) == kYes) {
          EXPECT_TRUE(status.ok()) << method << ": " << status.error_message();
        }
        if (row.rpc != Rpc::kSubmitToSession || !status.ok())
          (void)CallsAboutASession().at(Rpc::kCloseSession)(owner, id);
        return AnswerOf(status);
      };
      EXPECT_EQ(answer(viewer), row.viewer) << method << open;
      EXPECT_EQ(answer(operator_), row.operator_) << method << open;
      EXPECT_EQ(answer(admin), row.admin) << method << open;
      EXPECT_EQ(answer(owner), row.owner) << method << open;
    }
  }
}

// A token is of no use to anybody else, whatever their role.
TEST_F(AccessMatrix, OfResumingASessionIsAsWritten) {
  RpcClient owner = Connect(kOwner, Role::kViewer);
  CallContext held;
  v1::OpenSessionRequest attached;
  attached.set_device("cpu");
  auto stream = owner.sessions->OpenSession(&held, attached);
  v1::OpenSessionResponse opened;
  while (opened.session().state() != v1::SESSION_STATE_OPEN) ASSERT_TRUE(stream->Read(&opened));
  ASSERT_NE(opened.resume_token(), "");
  auto resume = [&](RpcClient& client) {
    CallContext context;
    v1::OpenSessionRequest request;
    request.set_resume_token(opened.resume_token());
    auto resumed = client.sessions->OpenSession(&context, request);
    v1::OpenSessionResponse response;
    if (!resumed->Read(&response)) return resumed->Finish();
    EXPECT_EQ(response.session().id(), opened.session().id());
    context.TryCancel();  // it would go on
    (void)resumed->Finish();
    return grpc::Status::OK;
  };
  for (Role role : {Role::kViewer, Role::kOperator, Role::kAdmin}) {
    RpcClient other = Connect(kOther, role);
    const grpc::Status refused = resume(other);
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::ABORTED) << RoleName(role);
    EXPECT_NE(refused.error_message().find("no session that is open has this token"), std::string::npos);
  }
  EXPECT_TRUE(resume(owner).ok());
  held.TryCancel();
  (void)stream->Finish();
}

TEST_F(AccessMatrix, OfTheNodeIsAsWritten) {
  constexpr Answer kYes = Answer::kYes, kNo = Answer::kNo;
  struct Row {
    Rpc rpc;
    Answer viewer, operator_, admin, no_user;  // the last: an admin who is no user of this node
  };
  const Row rows[] = {
      {Rpc::kGetStatus, kYes, kYes, kYes, kYes},    {Rpc::kListDevices, kYes, kYes, kYes, kYes},
      {Rpc::kWatchDevices, kYes, kYes, kYes, kYes}, {Rpc::kDiagnose, kYes, kYes, kYes, kYes},
      {Rpc::kBackUpCatalog, kNo, kNo, kYes, kYes},  {Rpc::kSubmitRun, kYes, kYes, kYes, kNo},
      {Rpc::kListRuns, kYes, kYes, kYes, kYes},     {Rpc::kQuery, kYes, kYes, kYes, kYes},
      {Rpc::kOpenSession, kYes, kYes, kYes, kNo},   {Rpc::kListSessions, kYes, kYes, kYes, kYes},
      {Rpc::kListAudit, kNo, kNo, kYes, kYes},      {Rpc::kCheckHealth, kYes, kYes, kYes, kYes},
      {Rpc::kWatchHealth, kYes, kYes, kYes, kYes},  {Rpc::kReflect, kYes, kYes, kYes, kYes},
      {Rpc::kReflectAlpha, kYes, kYes, kYes, kYes}, {Rpc::kUploadSource, kYes, kYes, kYes, kNo},
      {Rpc::kSubmitImport, kYes, kYes, kYes, kNo},  {Rpc::kForgetCeilings, kNo, kYes, kYes, kYes},
      {Rpc::kListAnalyses, kYes, kYes, kYes, kYes}, {Rpc::kListTools, kYes, kYes, kYes, kYes},
  };
  ASSERT_EQ(std::size(rows), CallsAboutNone().size());
  RpcClient viewer = Connect(kOther, Role::kViewer);
  RpcClient operator_ = Connect(kOther, Role::kOperator);
  RpcClient admin = Connect(kOther, Role::kAdmin);
  RpcClient no_user = ConnectAs(Caller{kNoUid, Role::kAdmin, false, "ci"});
  for (const Row& row : rows) {
    const Ask& ask = CallsAboutNone().at(row.rpc);
    const char* method = RuleOf(row.rpc).method;
    EXPECT_EQ(AnswerOf(ask(viewer, {})), row.viewer) << method;
    EXPECT_EQ(AnswerOf(ask(operator_, {})), row.operator_) << method;
    EXPECT_EQ(AnswerOf(ask(admin, {})), row.admin) << method;
    EXPECT_EQ(AnswerOf(ask(no_user, {})), row.no_user) << method;
  }
}

TEST_F(AccessMatrix, KnowsEveryCall) {
  EXPECT_EQ(CallsAboutARun().size() + CallsAboutASession().size() + CallsAboutNone().size(), AccessRules().size());
}

TEST_F(AccessMatrix, WithoutARoleNothingIsAnsweredButWhy) {
  RpcClient nobody = Connect(kOther, Role::kNone);
  for (const auto* calls : {&CallsAboutARun(), &CallsAboutASession(), &CallsAboutNone()}) {
    for (const auto& [rpc, ask] : *calls) {
      const grpc::Status status = ask(nobody, NewRun(true));
      EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED) << RuleOf(rpc).method;
      EXPECT_NE(status.error_message().find("your user has no role on this node"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace kprof
