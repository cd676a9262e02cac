#include "daemon/rpc/streams/pull_stream.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "kprof/v1/queries.grpc.pb.h"
#include "tests/fakes/base/fake_clock.h"
#include "tests/fakes/base/temporary_folder.h"
#include "tests/fakes/base/ticking_clock.h"
#include "tests/unit/rpc/rpc_fixture.h"

namespace kprof {
namespace {

using Message = v1::QueryResponse;

// What a test sees of a source while the stream has it.
struct Seen {
  std::atomic<int> asked{0};
  std::atomic<int> inside{0};
  std::atomic<bool> asked_twice_at_once{false};
  std::atomic<bool> stopped{false};
  std::atomic<bool> destroyed{false};
};

class TestSource final : public PullSource<Message> {
 public:
  using Answer = std::function<Result<Pulled>(int number, Message&, std::stop_token)>;
  TestSource(Seen& seen, Answer answer) : seen_(seen), answer_(std::move(answer)) {}
  ~TestSource() override { seen_.destroyed = true; }
  Result<Pulled> Next(Message& message, std::stop_token stop) override {
    if (seen_.inside.fetch_add(1) != 0) seen_.asked_twice_at_once = true;
    EXPECT_EQ(message.ByteSizeLong(), 0u);
    Result<Pulled> pulled = answer_(seen_.asked.fetch_add(1), message, stop);
    if (stop.stop_requested()) seen_.stopped = true;
    seen_.inside.fetch_sub(1);
    return pulled;
  }

 private:
  Seen& seen_;
  const Answer answer_;
};

// A server whose Query is a PullStream over the test's source.
class PullStreamTest : public testing::Test {
 protected:
  struct Service final : v1::QueriesService::CallbackService {
    grpc::ServerWriteReactor<Message>* Query(grpc::CallbackServerContext* context, const v1::QueryRequest*) override {
      return make(context);
    }
    std::function<grpc::ServerWriteReactor<Message>*(grpc::CallbackServerContext*)> make;
  };

  void Serve(TestSource::Answer answer, bool impatient = false) {
    service_.make = [this, answer, impatient](grpc::CallbackServerContext* context) {
      return new PullStream<Message>(CallRecord(admission_, Rpc::kQuery), loop_, pool_,
                                     std::make_unique<TestSource>(seen_, answer), impatient ? context : nullptr);
    };
    const std::string address = "unix:" + (folder_ / "s");
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address, grpc::InsecureServerCredentials());
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    KPROF_CHECK(server_ != nullptr);
    stub_ = v1::QueriesService::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
    turning_ = std::thread([this] {
      while (!stop_turning_) {
        loop_.RunUntilIdle();
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      }
      loop_.RunUntilIdle();
    });
  }
  void TearDown() override {
    if (!server_) return;
    server_->Shutdown(std::chrono::system_clock::now());
    server_->Wait();
    stop_turning_ = true;
    turning_.join();
  }

  struct Call {
    explicit Call(v1::QueriesService::Stub& stub) {
      context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
      reader = stub.Query(&context, v1::QueryRequest());
    }
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReader<Message>> reader;
  };

  static Result<Pulled> Say(Message& message, int rows) {
    message.mutable_batch()->set_rows(rows);
    return Pulled::kMessage;
  }
  static Result<Pulled> SayMuch(Message& message, int rows) {
    message.mutable_batch()->add_columns()->add_texts(std::string(256 << 10, 'x'));
    return Say(message, rows);
  }

  TemporaryFolder folder_;
  FakeClock clock_;
  IoLoop loop_{clock_};
  CallTotals totals_;
  const std::shared_ptr<CallerAccount> account_ =
      std::make_shared<CallerAccount>(clock_, "uid 1000", CallLimits(), totals_);
  const std::shared_ptr<CallAdmission> admission_ =
      std::make_shared<CallAdmission>(clock_, Caller{1000, Role::kViewer, true, {}}, account_, OkStatus(), nullptr);
  WorkerPool pool_{{.threads = 2, .queue_limit_jobs = 100}};
  Seen seen_;
  Service service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<v1::QueriesService::Stub> stub_;
  std::atomic<bool> stop_turning_{false};
  std::thread turning_;
};

TEST_F(PullStreamTest, SendsWhatItsSourceSaysInOrderAndEndsWithIt) {
  Serve([](int number, Message& message, const std::stop_token&) -> Result<Pulled> {
    if (number == 200) return Pulled::kEnd;
    return Say(message, number + 1);
  });
  Call call(*stub_);
  Message message;
  for (int i = 1; i <= 200; ++i) {
    ASSERT_TRUE(call.reader->Read(&message));
    ASSERT_EQ(message.batch().rows(), i);
  }
  EXPECT_FALSE(call.reader->Read(&message));
  EXPECT_TRUE(call.reader->Finish().ok());
  EXPECT_TRUE(seen_.destroyed);
  EXPECT_FALSE(seen_.asked_twice_at_once);
}

TEST_F(PullStreamTest, EndsWithTheFailureOfItsSource) {
  Serve([](int number, Message& message, const std::stop_token&) -> Result<Pulled> {
    if (number == 1) return Fail(ErrorCode::kStorageBroken, "read", "no", "mend it");
    return Say(message, 1);
  });
  Call call(*stub_);
  Message message;
  EXPECT_TRUE(call.reader->Read(&message));
  EXPECT_FALSE(call.reader->Read(&message));
  grpc::Status status = call.reader->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DATA_LOSS);
  EXPECT_EQ(status.error_message(), "read: no; mend it");
}

TEST_F(PullStreamTest, ASlowClientSlowsItsSource) {
  constexpr int kMessages = 400;  // 100 MiB
  Serve([](int number, Message& message, const std::stop_token&) -> Result<Pulled> {
    if (number == kMessages) return Pulled::kEnd;
    return SayMuch(message, number + 1);
  });
  Call call(*stub_);
  // What is asked for and not read is what gRPC and the socket hold, a few MiB; then nothing moves.
  int before = -1;
  ASSERT_TRUE(Until([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    return std::exchange(before, seen_.asked.load()) == seen_.asked && before > 0;
  }));
  EXPECT_LT(seen_.asked, kMessages / 4);
  EXPECT_FALSE(seen_.destroyed);
  Message message;
  for (int i = 1; i <= kMessages; ++i) {
    ASSERT_TRUE(call.reader->Read(&message));
    ASSERT_EQ(message.batch().rows(), i);
  }
  EXPECT_FALSE(call.reader->Read(&message));
  EXPECT_TRUE(call.reader->Finish().ok());
  EXPECT_FALSE(seen_.asked_twice_at_once);
}

TEST_F(PullStreamTest, AClientThatGoesStopsItsSource) {
  Serve([](int, Message&, const std::stop_token& stop) -> Result<Pulled> {
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    wake.wait(lock, stop, [] { return false; });  // until the token fires
    return Fail(ErrorCode::kCancelled, "read", "no longer wanted");
  });
  Call call(*stub_);
  ASSERT_TRUE(Until([this] { return seen_.inside == 1; }));
  call.context.TryCancel();
  EXPECT_TRUE(Until([this] { return seen_.destroyed.load(); }));
  EXPECT_TRUE(seen_.stopped);
  EXPECT_EQ(call.reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(PullStreamTest, AClientThatGoesWhileItReadsNothingEndsTheStream) {
  Serve([](int number, Message& message, const std::stop_token&) { return SayMuch(message, number + 1); });
  Call call(*stub_);
  ASSERT_TRUE(Until([this] { return seen_.asked > 0; }));
  call.context.TryCancel();
  EXPECT_TRUE(Until([this] { return seen_.destroyed.load(); }));
  EXPECT_EQ(call.reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(PullStreamTest, AsksAgainAfterAPauseWhenThereIsNothingYet) {
  Serve([](int number, Message& message, const std::stop_token&) -> Result<Pulled> {
    if (number < 3) return Pulled::kNothingYet;
    if (number == 4) return Pulled::kEnd;
    return Say(message, 7);
  });
  Call call(*stub_);
  ASSERT_TRUE(Until([&] { return seen_.asked == 1; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(seen_.asked, 1);  // the clock stands still
  Message message;
  TickingClock ticking(clock_, PullStream<Message>::kPauseMs);
  EXPECT_TRUE(call.reader->Read(&message));
  EXPECT_EQ(message.batch().rows(), 7);
  EXPECT_FALSE(call.reader->Read(&message));
  EXPECT_TRUE(call.reader->Finish().ok());
  EXPECT_TRUE(Until([this] { return seen_.destroyed.load(); }));
  EXPECT_EQ(seen_.asked, 5);
}

TEST_F(PullStreamTest, AsksEverMoreSeldomWhileThereIsNothing) {
  std::vector<int64_t> asked_ms;
  Serve([&](int number, Message&, const std::stop_token&) -> Result<Pulled> {
    asked_ms.push_back(clock_.mono_ns() / kNanosPerMilli);
    return number < 6 ? Pulled::kNothingYet : Pulled::kEnd;
  });
  Call call(*stub_);
  TickingClock ticking(clock_, 1, std::chrono::microseconds(100));
  EXPECT_TRUE(call.reader->Finish().ok());
  EXPECT_TRUE(Until([this] { return seen_.destroyed.load(); }));
  ASSERT_EQ(asked_ms.size(), 7u);
  const int64_t pauses_ms[] = {50, 100, 200, 400, 500, 500};
  for (size_t i = 0; i < std::size(pauses_ms); ++i) EXPECT_GE(asked_ms[i + 1] - asked_ms[i], pauses_ms[i]) << i;
}

TEST_F(PullStreamTest, AnImpatientOneGivesUpAClientThatTakesNothing) {
  Serve([](int number, Message& message, const std::stop_token&) { return SayMuch(message, number + 1); }, true);
  Call call(*stub_);
  ASSERT_TRUE(Until([this] { return seen_.asked > 0; }));
  EXPECT_TRUE(Until([this] {
    clock_.Advance(PullStream<Message>::kUnreadLimitMs / 4 * kNanosPerMilli);
    return seen_.destroyed.load();
  }));
  Message message;
  while (call.reader->Read(&message)) {
  }
  EXPECT_EQ(call.reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(PullStreamTest, AnImpatientOneHasPatienceWithASlowSource) {
  std::atomic<bool> go_on{false};
  Serve(
      [&](int number, Message& message, const std::stop_token&) -> Result<Pulled> {
        if (number == 1) return Pulled::kEnd;
        Until([&] { return go_on.load(); });
        return Say(message, 1);
      },
      true);
  Call call(*stub_);
  ASSERT_TRUE(Until([this] { return seen_.inside == 1; }));
  for (int i = 0; i < 10; ++i) {
    clock_.Advance(PullStream<Message>::kUnreadLimitMs * kNanosPerMilli);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  go_on = true;
  Message message;
  EXPECT_TRUE(call.reader->Read(&message));
  EXPECT_TRUE(call.reader->Finish().ok());
}

TEST_F(PullStreamTest, APoolThatTakesNoMoreRefusesTheStream) {
  Serve([](int, Message&, const std::stop_token&) -> Result<Pulled> { return Pulled::kEnd; });
  StalledPool stalled(pool_, 2);
  while (pool_.Submit([] {}).ok()) {
  }
  Call call(*stub_);
  EXPECT_EQ(call.reader->Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(PullStreamTest, WaitsWhileTooMuchOfItsCallersIsUnread) {
  const int64_t all = CallLimits().answer_bytes;
  ASSERT_TRUE(account_->TakeAnswer(all).ok());
  Serve([](int number, Message& message, const std::stop_token&) -> Result<Pulled> {
    return number == 1 ? Pulled::kEnd : Say(message, 7);
  });
  Call call(*stub_);
  for (int i = 0; i < 5; ++i) {
    clock_.Advance(PullStream<Message>::kLongestPauseMs * kNanosPerMilli);
    std::this_thread::yield();
  }
  EXPECT_EQ(seen_.asked, 0);
  account_->GiveAnswerBack(all);
  TickingClock passing(clock_, 100);
  Message message;
  ASSERT_TRUE(call.reader->Read(&message));
  EXPECT_EQ(message.batch().rows(), 7);
  EXPECT_FALSE(call.reader->Read(&message));
  EXPECT_TRUE(call.reader->Finish().ok());
}

TEST_F(PullStreamTest, EndsWhenTooMuchOfItsCallersStaysUnread) {
  ASSERT_TRUE(account_->TakeAnswer(CallLimits().answer_bytes).ok());
  Serve([](int, Message& message, const std::stop_token&) -> Result<Pulled> { return Say(message, 7); });
  TickingClock passing(clock_, 1000);
  Call call(*stub_);
  Message message;
  EXPECT_FALSE(call.reader->Read(&message));
  EXPECT_EQ(call.reader->Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(seen_.asked, 0);
}

TEST_F(PullStreamTest, OneThatHoldsWhatOthersNeedDoesNotWait) {
  ASSERT_TRUE(account_->TakeAnswer(CallLimits().answer_bytes).ok());
  Serve([](int, Message& message, const std::stop_token&) -> Result<Pulled> { return Say(message, 7); }, true);
  Call call(*stub_);
  Message message;
  EXPECT_FALSE(call.reader->Read(&message));
  EXPECT_EQ(call.reader->Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(PullStreamTest, WhatIsNotReadCounts) {
  Serve([](int, Message& message, const std::stop_token&) -> Result<Pulled> { return SayMuch(message, 1); });
  Call call(*stub_);
  while (account_->answer_bytes() == 0) std::this_thread::yield();
  EXPECT_EQ(account_->answer_bytes(), static_cast<int64_t>(StreamLimits::kChunkBytes));
  call.context.TryCancel();
  EXPECT_FALSE(call.reader->Finish().ok());
}

}  // namespace
}  // namespace kprof
