#include "storage/trace/write/part_writer.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "storage/trace/read/part_reader.h"
#include "tests/fakes/base/temporary_folder.h"
#include "tests/fakes/trace/sample_part.h"

namespace kprof {
namespace {

class PartRankTest : public testing::Test {
 protected:
  void Write(std::optional<int64_t> rank) {
    const std::unique_ptr<PartWriter> writer = *PartWriter::Create(*files_, path_);
    ASSERT_TRUE(FillSample(*writer).ok());
    if (rank) {
      ASSERT_TRUE(writer->SetFact("rank", *rank).ok());
    }
    ASSERT_TRUE(writer->Finish({}).ok());
  }
  // What a reader, which checks the checksum, finds.
  std::optional<int64_t> Rank() {
    Result<std::unique_ptr<PartReader>> reader = PartReader::Open(path_, cache_);
    EXPECT_TRUE(reader.ok()) << reader.status().ToString();
    if (!reader.ok()) return std::nullopt;
    return (*reader)->IntegerFact("rank");
  }

  const TemporaryFolder folder_;
  const std::unique_ptr<Files> files_ = MakePosixFiles();
  const std::string path_ = folder_ / "source0.trace.db";
  ColumnCache cache_{1 << 20};
};

TEST_F(PartRankTest, IsWrittenIntoAPartThatHasNoneOrAnother) {
  for (const std::optional<int64_t> before : {std::optional<int64_t>(), std::optional<int64_t>(4)}) {
    Write(before);
    const Result<int64_t> size = SetPartRank(*files_, path_, 7);
    ASSERT_TRUE(size.ok()) << size.status().ToString();
    EXPECT_EQ(*size, static_cast<int64_t>(std::filesystem::file_size(path_)));
    EXPECT_EQ(Rank(), 7);
    std::filesystem::remove(path_);
  }
}

TEST_F(PartRankTest, IsTakenFromAPartWhereNobodyKnowsIt) {
  Write(4);
  ASSERT_TRUE(SetPartRank(*files_, path_, std::nullopt).ok());
  EXPECT_EQ(Rank(), std::nullopt);
}

TEST_F(PartRankTest, OfAPartThatIsNotThereIsAFailure) {
  EXPECT_FALSE(SetPartRank(*files_, path_, 7).ok());
}

}  // namespace
}  // namespace kprof
