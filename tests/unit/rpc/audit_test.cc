// What calls leave in the audit, and who may read it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "storage/catalog/session_table.h"
#include "tests/unit/rpc/rpc_fixture.h"

namespace kprof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class AuditOfCalls : public testing::Test, public RpcFixture {
 protected:
  static constexpr uint32_t kOther = 2000;

  void SetUp() override {
    Start();
    admin_ = std::make_unique<RpcClient>(Connect(0, Role::kAdmin));
  }

  v1::ListAuditResponse List(const v1::ListAuditRequest& request = {}) {
    v1::ListAuditResponse response;
    CallContext context;
    grpc::Status status = admin_->node->ListAudit(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  // Newest first.
  std::vector<v1::AuditEntry> Entries() {
    const v1::ListAuditResponse response = List();
    return {response.entries().begin(), response.entries().end()};
  }
  // Oldest first: "submit 1000 local ok".
  std::vector<std::string> Deeds() {
    std::vector<std::string> deeds;
    for (const v1::AuditEntry& entry : Entries()) {
      deeds.push_back(entry.action() + " " + std::to_string(entry.uid()) + " " + entry.caller() + " " +
                      entry.outcome());
    }
    std::reverse(deeds.begin(), deeds.end());
    return deeds;
  }

  template <typename Request, typename Response>
  grpc::Status Call(RpcClient& client, const std::string& id,
                    grpc::Status (v1::RunsService::Stub::*method)(grpc::ClientContext*, const Request&, Response*)) {
    Request request;
    request.set_id(id);
    Response response;
    CallContext context;
    return (client.runs.get()->*method)(&context, request, &response);
  }

  grpc::Status Upload(RpcClient& client, const std::string& id) {
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
  }

  std::unique_ptr<RpcClient> admin_;
};

TEST_F(AuditOfCalls, EachDeedLeavesOneEntry) {
  RpcClient client = Connect();
  const std::string id = RunningRun(client);
  ASSERT_TRUE(Call(client, id, &v1::RunsService::Stub::CancelRun).ok());
  EndLast(0, /*stopped=*/true);
  ASSERT_TRUE(HasEnded(id));
  const grpc::Status uploaded = Upload(client, id);
  ASSERT_TRUE(uploaded.ok()) << uploaded.error_message();
  ASSERT_TRUE(Call(client, id, &v1::RunsService::Stub::PinRun).ok());
  ASSERT_TRUE(Call(*admin_, id, &v1::RunsService::Stub::UnpinRun).ok());
  ASSERT_TRUE(Call(*admin_, id, &v1::RunsService::Stub::DeleteRun).ok());
  EXPECT_THAT(Deeds(), ElementsAre("submit 1000 local ok", "lease_granted 1000 kprofd ok", "cancel 1000 local ok",
                                   "lease_ended 1000 kprofd cancelled", "upload 1000 local ok", "pin 1000 local ok",
                                   "unpin 0 local ok", "delete 0 local ok"));
  for (const v1::AuditEntry& entry : Entries()) EXPECT_EQ(entry.run_id(), id);
}

TEST_F(AuditOfCalls, WhatAnAdminAddsToAnothersRunSaysWhoseAndOnWhichDevice) {
  RpcClient client = Connect();
  const std::string id = RunningRun(client);
  EndLast(0);
  ASSERT_TRUE(HasEnded(id));
  ASSERT_TRUE(Upload(*admin_, id).ok());
  ASSERT_TRUE(Until([&] { return Deeds().back() == "upload 0 local ok"; }));
  const v1::AuditEntry entry = Entries()[0];
  EXPECT_EQ(entry.run_id(), id);
  EXPECT_EQ(entry.detail(), "more of uid 1000");
  EXPECT_THAT(entry.devices(), ElementsAre("cpu"));
}

TEST_F(AuditOfCalls, HoldingAnothersRunIsADeedAndHoldingOnesOwnIsNone) {
  RpcClient client = Connect();
  const std::string id = RunningRun(client);
  auto hold = [&](RpcClient& holder) {
    CallContext context;
    v1::WatchRunRequest request;
    request.set_id(id);
    request.set_hold(true);
    auto watch = holder.runs->WatchRun(&context, request);
    v1::WatchRunResponse update;
    EXPECT_TRUE(watch->Read(&update));
    context.TryCancel();
    (void)watch->Finish();
  };
  hold(client);
  hold(*admin_);
  ASSERT_TRUE(Until([&] { return Deeds().back() == "hold 0 local ok"; }));
  EXPECT_THAT(Deeds(), testing::Contains(HasSubstr("hold ")).Times(1));
  EXPECT_EQ(Entries()[0].run_id(), id);
  EXPECT_THAT(Entries()[0].detail(), HasSubstr("of uid 1000"));
}

TEST_F(AuditOfCalls, LookingLeavesNone) {
  RpcClient client = Connect();
  const std::string id = StoreEnded("01j0000000000001");
  Get(client, id);
  CallContext context;
  v1::ListRunsResponse runs;
  ASSERT_TRUE(client.runs->ListRuns(&context, v1::ListRunsRequest(), &runs).ok());
  EXPECT_THAT(Deeds(), IsEmpty());
}

TEST_F(AuditOfCalls, ABackupIsOne) {
  CallContext context;
  auto stream = admin_->node->BackUpCatalog(&context, v1::BackUpCatalogRequest());
  v1::BackUpCatalogResponse message;
  while (stream->Read(&message)) {
  }
  ASSERT_TRUE(stream->Finish().ok());
  ASSERT_TRUE(Until([&] { return !Deeds().empty(); }));
  EXPECT_THAT(Deeds(), ElementsAre("backup 0 local ok"));
}

TEST_F(AuditOfCalls, ACertificateIsNamed) {
  Caller caller{kUid, Role::kViewer, true, "ci-runner"};
  caller.certificate_id = "1A of CN = lab CA";
  RpcClient client = ConnectAs(caller);
  const std::string run = RunningRun(client);
  std::map<std::string, Actor> submitters{{run, {}}};
  ASSERT_TRUE(ReadSubmitters(**catalog_->readers().Borrow(), submitters).ok());
  EXPECT_EQ(submitters[run], (Actor{kUid, "certificate:ci-runner", "1A of CN = lab CA"}));
  EXPECT_THAT(Deeds(), ElementsAre("submit 1000 certificate:ci-runner ok", "lease_granted 1000 kprofd ok"));
}

TEST_F(AuditOfCalls, WhatIsRefusedIsNamed) {
  RunRow shared = EndedRun("01j0000000000001", 1, 0);
  shared.uid = kOther;
  shared.shared = true;
  Store(shared);
  RpcClient client = Connect();
  EXPECT_EQ(Call(client, shared.id, &v1::RunsService::Stub::DeleteRun).error_code(),
            grpc::StatusCode::PERMISSION_DENIED);
  ASSERT_TRUE(Until([&] { return !Deeds().empty(); }));
  EXPECT_THAT(Deeds(), ElementsAre("refused 1000 local not_permitted"));
  EXPECT_EQ(Entries()[0].detail(), "kprof.v1.RunsService/DeleteRun: it belongs to uid 2000");
  EXPECT_EQ(Entries()[0].run_id(), shared.id);
}

TEST_F(AuditOfCalls, SoIsWhoTriesWhatIsHiddenFromThem) {
  const std::string hidden = StoreEnded("01j0000000000001", {}, kOther);
  SessionRow session;
  session.id = "01j0000000000002";
  session.uid = kOther;
  session.state = SessionState::kClosed;
  ASSERT_TRUE(catalog_->writer().SubmitAndWait([&](Db& db) { return InsertSession(db, session); }).ok());
  RpcClient client = Connect();
  const auto not_found = grpc::StatusCode::NOT_FOUND;
  EXPECT_EQ(Call(client, hidden, &v1::RunsService::Stub::GetRun).error_code(), not_found);
  EXPECT_EQ(Call(client, hidden, &v1::RunsService::Stub::CancelRun).error_code(), not_found);
  EXPECT_EQ(Upload(client, hidden).error_code(), not_found);
  for (bool hold : {false, true}) {
    CallContext context;
    v1::WatchRunRequest request;
    request.set_id(hidden);
    request.set_hold(hold);
    auto stream = client.runs->WatchRun(&context, request);
    v1::WatchRunResponse message;
    EXPECT_FALSE(stream->Read(&message));
    EXPECT_EQ(stream->Finish().error_code(), not_found);
  }
  CallContext context;
  v1::ReadLogRequest log;
  log.set_id(hidden);
  log.set_stream(v1::OUTPUT_STREAM_STDOUT);
  auto stream = client.runs->ReadLog(&context, log);
  v1::ReadLogResponse message;
  EXPECT_FALSE(stream->Read(&message));
  EXPECT_EQ(stream->Finish().error_code(), not_found);
  CallContext session_context;
  v1::CloseSessionRequest close;
  close.set_id(session.id);
  v1::CloseSessionResponse closed;
  EXPECT_EQ(client.sessions->CloseSession(&session_context, close, &closed).error_code(), not_found);

  ASSERT_TRUE(Until([&] { return Entries().size() == 6; }));  // watching and holding are one call's two ways
  for (const v1::AuditEntry& entry : Entries()) {
    EXPECT_EQ(entry.action() + " " + std::to_string(entry.uid()) + " " + entry.outcome(), "refused 1000 not_found");
    EXPECT_EQ(entry.run_id() + entry.session_id(),
              entry.detail().find("SessionsService/") != std::string::npos ? session.id : hidden)
        << entry.detail();
  }
}

TEST_F(AuditOfCalls, WhatIsNotThereLeavesNone) {
  RpcClient client = Connect();
  for (const char* id : {"01j0000000000001", "01j0", "@last", "nonsense!"}) {
    EXPECT_EQ(Call(client, id, &v1::RunsService::Stub::DeleteRun).error_code(), grpc::StatusCode::NOT_FOUND) << id;
  }
  Settle();
  EXPECT_THAT(Deeds(), IsEmpty());
}

TEST_F(AuditOfCalls, ThatARunEndedInARefusalIsNone) {
  RunRow row = EndedRun("01j0000000000001", 1, 0);
  row.uid = kUid;
  row.state = RunState::kFailed;
  row.error = RunError{"not_permitted", "its user may not execute it", ""};
  Store(row);
  RpcClient client = Connect();
  EXPECT_EQ(Call(client, row.id, &v1::RunsService::Stub::WaitRun).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  Settle();
  EXPECT_THAT(Deeds(), IsEmpty());
}

TEST_F(AuditOfCalls, AnAdminsCallAndAPriorityAreRefusedByName) {
  RpcClient client = Connect();
  CallContext context;
  v1::ListAuditResponse audit;
  EXPECT_EQ(client.node->ListAudit(&context, v1::ListAuditRequest(), &audit).error_code(),
            grpc::StatusCode::PERMISSION_DENIED);
  CallContext submit_context;
  v1::SubmitRunRequest submit;
  submit.mutable_spec()->set_tool("command");
  submit.mutable_spec()->add_argv("/bin/true");
  submit.mutable_spec()->set_cwd("/");
  submit.mutable_spec()->set_priority(1);
  v1::SubmitRunResponse submitted;
  EXPECT_EQ(client.runs->SubmitRun(&submit_context, submit, &submitted).error_code(),
            grpc::StatusCode::PERMISSION_DENIED);
  ASSERT_TRUE(Until([&] { return Entries().size() == 2; }));
  EXPECT_THAT(Entries()[1].detail(), HasSubstr("NodeService/ListAudit: uid 1000 has the role 'viewer'"));
  EXPECT_THAT(Entries()[0].detail(), HasSubstr("RunsService/SubmitRun: a priority above 0 is for operators"));
}

// A token is a secret: whoever brings another's, or one that opens nothing, may have no business here.
TEST_F(AuditOfCalls, WhoResumesASessionWithAnothersTokenOrAnInventedOneIsThere) {
  RpcClient owner = Connect();
  CallContext held;
  v1::OpenSessionRequest attached;
  attached.set_device("cpu");
  auto stream = owner.sessions->OpenSession(&held, attached);
  v1::OpenSessionResponse opened;
  while (opened.session().state() != v1::SESSION_STATE_OPEN) ASSERT_TRUE(stream->Read(&opened));
  const size_t before = Entries().size();
  auto resume = [&](uint32_t uid, const std::string& token) {
    RpcClient client = Connect(uid);
    CallContext context;
    v1::OpenSessionRequest request;
    request.set_resume_token(token);
    auto resumed = client.sessions->OpenSession(&context, request);
    v1::OpenSessionResponse response;
    EXPECT_FALSE(resumed->Read(&response));
    EXPECT_EQ(resumed->Finish().error_code(), grpc::StatusCode::ABORTED);
  };
  resume(kOther, opened.resume_token());
  ASSERT_TRUE(Until([&] { return Entries().size() == before + 1; }));
  const v1::AuditEntry anothers = Entries()[0];
  EXPECT_EQ(anothers.action() + " " + std::to_string(anothers.uid()) + " " + anothers.outcome(),
            "refused 2000 lease_lost");
  EXPECT_EQ(anothers.session_id(), opened.session().id());
  EXPECT_THAT(anothers.detail(), HasSubstr("SessionsService/OpenSession: it belongs to uid 1000"));
  for (int i = 0; i < 100; ++i) resume(3000, "invented" + std::to_string(i));
  ASSERT_TRUE(Until([&] { return Entries().size() > before + 1; }));
  Settle();
  ASSERT_EQ(Entries().size(), before + 2) << "who guesses on cannot fill the disk with it";
  EXPECT_THAT(Entries()[0].detail(), HasSubstr("no session that is open has this token"));
  EXPECT_EQ(Entries()[0].session_id(), "");
  held.TryCancel();
  (void)stream->Finish();
}

TEST_F(AuditOfCalls, SoIsWhoHasNoRole) {
  for (uint32_t uid : {4241u, 4242u, 4242u, 4243u}) {
    RpcClient client = ConnectAs(Caller{uid, Role::kNone, false, {}});
    CallContext context;
    v1::GetStatusResponse response;
    EXPECT_EQ(client.node->GetStatus(&context, v1::GetStatusRequest(), &response).error_code(),
              grpc::StatusCode::PERMISSION_DENIED);
  }
  ASSERT_TRUE(Until([&] { return Deeds().size() == 3; }));
  EXPECT_THAT(Deeds(), ElementsAre("refused 4241 local not_permitted", "refused 4242 local not_permitted",
                                   "refused 4243 local not_permitted"));
  EXPECT_EQ(Entries()[0].detail(), "connect: your user has no role on this node");
  v1::ListAuditRequest of_one;
  of_one.set_uid(4242);
  EXPECT_EQ(List(of_one).entries_size(), 1);
}

class AuditOfFewConnections : public AuditOfCalls {
 protected:
  AuditOfFewConnections() { server_limits_.connections_per_account = 1; }
};

TEST_F(AuditOfFewConnections, WhoIsOverALimitIsNamedOnce) {
  RpcClient client = Connect();
  for (int i = 0; i < 3; ++i) Connect();
  ASSERT_TRUE(Until([&] { return !Deeds().empty(); }));
  EXPECT_THAT(Deeds(), ElementsAre("refused 1000 local queue_full"));
  EXPECT_THAT(Entries()[0].detail(), HasSubstr("connect: one user may have 1 connections open at a time"));
}

TEST_F(AuditOfCalls, OnlyAdminsReadIt) {
  for (Role role : {Role::kViewer, Role::kOperator}) {
    RpcClient client = Connect(kOther, role);
    CallContext context;
    v1::ListAuditResponse response;
    EXPECT_EQ(client.node->ListAudit(&context, v1::ListAuditRequest(), &response).error_code(),
              grpc::StatusCode::PERMISSION_DENIED);
  }
}

TEST_F(AuditOfCalls, ComesPageByPageAndNarrowed) {
  for (int i = 0; i < 5; ++i) {
    AuditEntry entry;
    entry.time_ns = i;
    entry.by.uid = i % 2 == 0 ? kUid : kOther;
    entry.action = "a" + std::to_string(i);
    audit_->Record(entry);
  }
  auto actions = [](const v1::ListAuditResponse& page) {
    std::string text;
    for (const v1::AuditEntry& entry : page.entries()) text += entry.action() + " ";
    return text;
  };
  ASSERT_TRUE(catalog_->writer().SubmitAndWait([](Db&) { return OkStatus(); }).ok());
  v1::ListAuditRequest request;
  request.set_page_size(2);
  v1::ListAuditResponse page = List(request);
  EXPECT_EQ(actions(page), "a4 a3 ");
  request.set_page_token(page.next_page_token());
  page = List(request);
  EXPECT_EQ(actions(page), "a2 a1 ");
  request.set_page_token(page.next_page_token());
  page = List(request);
  EXPECT_EQ(actions(page), "a0 ");
  EXPECT_EQ(page.next_page_token(), "");

  v1::ListAuditRequest narrowed;
  narrowed.set_uid(kOther);
  EXPECT_EQ(actions(List(narrowed)), "a3 a1 ");
  narrowed.set_since_unix_ns(2);
  EXPECT_EQ(actions(List(narrowed)), "a3 ");
}

TEST_F(AuditOfCalls, RefusesAForeignPageToken) {
  for (const char* token : {"x", "0", "-1", "1x", "99999999999999999999"}) {
    v1::ListAuditRequest request;
    request.set_page_token(token);
    v1::ListAuditResponse response;
    CallContext context;
    EXPECT_EQ(admin_->node->ListAudit(&context, request, &response).error_code(), grpc::StatusCode::INVALID_ARGUMENT)
        << token;
  }
}

}  // namespace
}  // namespace kprof
