// Clients that ask for much and read nothing of it.
#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/rpc/rpc_fixture.h"

namespace kprof {
namespace {

constexpr int64_t kCommandBytes = 1 << 20;

// One GetRun that is never read.
class UnreadCall {
 public:
  UnreadCall(RpcClient& client, const std::string& id) : stub_(client.channel) {
    v1::GetRunRequest request;
    request.set_id(id);
    const grpc::Slice bytes(request.SerializeAsString());
    call_ = stub_.PrepareCall(&context_, "/kprof.v1.RunsService/GetRun", &queue_);
    call_->StartCall(nullptr);
    Wait();
    call_->WriteLast(grpc::ByteBuffer(&bytes, 1), {}, nullptr);
    Wait();
  }
  ~UnreadCall() {
    grpc::Status status;
    context_.TryCancel();
    call_->Finish(&status, nullptr);
    Wait();
  }

 private:
  void Wait() {
    void* tag = nullptr;
    bool ok = false;
    queue_.Next(&tag, &ok);
  }

  CallContext context_;
  grpc::GenericStub stub_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
};

class UnreadAnswersTest : public testing::Test, public RpcFixture {
 protected:
  void SetUp() override { server_limits_.calls.answer_bytes = 4 * kCommandBytes; }

  std::string StoreLong(const std::string& id) {
    RunRow row = EndedRun(id, 1'700'000'000'000'000'000, 0);
    row.uid = kUid;
    row.argv = {std::string(kCommandBytes, 'x')};
    return Store(std::move(row));
  }
  grpc::Status GetRun(RpcClient& client, const std::string& id) {
    v1::GetRunRequest request;
    request.set_id(id);
    v1::GetRunResponse response;
    CallContext context;
    return client.runs->GetRun(&context, request, &response);
  }
  int64_t TakenBytes() { return limits_->calls.answer_bytes.taken(); }
};

TEST_F(UnreadAnswersTest, AreBoundedForEachUserAndThenRefused) {
  Start();
  RpcClient client = ConnectWithoutLookahead();
  const std::string id = StoreLong("0100000000000000");
  {
    std::vector<std::unique_ptr<UnreadCall>> calls;
    for (int i = 0; i < 20; ++i) calls.push_back(std::make_unique<UnreadCall>(client, id));
    EXPECT_TRUE(Until([&] { return TakenBytes() / kCommandBytes == 3; }));
    const grpc::Status refused = GetRun(client, id);
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_THAT(refused.error_message(), testing::HasSubstr("bytes of answers to uid 1000 are not read yet"));
    EXPECT_LE(TakenBytes(), 4 * kCommandBytes);
    RpcClient other = Connect(kUid + 1, Role::kOperator);
    EXPECT_TRUE(GetRun(other, id).ok());
  }
  EXPECT_TRUE(Until([&] { return TakenBytes() == 0; }));
  EXPECT_TRUE(GetRun(client, id).ok());
}

TEST_F(UnreadAnswersTest, KeepNothingFromBeingAskedThatIsRefusedBeforeItIsDone) {
  Start();
  RpcClient client = ConnectWithoutLookahead();
  const std::string id = StoreLong("0100000000000000");
  std::vector<std::unique_ptr<UnreadCall>> calls;
  for (int i = 0; i < 3; ++i) calls.push_back(std::make_unique<UnreadCall>(client, id));
  EXPECT_TRUE(Until([&] { return TakenBytes() / kCommandBytes == 3; }));

  v1::SubmitRunRequest submit;
  submit.mutable_spec()->set_tool("command");
  for (int i = 0; i < 20; ++i) submit.mutable_spec()->add_argv(std::string(100'000, 'x'));
  submit.mutable_spec()->set_cwd("/");
  submit.mutable_spec()->set_device("cpu");
  v1::SubmitRunResponse submitted;
  CallContext submitting;
  EXPECT_EQ(client.runs->SubmitRun(&submitting, submit, &submitted).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  OnLoop([&] { EXPECT_EQ(runs_->queued() + runs_->running(), 0U); });

  v1::PinRunRequest pin;
  pin.set_id(id);
  v1::PinRunResponse pinned;
  CallContext pinning;
  EXPECT_EQ(client.runs->PinRun(&pinning, pin, &pinned).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  calls.clear();
  EXPECT_TRUE(Until([&] { return TakenBytes() == 0; }));
  EXPECT_FALSE(Get(client, id).pinned());
}

}  // namespace
}  // namespace kprof
