#include "daemon/rpc/streams/download_sources.h"

#include <gtest/gtest.h>

#include "tests/unit/rpc/rpc_fixture.h"

namespace kprof {
namespace {

class DownloadSource : public testing::Test, public RpcFixture {};

TEST_F(DownloadSource, CutsALongNameBetweenTwoCharacters) {
  Start();
  RpcClient client = Connect();
  StoreEnded("0100000000000000");
  v1::DownloadArtifactRequest request;
  request.set_id("0100000000000000");
  request.set_name(std::string(199, 'x') + "\xe2\x82\xac" + "rest");
  CallContext context;
  auto reader = client.runs->DownloadArtifact(&context, request);
  v1::DownloadArtifactResponse message;
  EXPECT_FALSE(reader->Read(&message));
  grpc::Status status = reader->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(DetailOf(status).what(), "read artifact '" + std::string(199, 'x') + "...' of run 0100000000000000");
}

}  // namespace
}  // namespace kprof
