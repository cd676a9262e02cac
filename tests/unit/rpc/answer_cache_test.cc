#include "daemon/rpc/answer_cache.h"

#include <gtest/gtest.h>

#include "tests/unit/rpc/rpc_fixture.h"

namespace kprof {
namespace {

grpc::ByteBuffer Bytes(const std::string& text) {
  const grpc::Slice slice(text);
  return grpc::ByteBuffer(&slice, 1);
}

std::string Text(const grpc::ByteBuffer& bytes) {
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(bytes.Dump(&slices).ok());
  std::string text;
  for (const grpc::Slice& slice : slices) text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return text;
}

TEST(AnswerCache, AnswersUntilSomethingChanges) {
  AnswerCache cache;
  EXPECT_FALSE(cache.Find("a", 1));
  cache.Put("a", 1, Bytes("one"));
  EXPECT_EQ(Text(*cache.Find("a", 1)), "one");
  EXPECT_FALSE(cache.Find("b", 1));
  EXPECT_FALSE(cache.Find("a", 2));
}

TEST(AnswerCache, ALateAnswerFromBeforeAChangeIsNotKept) {
  AnswerCache cache;
  cache.Put("a", 5, Bytes("new"));
  cache.Put("a", 4, Bytes("old"));
  EXPECT_FALSE(cache.Find("a", 4));
  EXPECT_EQ(Text(*cache.Find("a", 5)), "new");
}

TEST(AnswerCache, IsBounded) {
  AnswerCache cache;
  for (size_t i = 0; i < 3 * AnswerCache::kAnswers; ++i) cache.Put(std::to_string(i), 1, Bytes("x"));
  size_t kept = 0;
  for (size_t i = 0; i < 3 * AnswerCache::kAnswers; ++i) kept += cache.Find(std::to_string(i), 1) ? 1 : 0;
  EXPECT_LE(kept, AnswerCache::kAnswers);
  EXPECT_GT(kept, 0u);
  cache.Put("large", 1, Bytes(std::string(AnswerCache::kBytes + 1, 'x')));
  EXPECT_FALSE(cache.Find("large", 1));
}

class AnswersTest : public RpcFixture, public testing::Test {
 protected:
  AnswersTest() { Start(); }

  static v1::ListRunsResponse List(RpcClient& client) {
    CallContext context;
    v1::ListRunsResponse page;
    EXPECT_TRUE(client.runs->ListRuns(&context, v1::ListRunsRequest(), &page).ok());
    return page;
  }
  static v1::GetStatusResponse Ask(RpcClient& client) {
    CallContext context;
    v1::GetStatusResponse status;
    EXPECT_TRUE(client.node->GetStatus(&context, v1::GetStatusRequest(), &status).ok());
    return status;
  }
};

TEST_F(AnswersTest, WhoWasToldOfAChangeSeesIt) {
  RpcClient client = Connect();
  EXPECT_EQ(List(client).runs_size(), 0);
  for (int i = 1; i <= 20; ++i) {
    const std::string id = SubmitRun(client);
    const v1::ListRunsResponse page = List(client);
    ASSERT_EQ(page.runs_size(), i);
    EXPECT_EQ(page.runs(0).id(), id);
    const v1::GetStatusResponse status = Ask(client);
    EXPECT_EQ(status.queue().queued() + status.queue().running(), i);
  }
}

TEST_F(AnswersTest, ThoseOfOneUserAreNotAnothers) {
  RpcClient owner = Connect(1001);
  RpcClient other = Connect(1002);
  RpcClient operator_ = Connect(1003, Role::kOperator);
  SubmitRun(owner);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(List(owner).runs_size(), 1);
    EXPECT_EQ(List(other).runs_size(), 0);
    EXPECT_EQ(List(operator_).runs_size(), 1);
    EXPECT_EQ(Ask(owner).caller_uid(), 1001u);
    EXPECT_EQ(Ask(other).caller_uid(), 1002u);
  }
}

TEST_F(AnswersTest, TheTimeIsNow) {
  RpcClient client = Connect();
  const int64_t before = Ask(client).now_unix_ns();
  clock_.Advance(1000);
  EXPECT_EQ(Ask(client).now_unix_ns(), before + 1000);
}

TEST_F(AnswersTest, WhatIsNoRequestIsSaid) {
  RpcClient client = Connect();
  CallContext context;
  v1::ListRunsRequest request;
  request.GetReflection()->MutableUnknownFields(&request)->AddLengthDelimited(2, "\xff\xfe");  // a string of no text
  v1::ListRunsResponse page;
  EXPECT_EQ(client.runs->ListRuns(&context, request, &page).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace kprof
