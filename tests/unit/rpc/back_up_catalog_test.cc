// BackUpCatalog as its clients see it.
#include <gtest/gtest.h>

#include "tests/unit/rpc/rpc_fixture.h"

namespace kprof {
namespace {

class BackUps : public testing::Test, public RpcFixture {
 protected:
  struct BackUp {
    explicit BackUp(RpcClient& client) : reader(client.node->BackUpCatalog(&context, v1::BackUpCatalogRequest())) {}
    CallContext context;
    std::unique_ptr<grpc::ClientReader<v1::BackUpCatalogResponse>> reader;
  };

  // More than gRPC and a socket hold.
  void FillCatalog() {
    for (char c = 'a'; c <= 'p'; ++c) {
      RunRow row = EndedRun(std::string("01000000000000") + "0" + c, 1, 0);
      row.argv = {std::string(1'000'000, c)};
      Store(std::move(row));
    }
  }
  grpc::Status ReadAll(BackUp& backup) {
    v1::BackUpCatalogResponse message;
    std::string all;
    while (backup.reader->Read(&message)) all += message.data();
    grpc::Status status = backup.reader->Finish();
    if (status.ok()) {
      EXPECT_EQ(message.sha256(), Sha256Of(all));
    }
    return status;
  }
};

TEST_F(BackUps, TheCopyHasNoNameOnceItIsOnItsWay) {
  Start();
  FillCatalog();
  RpcClient client = Connect(kUid, Role::kAdmin);
  BackUp backup(client);
  v1::BackUpCatalogResponse message;
  ASSERT_TRUE(backup.reader->Read(&message));
  EXPECT_TRUE(TemporaryFiles().empty());
  EXPECT_TRUE(message.data().starts_with("SQLite format 3"));
  size_t bytes = message.data().size();
  Sha256 sum;
  sum.Add(message.data());
  while (backup.reader->Read(&message)) {
    bytes += message.data().size();
    sum.Add(message.data());
  }
  EXPECT_TRUE(backup.reader->Finish().ok());
  EXPECT_GT(bytes, 16'000'000u);
  EXPECT_EQ(message.sha256(), sum.Finish());
}

TEST_F(BackUps, ThereIsOneAtATime) {
  Start();
  FillCatalog();
  RpcClient client = Connect(kUid, Role::kAdmin);
  BackUp first(client);
  v1::BackUpCatalogResponse message;
  ASSERT_TRUE(first.reader->Read(&message));
  BackUp second(client);
  grpc::Status refused = ReadAll(second);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(DetailOf(refused).code(), "queue_full");
  EXPECT_EQ(DetailOf(refused).why(), "as many backups as may be at a time are under way: 1");
  EXPECT_FALSE(DetailOf(refused).remedy().empty());

  first.context.TryCancel();
  EXPECT_EQ(first.reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(Until([&] {
    BackUp third(client);
    return ReadAll(third).ok();
  }));
  EXPECT_TRUE(TemporaryFiles().empty());
}

TEST_F(BackUps, OneThatWouldFillTheDiskSaysHowMuchItTakes) {
  Start();
  RpcClient client = Connect(kUid, Role::kAdmin);
  disk_.files.SayFree(catalog_->ReadSizeBytes() + Catalog::kBackUpSpareBytes - 1);
  BackUp refused(client);
  grpc::Status status = ReadAll(refused);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(DetailOf(status).code(), "storage_full");
  EXPECT_NE(DetailOf(status).why().find(
                "it takes " + std::to_string(catalog_->ReadSizeBytes() + Catalog::kBackUpSpareBytes) + " bytes free"),
            std::string::npos)
      << DetailOf(status).why();
  EXPECT_FALSE(DetailOf(status).remedy().empty());
  EXPECT_TRUE(TemporaryFiles().empty());
  disk_.files.SayFree(-1);
  BackUp taken(client);
  EXPECT_TRUE(ReadAll(taken).ok());
}

TEST_F(BackUps, OneThatNobodyReadsIsGivenUp) {
  Start();
  FillCatalog();
  RpcClient client = Connect(kUid, Role::kAdmin);
  BackUp unread(client);
  v1::BackUpCatalogResponse message;
  ASSERT_TRUE(unread.reader->Read(&message));
  EXPECT_TRUE(Passing(15'000, [&] {
    BackUp next(client);
    return ReadAll(next).ok();
  }));
  while (unread.reader->Read(&message)) {
  }
  EXPECT_EQ(unread.reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(BackUps, AreForOperators) {
  Start();
  RpcClient client = Connect();
  BackUp backup(client);
  EXPECT_EQ(ReadAll(backup).error_code(), grpc::StatusCode::PERMISSION_DENIED);
}

}  // namespace
}  // namespace kprof
