#include "daemon/rpc/services/sessions_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/runs/object_lookup.h"
#include "tests/unit/rpc/rpc_fixture.h"

namespace kprof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A stream of OpenSession, read message by message.
struct Opening {
  Opening(RpcClient& client, const v1::OpenSessionRequest& request)
      : reader(client.sessions->OpenSession(&context, request)) {}
  bool Next() { return reader->Read(&message); }
  // Reads until the session is in that state.
  bool Until(v1::SessionState state) {
    while (Next()) {
      if (message.session().state() == state) return true;
    }
    return false;
  }
  grpc::Status End() {
    while (Next()) {
    }
    return reader->Finish();
  }
  CallContext context;
  std::unique_ptr<grpc::ClientReader<v1::OpenSessionResponse>> reader;
  v1::OpenSessionResponse message;
};

v1::OpenSessionRequest Detached() {
  v1::OpenSessionRequest request;
  request.set_device("cpu");
  request.set_detached(true);
  return request;
}

class SessionsServiceTest : public testing::Test, protected RpcFixture {
 protected:
  void SetUp() override { Start(); }

  std::string OpenOk(RpcClient& client, const v1::OpenSessionRequest& request = Detached()) {
    Opening opening(client, request);
    EXPECT_TRUE(opening.Until(v1::SESSION_STATE_OPEN));
    EXPECT_TRUE(opening.End().ok());
    return opening.message.session().id();
  }
  static grpc::Status Close(RpcClient& client, const std::string& id, v1::Session* session = nullptr) {
    v1::CloseSessionRequest request;
    request.set_id(id);
    v1::CloseSessionResponse response;
    CallContext context;
    grpc::Status status = client.sessions->CloseSession(&context, request, &response);
    if (session != nullptr) *session = response.session();
    return status;
  }
  static Result<v1::Session> Get(RpcClient& client, const std::string& id) {
    v1::GetSessionRequest request;
    request.set_id(id);
    v1::GetSessionResponse response;
    CallContext context;
    grpc::Status status = client.sessions->GetSession(&context, request, &response);
    if (!status.ok()) return Fail(*ErrorCodeByName(DetailOf(status).code()), "get", status.error_message());
    return response.session();
  }
  static std::vector<std::string> List(RpcClient& client, const v1::ListSessionsRequest& request = {}) {
    v1::ListSessionsResponse response;
    CallContext context;
    EXPECT_TRUE(client.sessions->ListSessions(&context, request, &response).ok());
    std::vector<std::string> ids;
    for (const v1::Session& session : response.sessions()) ids.push_back(session.id());
    return ids;
  }
  static grpc::Status Submit(RpcClient& client, const std::string& session, v1::Run* run = nullptr,
                             int32_t priority = 0) {
    v1::SubmitRunRequest request;
    request.mutable_spec()->set_tool("command");
    request.mutable_spec()->add_argv("/bin/true");
    request.mutable_spec()->set_cwd("/");
    request.mutable_spec()->set_session_id(session);
    request.mutable_spec()->set_priority(priority);
    v1::SubmitRunResponse response;
    CallContext context;
    grpc::Status status = client.runs->SubmitRun(&context, request, &response);
    if (run != nullptr) *run = response.run();
    return status;
  }
};

TEST_F(SessionsServiceTest, OpensListsAndCloses) {
  RpcClient client = Connect();
  v1::OpenSessionRequest request = Detached();
  (*request.mutable_labels())["loop"] = "7";
  request.set_clocks("lock");
  Opening opening(client, request);
  ASSERT_TRUE(opening.Next());
  EXPECT_EQ(opening.message.session().state(), v1::SESSION_STATE_QUEUED);
  ASSERT_TRUE(opening.Until(v1::SESSION_STATE_OPEN));
  EXPECT_TRUE(opening.End().ok()) << "the stream of a detached one ends once it is open";
  const std::string id = opening.message.session().id();
  EXPECT_EQ(opening.message.resume_token(), "");
  Result<v1::Session> session = Get(client, id.substr(0, 14));
  ASSERT_TRUE(session.ok()) << session.status().ToString();
  EXPECT_EQ(session->state(), v1::SESSION_STATE_OPEN);
  EXPECT_EQ(session->labels().at("loop"), "7");
  EXPECT_EQ(session->clocks(), "lock");
  EXPECT_EQ(session->trust(0).code(), "clocks_not_locked");
  EXPECT_EQ(session->expires_unix_ns() - session->granted_unix_ns(), 3600 * kNanosPerSecond);
  EXPECT_THAT(List(client), ElementsAre(id));
  v1::Session closed;
  EXPECT_TRUE(Close(client, "@last", &closed).ok());
  EXPECT_EQ(closed.state(), v1::SESSION_STATE_CLOSED);
  v1::ListSessionsRequest open_ones;
  open_ones.add_states(v1::SESSION_STATE_OPEN);
  EXPECT_THAT(List(client, open_ones), ElementsAre());
}

// Whoever closes it wants it to be over; how it came to be is in the answer.
TEST_F(SessionsServiceTest, ClosingOneThatHasEndedTellsHowItEnded) {
  RpcClient client = Connect();
  const std::string closed = OpenOk(client);
  ASSERT_TRUE(Close(client, closed).ok());
  v1::OpenSessionRequest request = Detached();
  request.set_idle_timeout_ms(1000);
  const std::string expired = OpenOk(client, request);
  ASSERT_TRUE(Passing(1000, [&] { return Get(client, expired)->state() == v1::SESSION_STATE_CLOSED; }));
  v1::Session session;
  EXPECT_TRUE(Close(client, closed, &session).ok());
  EXPECT_EQ(session.state(), v1::SESSION_STATE_CLOSED);
  EXPECT_FALSE(session.has_error());
  EXPECT_TRUE(Close(client, expired, &session).ok());
  EXPECT_EQ(session.state(), v1::SESSION_STATE_CLOSED);
  EXPECT_EQ(session.error().code(), "timed_out");
  EXPECT_NE(session.error().remedy(), "");
  RpcClient other = Connect(2000);
  EXPECT_EQ(DetailOf(Close(other, expired)).code(), "not_found") << "it is nobody's business but its owner's";
}

TEST_F(SessionsServiceTest, RoundsAreListedInPages) {
  RpcClient client = Connect();
  const std::string id = OpenOk(client);
  std::vector<std::string> runs;
  for (size_t i = 0; i < 3; ++i) {
    v1::Run run;
    ASSERT_TRUE(Submit(client, "@last", &run).ok());
    EXPECT_EQ(run.session_id(), id);
    EXPECT_EQ(run.round(), static_cast<int>(i) + 1);
    runs.push_back(run.id());
    ASSERT_TRUE(GoesOn(i));
    EndLast();
    ASSERT_TRUE(HasEnded(run.id()));
  }
  v1::ListRoundsRequest request;
  request.set_session_id(id);
  request.set_page_size(2);
  v1::ListRoundsResponse page;
  CallContext first;
  ASSERT_TRUE(client.sessions->ListRounds(&first, request, &page).ok());
  ASSERT_EQ(page.rounds_size(), 2);
  EXPECT_EQ(page.rounds(0).run_id(), runs[0]);
  EXPECT_EQ(page.rounds(0).number(), 1);
  EXPECT_EQ(page.rounds(0).state(), v1::RUN_STATE_DONE);
  EXPECT_EQ(page.rounds(0).metrics(0).name(), "wall_ns");
  request.set_page_token(page.next_page_token());
  CallContext second;
  ASSERT_TRUE(client.sessions->ListRounds(&second, request, &page).ok());
  ASSERT_EQ(page.rounds_size(), 1);
  EXPECT_EQ(page.rounds(0).number(), 3);
  EXPECT_EQ(page.next_page_token(), "");
  request.set_page_token("x");
  CallContext third;
  EXPECT_EQ(DetailOf(client.sessions->ListRounds(&third, request, &page)).code(), "usage");
}

TEST_F(SessionsServiceTest, OthersDoNotEvenSeeIt) {
  RpcClient owner = Connect();
  RpcClient other = Connect(2000);
  RpcClient operator_ = Connect(3000, Role::kOperator);
  const std::string id = OpenOk(owner);
  EXPECT_EQ(Get(other, id).status().code(), ErrorCode::kNotFound);
  EXPECT_EQ(Get(other, "@last").status().code(), ErrorCode::kNotFound);
  EXPECT_EQ(DetailOf(Close(other, id)).code(), "not_found");
  EXPECT_EQ(DetailOf(Submit(other, id)).code(), "not_found");
  EXPECT_THAT(List(other), ElementsAre());
  EXPECT_TRUE(Get(operator_, id).ok());
  EXPECT_THAT(List(operator_), ElementsAre(id));
  EXPECT_EQ(DetailOf(Submit(operator_, id)).code(), "not_permitted") << "its rounds are its owner's";
  EXPECT_TRUE(Close(operator_, id).ok());
  EXPECT_EQ(Get(owner, id)->error().message(), "session " + id + ": uid 3000 closed the session");
}

TEST_F(SessionsServiceTest, OnlyOperatorsGoBeforeOthers) {
  RpcClient viewer = Connect();
  RpcClient operator_ = Connect(3000, Role::kOperator);
  v1::OpenSessionRequest request = Detached();
  request.set_priority(1);
  EXPECT_EQ(DetailOf(Opening(viewer, request).End()).code(), "not_permitted");
  EXPECT_EQ(DetailOf(Submit(viewer, "", nullptr, 1)).code(), "not_permitted");
  v1::Run run;
  EXPECT_TRUE(Submit(operator_, "", &run, 1).ok());
  EXPECT_EQ(run.priority(), 1);
}

TEST_F(SessionsServiceTest, StatusCountsThoseThatARestartWouldLose) {
  RpcClient client = Connect();
  OpenOk(client);
  v1::OpenSessionRequest request = Detached();
  request.set_detached(false);
  Opening attached(client, request);  // waits behind the other one
  ASSERT_TRUE(attached.Next());
  v1::GetStatusResponse status;
  CallContext context;
  ASSERT_TRUE(client.node->GetStatus(&context, {}, &status).ok());
  EXPECT_EQ(status.queue().sessions_open(), 1);
  EXPECT_EQ(status.queue().sessions_queued(), 1);
  EXPECT_EQ(status.queue().sessions_attached(), 1);
}

TEST_F(SessionsServiceTest, WhatIsNoRequestIsRefused) {
  RpcClient client = Connect();
  v1::OpenSessionRequest request = Detached();
  request.set_clocks("fast");
  EXPECT_EQ(DetailOf(Opening(client, request).End()).code(), "usage");
  request = Detached();
  request.set_device("none");
  EXPECT_EQ(DetailOf(Opening(client, request).End()).code(), "usage");
  request.set_resume_token("nobody's");
  EXPECT_EQ(DetailOf(Opening(client, request).End()).code(), "lease_lost");
}

TEST_F(SessionsServiceTest, OneThatIsStoredAndNotYetHeardOfIsFoundOpen) {
  writer_hold_.HoldNextCommit();
  RpcClient client = Connect();
  Opening opening(client, Detached());
  writer_hold_.AwaitCommit();
  std::atomic<int> found = 0;  // 1: open, 2: not
  LookUpSession(parts_->lookup(), Caller{.uid = kUid}, "@last", Rpc::kGetSession, "show session",
                [&](const Result<SessionRow>& row) {
                  found = row.ok() && runs_->sessions().FindOpenRow(row->id) != nullptr ? 1 : 2;
                });
  Settle();
  EXPECT_EQ(found, 0) << "nobody knows yet";
  writer_hold_.LetGo();
  ASSERT_TRUE(Until([&] { return found != 0; }));
  EXPECT_EQ(found, 1);
  EXPECT_TRUE(opening.Until(v1::SESSION_STATE_OPEN));
}

TEST_F(SessionsServiceTest, OneWhoseClientWentBeforeItHeardOfItIsClosed) {
  writer_hold_.HoldNextCommit();
  RpcClient client = Connect();
  {
    Opening opening(client, Detached());
    writer_hold_.AwaitCommit();
    opening.context.TryCancel();
    EXPECT_EQ(opening.End().error_code(), grpc::StatusCode::CANCELLED);
  }
  List(client);  // comes after it on the same connection
  writer_hold_.LetGo();
  ASSERT_TRUE(Until([&] {
    Result<v1::Session> session = Get(client, "@last");
    return session.ok() && session->state() == v1::SESSION_STATE_CLOSED;
  }));
}

TEST_F(SessionsServiceTest, TheListIsRightOnAFullDisk) {
  RpcClient client = Connect();
  const std::string id = OpenOk(client);
  disk_.plan.FailAt(1, Fault::kNoSpace, /*lasting=*/true);
  EXPECT_FALSE(Close(client, id).ok());
  EXPECT_EQ(Get(client, id)->state(), v1::SESSION_STATE_CLOSED);
  EXPECT_THAT(List(client), ElementsAre(id));
  v1::ListSessionsRequest request;
  request.add_states(v1::SESSION_STATE_OPEN);
  EXPECT_THAT(List(client, request), IsEmpty());
  request.set_states(0, v1::SESSION_STATE_CLOSED);
  EXPECT_THAT(List(client, request), ElementsAre(id));
  disk_.plan.Heal();
}

TEST_F(SessionsServiceTest, OneThatCouldNotBeOpenedIsNoSuccess) {
  RpcClient client = Connect();
  const std::string id = OpenOk(client);
  Opening next(client, Detached());
  ASSERT_TRUE(next.Until(v1::SESSION_STATE_QUEUED));
  disk_.plan.FailAt(1, Fault::kNoSpace, /*lasting=*/true);
  EXPECT_FALSE(Close(client, id).ok());  // its device goes to the next all the same
  EXPECT_EQ(DetailOf(next.End()).code(), "storage_full");
  EXPECT_EQ(next.message.session().state(), v1::SESSION_STATE_CLOSED);
  EXPECT_FALSE(next.message.session().has_granted_unix_ns());
  disk_.plan.Heal();
}

TEST_F(SessionsServiceTest, AnAttachedOneOutlivesItsStreamByTenSeconds) {
  RpcClient client = Connect();
  v1::OpenSessionRequest request;
  request.set_device("cpu");
  std::string id;
  std::string token;
  {
    Opening opening(client, request);
    ASSERT_TRUE(opening.Until(v1::SESSION_STATE_OPEN));
    id = opening.message.session().id();
    token = opening.message.resume_token();
    clock_.Advance(60 * kNanosPerSecond);
    EXPECT_EQ(Get(client, id)->state(), v1::SESSION_STATE_OPEN);
    opening.context.TryCancel();
    EXPECT_EQ(opening.End().error_code(), grpc::StatusCode::CANCELLED);
  }
  v1::OpenSessionRequest resume;
  resume.set_resume_token(token);
  {
    Opening resumed(client, resume);
    ASSERT_TRUE(resumed.Next());
    EXPECT_EQ(resumed.message.session().id(), id);
    EXPECT_EQ(resumed.message.session().state(), v1::SESSION_STATE_OPEN);
    resumed.context.TryCancel();
  }
  ASSERT_TRUE(Passing(1000, [&] { return Get(client, id)->state() == v1::SESSION_STATE_CLOSED; }));
  EXPECT_EQ(Get(client, id)->error().code(), "client_gone");
  EXPECT_EQ(DetailOf(Opening(client, resume).End()).code(), "lease_lost");
}

TEST_F(SessionsServiceTest, TheStreamSaysHowOneEndsThatWasNeverOpen) {
  RpcClient client = Connect();
  OpenOk(client);
  v1::OpenSessionRequest request = Detached();
  request.set_queue_timeout_ms(1000);
  Opening opening(client, request);
  ASSERT_TRUE(opening.Next());
  EXPECT_TRUE(Until([&] { return List(client).size() == 2; }));
  clock_.Advance(1000 * kNanosPerMilli);
  grpc::Status ended = opening.End();
  EXPECT_EQ(ended.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(DetailOf(ended).code(), "queue_timeout");
  EXPECT_EQ(opening.message.session().state(), v1::SESSION_STATE_CLOSED);
}

TEST_F(SessionsServiceTest, TellsThePlaceInTheQueue) {
  RpcClient client = Connect();
  const std::string holder = OpenOk(client);
  Opening opening(client, Detached());
  ASSERT_TRUE(Passing(100, [&] { return opening.Next() && opening.message.queue_position() == 1; }));
  EXPECT_FALSE(opening.message.has_estimated_wait_ms());
  for (const auto& [id, position] : {std::pair{opening.message.session().id(), 1}, {holder, 0}}) {
    v1::GetSessionRequest request;
    request.set_id(id);
    v1::GetSessionResponse response;
    CallContext context;
    ASSERT_TRUE(client.sessions->GetSession(&context, request, &response).ok());
    EXPECT_EQ(response.queue_position(), position);
    EXPECT_FALSE(response.has_estimated_wait_ms());
  }
  ASSERT_TRUE(Close(client, holder).ok());
  EXPECT_TRUE(opening.Until(v1::SESSION_STATE_OPEN));
}

TEST_F(SessionsServiceTest, DevicesSayWhichSessionHoldsThemAndWhichRunItIs) {
  RpcClient client = Connect();
  const std::string id = OpenOk(client);
  v1::Run run;
  ASSERT_TRUE(Submit(client, id, &run).ok());
  ASSERT_TRUE(GoesOn(0));
  v1::GetStatusResponse status;
  CallContext context;
  ASSERT_TRUE(client.node->GetStatus(&context, {}, &status).ok());
  EXPECT_EQ(status.devices(0).session_id(), id);
  EXPECT_EQ(status.devices(0).session_uid(), kUid);
  EXPECT_EQ(status.devices(0).run_id(), run.id());
  EXPECT_EQ(status.queue().sessions_open(), 1);
  EXPECT_EQ(status.queue().limit_per_uid(), 2000);
  EXPECT_EQ(status.queue().running(), 1);
  EndLast();
}

}  // namespace
}  // namespace kprof
