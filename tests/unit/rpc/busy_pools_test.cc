// Long work never stands in the way of short work: with every bulk worker and every query worker taken, and as many
// calls waiting for them as a client may have, the short calls answer. Nor do long queries stand in the way of short
// ones.

#include <gtest/gtest.h>

#include "tests/unit/rpc/rpc_fixture.h"

namespace kprof {
namespace {

constexpr const char* kEndless =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
// Works for more than a quarter of a second on any machine.
constexpr const char* kLong =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 5000000) SELECT count(*) FROM n";

class BusyPools : public testing::Test, public RpcFixture {
 protected:
  template <typename Response>
  struct Stream {
    CallContext context;
    std::unique_ptr<grpc::ClientReader<Response>> reader;
  };

  using QueryStream = Stream<v1::QueryResponse>;
  std::unique_ptr<QueryStream> Ask(RpcClient& client, const std::string& sql, int64_t timeout_ms = 600'000) {
    auto stream = std::make_unique<QueryStream>();
    v1::QueryRequest query;
    query.set_sql(sql);
    query.set_timeout_ms(timeout_ms);
    stream->reader = client.queries->Query(&stream->context, query);
    return stream;
  }
  static grpc::Status EndOf(QueryStream& stream, int64_t* rows = nullptr) {
    v1::QueryResponse message;
    while (stream.reader->Read(&message)) {
      if (rows != nullptr) *rows += message.batch().rows();
    }
    return stream.reader->Finish();
  }

  // The places of all long queries.
  std::vector<Places::Place> TakeLongPlaces() {
    std::vector<Places::Place> places;
    for (int i = 0; i < StreamLimits::kLongQueries; ++i) {
      places.push_back(std::move(*limits_->long_queries.Take(kUid, "test", "places")));
    }
    return places;
  }

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
  RpcClient client = Connect(kUid, Role::kAdmin);
  StoreEnded("0100000000000000", {{"big", std::string(1 << 20, 'x')}});
  StalledPool bulk(*bulk_, kBulkWorkers);
  StalledPool queries(*query_pool_, kQueryWorkers);
  auto downloads = Downloads(client, 100);
  Stream<v1::BackUpCatalogResponse> backup;
  backup.reader = client.node->BackUpCatalog(&backup.context, v1::BackUpCatalogRequest());
  std::vector<std::unique_ptr<QueryStream>> waiting;
  for (int i = 0; i < 50; ++i) waiting.push_back(Ask(client, "SELECT 1"));
  ExpectShortCallsAnswer(client);

  queries.LetGo();
  for (auto& stream : waiting) {
    const grpc::Status status = EndOf(*stream);
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
  // Not before: of one caller there may be only so many bytes that are not read yet, of whatever stream.
  bulk.LetGo();
  for (auto& stream : downloads) stream->context.TryCancel();
  backup.context.TryCancel();
}

TEST_F(BusyPools, ShortCallsAnswerWhileStreamsAreUnreadAndQueriesRunOn) {
  Start();
  RpcClient client = Connect(kUid, Role::kAdmin);
  RpcClient greedy = Connect(kUid, Role::kAdmin);
  StoreEnded("0100000000000000", {{"big", std::string(8 << 20, 'x')}});
  auto downloads = Downloads(greedy, 50);
  std::vector<std::unique_ptr<QueryStream>> endless;
  for (size_t i = 0; i < 2 * kQueryWorkers; ++i) endless.push_back(Ask(greedy, kEndless));
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

TEST_F(BusyPools, AShortQueryAnswersBesideLongOnes) {
  Start();
  RpcClient client = Connect(kUid, Role::kAdmin);
  std::vector<std::unique_ptr<QueryStream>> endless;
  for (size_t i = 0; i < 2 * kQueryWorkers; ++i) endless.push_back(Ask(client, kEndless));
  for (int i = 0; i < 3; ++i) {
    int64_t rows = 0;
    EXPECT_TRUE(EndOf(*Ask(client, "SELECT 1"), &rows).ok());
    EXPECT_EQ(rows, 1);
  }
  for (auto& stream : endless) stream->context.TryCancel();
}

TEST_F(BusyPools, ALongQueryWaitsForAPlace) {
  Start();
  RpcClient client = Connect(kUid, Role::kAdmin);
  std::vector<Places::Place> places = TakeLongPlaces();
  auto stream = Ask(client, kLong);
  v1::QueryResponse message;
  EXPECT_TRUE(stream->reader->Read(&message));
  EXPECT_TRUE(message.has_header());
  std::this_thread::sleep_for(std::chrono::milliseconds(600));  // it is likely to wait by then
  places.clear();
  int64_t rows = 0;
  TickingClock ticking(clock_, 1);
  grpc::Status status = EndOf(*stream, &rows);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(rows, 1);
}

TEST_F(BusyPools, ALongQueryWithoutAPlaceIsRefusedInTheEnd) {
  Start();
  RpcClient client = Connect(kUid, Role::kAdmin);
  std::vector<Places::Place> places = TakeLongPlaces();
  auto stream = Ask(client, kEndless);
  TickingClock ticking(clock_, 100);
  grpc::Status status = EndOf(*stream);
  EXPECT_EQ(DetailOf(status).code(), "queue_full") << status.error_message();
  EXPECT_NE(DetailOf(status).remedy(), "");
  EXPECT_TRUE(EndOf(*Ask(client, "SELECT 1")).ok());
}

TEST_F(BusyPools, AQueryThatWaitedTooLongForAThreadIsRefused) {
  Start();
  RpcClient client = Connect(kUid, Role::kAdmin);
  StoreEnded("0100000000000000");
  StalledPool stalled(*query_pool_, kQueryWorkers);
  auto impatient = Ask(client, "SELECT 1", 1000);
  auto patient = Ask(client, "SELECT 1");
  ExpectShortCallsAnswer(client);  // on the same connection, so the queries have arrived
  clock_.Advance(2 * kNanosPerSecond);
  stalled.LetGo();
  EXPECT_EQ(DetailOf(EndOf(*impatient)).code(), "queue_full");
  EXPECT_TRUE(EndOf(*patient).ok());
}

}  // namespace
}  // namespace kprof
