#include "client/cli/local_file.h"

#include <gtest/gtest.h>

#include "kprof/v1/node.pb.h"
#include "tests/unit/client/captured_output.h"

namespace kprof::cli {
namespace {

v1::BackUpCatalogResponse DataPiece(const std::string& bytes) {
  v1::BackUpCatalogResponse response;
  response.set_data(bytes);
  return response;
}

v1::BackUpCatalogResponse EndPiece(const std::string& sha256) {
  v1::BackUpCatalogResponse response;
  response.set_sha256(sha256);
  return response;
}

class CheckedDownloadTest : public testing::Test {
 protected:
  CapturedOutput captured_;
  FileTarget target_ = *FileTarget::Open("-", 0600, captured_.output());
  CheckedDownload download_{target_};
};

TEST_F(CheckedDownloadTest, WritesTheBytesAndKnowsTheirHashAndSize) {
  ASSERT_TRUE(download_.Add(DataPiece("cata")).ok());
  ASSERT_TRUE(download_.Add(DataPiece("log")).ok());
  ASSERT_TRUE(download_.Add(EndPiece(Sha256Of(std::string("catalog")))).ok());
  EXPECT_EQ(download_.Finish("copy").value(), Sha256Of(std::string("catalog")));
  EXPECT_EQ(download_.size_bytes(), 7);
  EXPECT_EQ(captured_.Results(), "catalog");
}

TEST_F(CheckedDownloadTest, SaysWhenSomethingElseArrivedThanWasSent) {
  ASSERT_TRUE(download_.Add(DataPiece("catalog")).ok());
  ASSERT_TRUE(download_.Add(EndPiece(Sha256Of(std::string("else")))).ok());
  Status status = download_.Finish("copy").status();
  EXPECT_EQ(status.code(), ErrorCode::kInternal);
  EXPECT_EQ(status.ToString(), "copy: what arrived is not what was sent; try again");
}

TEST_F(CheckedDownloadTest, AStreamWithoutItsHashIsNotWhole) {
  ASSERT_TRUE(download_.Add(DataPiece("catalog")).ok());
  EXPECT_EQ(download_.Finish("copy").status().code(), ErrorCode::kInternal);
}

}  // namespace
}  // namespace kprof::cli
