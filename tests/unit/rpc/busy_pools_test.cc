// Long work never stands in the way of short work: with every bulk worker and every query worker taken, and as many
// calls waiting for them as a client may have, the short calls answer.

#include <gtest/gtest.h>

#include "tests/unit/rpc/rpc_fixture.h"

namespace kprof {
namespace {

class BusyPools : public testing::Test, public RpcFixture {
 protected:
  template <typename Response>
  struct Stream {
    CallContext context;
    std::unique_ptr<grpc::ClientReader<Response>> reader;
  };

  void ExpectShortCallsAnswer(RpcClient& client) {
    const auto begun = std::chrono::steady_clock::now();
    {
      CallContext context;
      v1::GetStatusResponse response;
      EXPECT_TRUE(client.node->GetStatus(&context, v1::GetStatusRequest(), &response).ok());
    }
    {
      CallContext context;
      v1::ListRunsResponse response;
      EXPECT_TRUE(client.runs->ListRuns(&context, v1::ListRunsRequest(), &response).ok());
      EXPECT_GE(response.runs_size(), 1);
    }
    {
      CallContext context;
      v1::GetRunRequest request;
      request.set_id("0100000000000000");
      v1::GetRunResponse response;
      EXPECT_TRUE(client.runs->GetRun(&context, request, &response).ok());
    }
    {
      CallContext context;
      v1::WatchRunRequest request;
      request.set_id("0100000000000000");
      v1::WatchRunResponse response;
      auto watch = client.runs->WatchRun(&context, request);
      EXPECT_TRUE(watch->Read(&response));
      EXPECT_FALSE(watch->Read(&response));
      EXPECT_TRUE(watch->Finish().ok());
    }
    EXPECT_FALSE(SubmitRun(client).empty());
    // A machine under load is slow; one that waits for the streams never answers.
    EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(30));
  }

  std::vector<std::unique_ptr<Stream<v1::DownloadArtifactResponse>>> Downloads(RpcClient& client, int count) {
    std::vector<std::unique_ptr<Stream<v1::DownloadArtifactResponse>>> streams;
    v1::DownloadArtifactRequest request;
    request.set_id("0100000000000000");
    request.set_name("big");
    for (int i = 0; i < count; ++i) {
      streams.push_back(std::make_unique<Stream<v1::DownloadArtifactResponse>>());
      streams.back()->reader = client.runs->DownloadArtifact(&streams.back()->context, request);
    }
    return streams;
  }
};

TEST_F(BusyPools, ShortCallsAnswerWhileEveryBulkAndQueryWorkerIsTaken) {
  Start();
  RpcClient client = Connect(kUid, true);
  StoreEnded("0100000000000000", {{"big", std::string(1 << 20, 'x')}});
  StalledPool bulk(*bulk_, kBulkWorkers);
  StalledPool queries(*query_pool_, kQueryWorkers);
  auto downloads = Downloads(client, 100);
  Stream<v1::BackUpCatalogResponse> backup;
  backup.reader = client.node->BackUpCatalog(&backup.context, v1::BackUpCatalogRequest());
  std::vector<std::unique_ptr<Stream<v1::QueryResponse>>> waiting;
  v1::QueryRequest query;
  query.set_sql("SELECT 1");
  for (int i = 0; i < 50; ++i) {
    waiting.push_back(std::make_unique<Stream<v1::QueryResponse>>());
    waiting.back()->reader = client.queries->Query(&waiting.back()->context, query);
  }
  ExpectShortCallsAnswer(client);

  bulk.LetGo();
  queries.LetGo();
  for (auto& stream : waiting) {
    v1::QueryResponse message;
    while (stream->reader->Read(&message)) {
    }
    EXPECT_TRUE(stream->reader->Finish().ok());
  }
  for (auto& stream : downloads) stream->context.TryCancel();
  backup.context.TryCancel();
}

TEST_F(BusyPools, ShortCallsAnswerWhileStreamsAreUnreadAndQueriesRunOn) {
  Start();
  RpcClient client = Connect(kUid, true);
  RpcClient greedy = Connect(kUid, true);
  StoreEnded("0100000000000000", {{"big", std::string(8 << 20, 'x')}});
  auto downloads = Downloads(greedy, 50);
  std::vector<std::unique_ptr<Stream<v1::QueryResponse>>> endless;
  v1::QueryRequest query;
  query.set_sql("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n");
  query.set_timeout_ms(600'000);
  for (size_t i = 0; i < 2 * kQueryWorkers; ++i) {
    endless.push_back(std::make_unique<Stream<v1::QueryResponse>>());
    endless.back()->reader = greedy.queries->Query(&endless.back()->context, query);
  }
  v1::QueryResponse columns;
  EXPECT_TRUE(endless.front()->reader->Read(&columns));
  ExpectShortCallsAnswer(client);

  // Nor do unread streams keep others of their kind waiting: they hold no worker.
  auto one_more = Downloads(client, 1);
  v1::DownloadArtifactResponse message;
  size_t bytes = 0;
  while (one_more[0]->reader->Read(&message)) bytes += message.data().size();
  EXPECT_EQ(bytes, size_t{8} << 20);
  EXPECT_TRUE(one_more[0]->reader->Finish().ok());
  for (auto& stream : downloads) stream->context.TryCancel();
  for (auto& stream : endless) stream->context.TryCancel();
}

}  // namespace
}  // namespace kprof
