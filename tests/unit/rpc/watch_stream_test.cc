#include "daemon/rpc/streams/watch_stream.h"

#include <gtest/gtest.h>

#include "daemon/runs/object_lookup.h"
#include "tests/unit/rpc/rpc_fixture.h"

namespace kprof {
namespace {

class WatchStreamTest : public testing::Test, public RpcFixture {
 protected:
  struct Watch {
    Watch(RpcClient& client, const std::string& id, bool hold = false) {
      v1::WatchRunRequest request;
      request.set_id(id);
      request.set_hold(hold);
      reader = client.runs->WatchRun(&context, request);
    }
    // The state of the next message; unspecified at the end.
    v1::RunState Next() {
      if (!reader->Read(&message)) return v1::RUN_STATE_UNSPECIFIED;
      return message.run().state();
    }
    CallContext context;
    std::unique_ptr<grpc::ClientReader<v1::WatchRunResponse>> reader;
    v1::WatchRunResponse message;
  };

  // Answers like any unary call: what was cancelled or refused before has harmed nobody.
  bool IsWell(RpcClient& client) {
    v1::GetStatusResponse response;
    CallContext context;
    return client.node->GetStatus(&context, v1::GetStatusRequest(), &response).ok();
  }
};

TEST_F(WatchStreamTest, TellsTheRunAsItIsThenItsChangesThenEnds) {
  Start();
  RpcClient client = Connect();
  const std::string id = RunningRun(client);
  Watch watch(client, id);
  EXPECT_EQ(watch.Next(), v1::RUN_STATE_RUNNING);
  EXPECT_EQ(watch.message.now_unix_ns(), clock_.unix_ns());
  EndLast(3);
  v1::RunState state = watch.Next();
  while (state == v1::RUN_STATE_COLLECTING) state = watch.Next();
  EXPECT_EQ(state, v1::RUN_STATE_FAILED);
  EXPECT_EQ(watch.message.run().exit_code(), 3);
  EXPECT_EQ(watch.Next(), v1::RUN_STATE_UNSPECIFIED);
  EXPECT_TRUE(watch.reader->Finish().ok());
}

TEST_F(WatchStreamTest, TellsWhereInTheQueueARunIs) {
  Start();
  RpcClient client = Connect();
  const std::string first = RunningRun(client);
  const std::string second = SubmitRun(client);
  const std::string third = SubmitRun(client);
  Watch watch(client, third);
  EXPECT_EQ(watch.Next(), v1::RUN_STATE_QUEUED);
  EXPECT_EQ(watch.message.queue_position(), 2);
}

// Else it would never be told of its end.
TEST_F(WatchStreamTest, ARunThatIsStoredAndNotYetHeardOfIsFoundOpen) {
  Start();
  RpcClient client = Connect();
  writer_hold_.HoldNextCommit();
  auto submitted = std::async(std::launch::async, [&] { return SubmitRun(client); });
  writer_hold_.AwaitCommit();
  std::atomic<int> found = 0;  // 1: open, 2: not
  LookUpRun(parts_->lookup(), Caller{.uid = kUid}, "@last", Rpc::kWatchRun, "watch run",
            [&](const Result<RunRow>& row) { found = row.ok() && runs_->FindOpenRow(row->id) != nullptr ? 1 : 2; });
  Settle();
  EXPECT_EQ(found, 0) << "nobody knows yet";
  writer_hold_.LetGo();
  ASSERT_TRUE(Until([&] { return found != 0; }));
  EXPECT_EQ(found, 1);
  EXPECT_FALSE(submitted.get().empty());
}

TEST_F(WatchStreamTest, AnEndedRunIsToldOnce) {
  Start();
  RpcClient client = Connect();
  Watch watch(client, StoreEnded("0100000000000000"));
  EXPECT_EQ(watch.Next(), v1::RUN_STATE_DONE);
  EXPECT_EQ(watch.Next(), v1::RUN_STATE_UNSPECIFIED);
  EXPECT_TRUE(watch.reader->Finish().ok());
}

TEST_F(WatchStreamTest, AnUnknownRunEndsItAtOnce) {
  Start();
  RpcClient client = Connect();
  Watch watch(client, "0222");
  EXPECT_EQ(watch.Next(), v1::RUN_STATE_UNSPECIFIED);
  grpc::Status status = watch.reader->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(DetailOf(status).what(), "watch run 0222");
}

TEST_F(WatchStreamTest, ACancelledOneLeavesTheRunAndOtherWatchersAlone) {
  Start();
  RpcClient client = Connect();
  const std::string id = RunningRun(client);
  Watch stays(client, id);
  Watch goes(client, id);
  EXPECT_EQ(stays.Next(), v1::RUN_STATE_RUNNING);
  EXPECT_EQ(goes.Next(), v1::RUN_STATE_RUNNING);
  goes.context.TryCancel();
  EXPECT_EQ(goes.reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
  EndLast();
  v1::RunState last = v1::RUN_STATE_UNSPECIFIED;
  while (v1::RunState state = stays.Next()) last = state;
  EXPECT_EQ(last, v1::RUN_STATE_DONE);
  EXPECT_TRUE(stays.reader->Finish().ok());
}

TEST_F(WatchStreamTest, OnesCancelledWhileThePoolIsStalledGoWhenItIsNot) {
  Start();
  RpcClient client = Connect();
  const std::string id = RunningRun(client);
  StalledPool stalled(*workers_, kWorkers);
  for (int i = 0; i < 50; ++i) {
    Watch watch(client, id, i % 2 == 0);
    CallContext context;
    context.set_deadline(std::chrono::system_clock::now());
    v1::WaitRunRequest request;
    request.set_id(id);
    v1::WaitRunResponse response;
    EXPECT_FALSE(client.runs->WaitRun(&context, request, &response).ok());
    watch.context.TryCancel();
    EXPECT_EQ(watch.reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  stalled.LetGo();
  EXPECT_TRUE(IsWell(client));
  EXPECT_EQ(Get(client, id).state(), v1::RUN_STATE_RUNNING);
}

TEST_F(WatchStreamTest, OneThatBeganWhileThePoolWasStalledMissesNothing) {
  Start();
  RpcClient client = Connect();
  const std::string id = RunningRun(client);
  StalledPool stalled(*workers_, kWorkers);
  Watch watch(client, id);
  EndLast();  // collecting waits for the pool, too
  stalled.LetGo();
  v1::RunState last = v1::RUN_STATE_UNSPECIFIED;
  while (v1::RunState state = watch.Next()) last = state;
  EXPECT_EQ(last, v1::RUN_STATE_DONE);
  EXPECT_TRUE(watch.reader->Finish().ok());
}

TEST_F(WatchStreamTest, AServerThatEndsEndsThem) {
  Start();
  RpcClient client = Connect();
  const std::string id = RunningRun(client);
  Watch watch(client, id, true);
  EXPECT_EQ(watch.Next(), v1::RUN_STATE_RUNNING);
  Stop();
  EXPECT_FALSE(watch.reader->Finish().ok());
}

TEST_F(WatchStreamTest, WhileOneHoldsAnAttachedRunItLives) {
  Start();
  RpcClient client = Connect();
  const std::string id = SubmitRun(client, true);
  Watch first(client, id, true);
  Watch second(client, id, true);
  ASSERT_NE(first.Next(), v1::RUN_STATE_UNSPECIFIED);
  ASSERT_NE(second.Next(), v1::RUN_STATE_UNSPECIFIED);
  ASSERT_TRUE(GoesOn(0));
  first.context.TryCancel();
  first.reader->Finish();
  for (int i = 0; i < 20; ++i) {
    clock_.Advance(10 * kNanosPerSecond);
    OnLoop([] {});
  }
  OnLoop([&] { EXPECT_TRUE(launcher_.last().stop_graces_ms.empty()); });

  second.context.TryCancel();
  second.reader->Finish();
  EXPECT_TRUE(Passing(1000, [&] {
    bool stopped = false;
    OnLoop([&] { stopped = !launcher_.last().stop_graces_ms.empty(); });
    return stopped;
  }));
  EndLast(143, true);
  EXPECT_TRUE(HasEnded(id));
  EXPECT_EQ(Get(client, id).error().code(), "client_gone");
}

TEST_F(WatchStreamTest, WatchingWithoutHoldKeepsNothingAlive) {
  Start();
  RpcClient client = Connect();
  const std::string id = SubmitRun(client, true);
  Watch watch(client, id);
  ASSERT_NE(watch.Next(), v1::RUN_STATE_UNSPECIFIED);
  EXPECT_TRUE(Passing(1000, [&] {
    bool gone = false;
    OnLoop([&] {
      if (launcher_.count() > 0 && !launcher_.last().stop_graces_ms.empty()) gone = true;
      if (!runs_->FindOpen(id)) gone = true;
    });
    return gone;
  }));
}

TEST_F(WatchStreamTest, OnlyWhoMayChangeARunMayHoldIt) {
  Start();
  RunRow shared = EndedRun("0100000000000000", 1, 0);
  shared.shared = true;
  Store(std::move(shared));
  RpcClient other = Connect(kUid + 1);
  Watch sees(other, "0100000000000000");
  EXPECT_EQ(sees.Next(), v1::RUN_STATE_DONE);
  EXPECT_EQ(sees.Next(), v1::RUN_STATE_UNSPECIFIED);
  EXPECT_TRUE(sees.reader->Finish().ok());
  Watch holds(other, "0100000000000000", true);
  EXPECT_EQ(holds.Next(), v1::RUN_STATE_UNSPECIFIED);
  EXPECT_EQ(holds.reader->Finish().error_code(), grpc::StatusCode::PERMISSION_DENIED);
}

TEST_F(WatchStreamTest, WaitAnswersWithTheRunsOwnError) {
  Start();
  RpcClient client = Connect();
  const std::string id = RunningRun(client);
  grpc::Status status;
  std::thread waiting([&] {
    v1::WaitRunRequest request;
    request.set_id(id);
    v1::WaitRunResponse response;
    CallContext context;
    status = client.runs->WaitRun(&context, request, &response);
  });
  EndLast(3);
  waiting.join();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(DetailOf(status).code(), "command_failed");
}

TEST_F(WatchStreamTest, OnlyTheFirstMessageHasTheCommand) {
  Start();
  RpcClient client = Connect();
  const std::string id = RunningRun(client);
  Watch watch(client, id);
  EXPECT_EQ(watch.Next(), v1::RUN_STATE_RUNNING);
  EXPECT_EQ(watch.message.run().argv_size(), 1);
  EndLast();
  while (watch.Next() != v1::RUN_STATE_UNSPECIFIED) EXPECT_EQ(watch.message.run().argv_size(), 0);
}

TEST_F(WatchStreamTest, AreBoundedForEachUser) {
  server_limits_.calls.watches = 2;
  Start();
  RpcClient client = Connect();
  const std::string id = RunningRun(client);
  Watch first(client, id);
  Watch second(client, id);
  EXPECT_EQ(first.Next(), v1::RUN_STATE_RUNNING);
  EXPECT_EQ(second.Next(), v1::RUN_STATE_RUNNING);
  Watch third(client, id);
  EXPECT_EQ(third.Next(), v1::RUN_STATE_UNSPECIFIED);
  EXPECT_EQ(third.reader->Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  RpcClient other = Connect(kUid + 1, Role::kOperator);
  Watch of_another(other, id);
  EXPECT_EQ(of_another.Next(), v1::RUN_STATE_RUNNING);
  first.context.TryCancel();
  (void)first.reader->Finish();
  EXPECT_TRUE(Until([&] { return limits_->calls.watches.taken() == 2; }));
  Watch fourth(client, id);
  EXPECT_EQ(fourth.Next(), v1::RUN_STATE_RUNNING);
}

// Each of them would else be a copy of the command at the daemon, and one more with each change.
TEST_F(WatchStreamTest, WhoReadsNoneOfThemHasFewCommandsInMemory) {
  constexpr int64_t kCommandBytes = 1 << 20;
  server_limits_.calls.answer_bytes = 8 * kCommandBytes;
  Start();
  RpcClient client = ConnectWithoutLookahead();
  v1::SubmitRunRequest request;
  request.mutable_spec()->set_tool("command");
  request.mutable_spec()->add_argv("/bin/true");
  for (int i = 0; i < 16; ++i) request.mutable_spec()->add_argv(std::string(kCommandBytes / 16, 'x'));
  request.mutable_spec()->set_cwd("/");
  request.mutable_spec()->set_device("cpu");
  v1::SubmitRunResponse response;
  CallContext context;
  const grpc::Status submitted = client.runs->SubmitRun(&context, request, &response);
  ASSERT_TRUE(submitted.ok()) << submitted.error_message();
  ASSERT_TRUE(GoesOn(0));
  ASSERT_TRUE(Until([&] { return limits_->calls.answer_bytes.taken() == 0; }));

  std::vector<std::unique_ptr<Watch>> watches;
  for (int i = 0; i < 20; ++i) watches.push_back(std::make_unique<Watch>(client, response.run().id()));
  EXPECT_TRUE(Until([&] { return limits_->calls.watches.taken() == 7; }));  // the others are refused
  EXPECT_EQ(limits_->calls.answer_bytes.taken() / kCommandBytes, 7);
  EndLast();
  EXPECT_TRUE(HasEnded(response.run().id()));
  EXPECT_EQ(limits_->calls.answer_bytes.taken() / kCommandBytes, 7);

  int told = 0;
  for (auto& watch : watches) {
    v1::RunState last = v1::RUN_STATE_UNSPECIFIED;
    while (v1::RunState state = watch->Next()) last = state;
    const grpc::Status status = watch->reader->Finish();
    if (status.ok()) {
      EXPECT_EQ(last, v1::RUN_STATE_DONE);
      ++told;
    } else {
      EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    }
  }
  EXPECT_EQ(told, 7);
  EXPECT_TRUE(Until([&] { return limits_->calls.answer_bytes.taken() == 0; }));
}

}  // namespace
}  // namespace kprof
