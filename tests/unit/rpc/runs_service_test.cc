#include "daemon/rpc/services/runs_service.h"

#include <gtest/gtest.h>

#include "tests/unit/rpc/rpc_fixture.h"

namespace kprof {
namespace {

class RunsServiceTest : public testing::Test, public RpcFixture {
 protected:
  // Ids and states, newest first, in pages of that many.
  std::vector<std::pair<std::string, v1::RunState>> List(RpcClient& client, const std::vector<v1::RunState>& states,
                                                         int32_t page_size = 0) {
    std::vector<std::pair<std::string, v1::RunState>> runs;
    v1::ListRunsRequest request;
    for (v1::RunState state : states) request.add_states(state);
    request.set_page_size(page_size);
    do {
      v1::ListRunsResponse page;
      CallContext context;
      grpc::Status status = client.runs->ListRuns(&context, request, &page);
      EXPECT_TRUE(status.ok()) << status.error_message();
      for (const v1::Run& run : page.runs()) runs.emplace_back(run.id(), run.state());
      request.set_page_token(page.next_page_token());
    } while (!request.page_token().empty());
    return runs;
  }
};

using Listed = std::vector<std::pair<std::string, v1::RunState>>;

TEST_F(RunsServiceTest, ARunWhoseEndCannotBeStoredIsListedAsItIsShown) {
  Start();
  RpcClient client = Connect();
  const std::string done = StoreEnded("0000000000000001");
  const std::string id = RunningRun(client);
  ASSERT_EQ(Get(client, id).state(), v1::RUN_STATE_RUNNING);
  disk_.plan.FailAt(1, Fault::kNoSpace, true);
  EndLast();
  ASSERT_TRUE(UntilOnLoop([&] { return IsTerminal(runs_->FindOpen(id)->row.state); }));

  const v1::Run shown = Get(client, id);
  EXPECT_EQ(shown.state(), v1::RUN_STATE_FAILED);
  EXPECT_EQ(shown.error().code(), "storage_full");
  EXPECT_EQ(List(client, {}), (Listed{{id, v1::RUN_STATE_FAILED}, {done, v1::RUN_STATE_DONE}}));
  EXPECT_EQ(List(client, {v1::RUN_STATE_FAILED}), (Listed{{id, v1::RUN_STATE_FAILED}}));
  EXPECT_EQ(List(client, {v1::RUN_STATE_PREPARING, v1::RUN_STATE_RUNNING, v1::RUN_STATE_COLLECTING}), Listed());
  EXPECT_EQ(List(client, {v1::RUN_STATE_DONE}), (Listed{{done, v1::RUN_STATE_DONE}}));
  EXPECT_EQ(List(client, {v1::RUN_STATE_DONE}, 1), (Listed{{done, v1::RUN_STATE_DONE}}));

  disk_.plan.Heal();
  EXPECT_TRUE(Passing(1000, [&] {
    bool stored = false;
    OnLoop([&] { stored = !runs_->FindOpen(id).has_value(); });
    return stored;
  }));
  EXPECT_EQ(Get(client, id).ShortDebugString(), shown.ShortDebugString());
  EXPECT_EQ(List(client, {v1::RUN_STATE_FAILED}), (Listed{{id, v1::RUN_STATE_FAILED}}));
}

TEST_F(RunsServiceTest, WhatIsOnesOwnIsSoFromEverywhere) {
  Start();
  Caller here{kUid, Role::kViewer, true, {}};
  here.place = CallerPlace::kHere;
  Caller elsewhere = here;
  elsewhere.place = CallerPlace::kElsewhere;
  RpcClient outside = ConnectAs(here);
  RpcClient inside = ConnectAs(elsewhere);
  const std::string id = RunningRun(outside);
  EXPECT_EQ(Get(inside, id).state(), v1::RUN_STATE_RUNNING);
  EXPECT_EQ(List(inside, {}), (Listed{{id, v1::RUN_STATE_RUNNING}}));
  v1::PinRunRequest pin;
  pin.set_id(id);
  v1::PinRunResponse pinned;
  CallContext context;
  EXPECT_TRUE(inside.runs->PinRun(&context, pin, &pinned).ok());
}

TEST_F(RunsServiceTest, ArtifactsComeInPagesAndARunCarriesTheFirstOnes) {
  Start();
  RpcClient client = Connect();
  RunRow row = EndedRun("0000000000000001", 1'700'000'000'000'000'000, 0);
  row.uid = kUid;
  row.artifacts.clear();
  for (int i = 0; i < 2500; ++i) row.artifacts.push_back({"a" + std::to_string(100'000 + i), i, "sum"});
  Store(row);
  for (int32_t page_size : {0, 1, 999, 1000, 5000}) {
    SCOPED_TRACE(page_size);
    std::vector<std::string> names;
    v1::ListArtifactsRequest request;
    request.set_id(row.id);
    request.set_page_size(page_size);
    size_t pages = 0;
    do {
      v1::ListArtifactsResponse page;
      CallContext context;
      ASSERT_TRUE(client.runs->ListArtifacts(&context, request, &page).ok());
      for (const v1::Artifact& artifact : page.artifacts()) names.push_back(artifact.name());
      request.set_page_token(page.next_page_token());
      ++pages;
    } while (!request.page_token().empty() && pages < 100);
    EXPECT_EQ(pages, page_size == 1 ? 100u : 3u);
    EXPECT_EQ(names.size(), page_size == 1 ? 100u : 2500u);
    for (size_t i = 0; i < names.size(); ++i) ASSERT_EQ(names[i], row.artifacts[i].name);
  }
  const v1::Run shown = Get(client, row.id);
  EXPECT_EQ(shown.artifacts_size(), 100);
  EXPECT_EQ(shown.artifact_count(), 2500);

  v1::ListArtifactsRequest negative;
  negative.set_id(row.id);
  negative.set_page_size(-1);
  v1::ListArtifactsResponse page;
  CallContext context;
  EXPECT_EQ(client.runs->ListArtifacts(&context, negative, &page).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(RunsServiceTest, AQueuedRunSaysWhereItStands) {
  Start();
  RpcClient client = Connect();
  const std::string running = RunningRun(client);
  const std::string next = SubmitRun(client);
  const std::string last = SubmitRun(client);
  for (const auto& [id, position] : {std::pair{running, 0}, {next, 1}, {last, 2}}) {
    v1::GetRunRequest request;
    request.set_id(id);
    v1::GetRunResponse response;
    CallContext context;
    ASSERT_TRUE(client.runs->GetRun(&context, request, &response).ok());
    EXPECT_EQ(response.queue_position(), position);
  }
}

TEST_F(RunsServiceTest, WhatItsClientCannotStartFailsAndSaysWhy) {
  Start();
  RpcClient owner = Connect();
  RpcClient operator_ = Connect(3000, Role::kOperator);
  RunningRun(owner);
  const std::string why = "connect to the side socket: no such file; " + std::string(2000, 'x');
  auto error_after = [&](RpcClient& client) {
    v1::CancelRunRequest request;
    request.set_id(SubmitRun(owner));
    request.set_launch_failure(why);
    v1::CancelRunResponse response;
    CallContext context;
    EXPECT_TRUE(client.runs->CancelRun(&context, request, &response).ok());
    return Get(owner, request.id()).error();
  };
  const v1::RunError own = error_after(owner);
  EXPECT_EQ(own.code(), "spawn_failed");
  EXPECT_NE(own.message().find(": its client could not start it: connect to the side socket: no such file; xxx"),
            std::string::npos)
      << own.message();
  EXPECT_LT(own.message().size(), 1500u);
  // What is somebody else's, nobody can make look as if it had failed by itself.
  const v1::RunError others = error_after(operator_);
  EXPECT_EQ(others.code(), "cancelled");
  EXPECT_NE(others.message().find(": uid 3000 cancelled it"), std::string::npos) << others.message();
}

TEST_F(RunsServiceTest, WhatIsOverALimitIsRefused) {
  Start();
  RpcClient client = Connect();
  const std::string id = RunningRun(client);
  for (int64_t grace_ms : {int64_t{-1}, int64_t{600'001}}) {
    v1::CancelRunRequest request;
    request.set_id(id);
    request.set_grace_ms(grace_ms);
    v1::CancelRunResponse response;
    CallContext context;
    EXPECT_EQ(DetailOf(client.runs->CancelRun(&context, request, &response)).code(), "usage") << grace_ms;
  }
  for (auto [timeout_ms, row_limit] : {std::pair<int64_t, int64_t>{600'001, 0}, {0, 10'000'001}, {-1, 0}, {0, -1}}) {
    v1::QueryRequest request;
    request.set_sql("SELECT 1");
    request.set_timeout_ms(timeout_ms);
    request.set_row_limit(row_limit);
    CallContext context;
    auto reader = client.queries->Query(&context, request);
    v1::QueryResponse message;
    EXPECT_FALSE(reader->Read(&message));
    EXPECT_EQ(DetailOf(reader->Finish()).code(), "usage") << timeout_ms << ", " << row_limit;
  }
}

TEST_F(RunsServiceTest, AskingForEndedRunsDoesNotListOpenOnes) {
  Start();
  RpcClient client = Connect();
  const std::string done = StoreEnded("0000000000000001");
  const std::string running = RunningRun(client);
  const std::string queued = SubmitRun(client);
  EXPECT_EQ(List(client, {v1::RUN_STATE_DONE}), (Listed{{done, v1::RUN_STATE_DONE}}));
  EXPECT_EQ(List(client, {v1::RUN_STATE_RUNNING}), (Listed{{running, v1::RUN_STATE_RUNNING}}));
  EXPECT_EQ(List(client, {v1::RUN_STATE_QUEUED, v1::RUN_STATE_DONE}),
            (Listed{{queued, v1::RUN_STATE_QUEUED}, {done, v1::RUN_STATE_DONE}}));
  EXPECT_EQ(List(client, {}, 1),
            (Listed{{queued, v1::RUN_STATE_QUEUED}, {running, v1::RUN_STATE_RUNNING}, {done, v1::RUN_STATE_DONE}}));
}

TEST_F(RunsServiceTest, OthersSeeThatADeviceIsHeldAndNotByWhichRun) {
  Start();
  RpcClient owner = Connect();
  const std::string id = RunningRun(owner);
  auto device_of = [](RpcClient& client) {
    v1::ListDevicesResponse devices;
    v1::GetStatusResponse status;
    CallContext listing;
    CallContext asking;
    EXPECT_TRUE(client.node->ListDevices(&listing, v1::ListDevicesRequest(), &devices).ok());
    EXPECT_TRUE(client.node->GetStatus(&asking, v1::GetStatusRequest(), &status).ok());
    EXPECT_EQ(devices.devices(0).run_id(), status.devices(0).run_id());
    return devices.devices(0);
  };
  EXPECT_EQ(device_of(owner).run_id(), id);
  // The same uid in both roles: what one was told is not what the other is.
  RpcClient operates = Connect(kUid + 1, Role::kOperator);
  EXPECT_EQ(device_of(operates).run_id(), id);
  RpcClient other = Connect(kUid + 1);
  const v1::Device seen = device_of(other);
  EXPECT_EQ(seen.run_id(), "");
  EXPECT_EQ(seen.run_uid(), 0u);
  EXPECT_EQ(seen.held_since_unix_ns(), clock_.unix_ns());
}

}  // namespace
}  // namespace kprof
