#include "storage/catalog/catalog.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/fakes/base/temporary_folder.h"
#include "tests/fakes/storage/fault_files.h"
#include "tests/fakes/storage/fault_plan.h"

namespace kprof {
namespace {

class SpaceReserveTest : public testing::Test {
 protected:
  bool IsThere() const { return std::filesystem::exists(path_); }

  TemporaryFolder folder_;
  FaultPlan plan_;
  FaultFiles files_{plan_, MakePosixFiles()};
  std::string path_ = folder_ / "reserve";
  SpaceReserve reserve_{files_, path_};
};

TEST_F(SpaceReserveTest, IsTakenGivenAndTakenAgain) {
  EXPECT_FALSE(reserve_.Release());
  ASSERT_TRUE(reserve_.Fill().ok());
  EXPECT_EQ(std::filesystem::file_size(path_), static_cast<uint64_t>(SpaceReserve::kBytes));
  const int64_t ops = plan_.ops();
  EXPECT_TRUE(reserve_.Fill().ok());
  EXPECT_EQ(plan_.ops(), ops);  // it was there
  EXPECT_TRUE(reserve_.Release());
  EXPECT_FALSE(IsThere());
  EXPECT_TRUE(reserve_.Fill().ok());
  EXPECT_TRUE(IsThere());
}

TEST_F(SpaceReserveTest, LeavesNothingOnADiskWithTooLittleSpace) {
  for (int64_t at = 1; at <= 4; ++at) {
    plan_.FailAt(at, Fault::kNoSpace);
    EXPECT_EQ(reserve_.Fill().code(), ErrorCode::kStorageFull) << "at " << at;
    plan_.Heal();
    EXPECT_FALSE(IsThere());
  }
}

TEST_F(SpaceReserveTest, TakesNothingWhereTooLittleWouldBeLeft) {
  files_.SayFree(SpaceReserve::kBytes + SpaceReserve::kSpareBytes - 1);
  EXPECT_EQ(reserve_.Fill().code(), ErrorCode::kStorageFull);
  EXPECT_FALSE(reserve_.is_held());
  files_.SayFree(SpaceReserve::kBytes + SpaceReserve::kSpareBytes);
  EXPECT_TRUE(reserve_.Fill().ok());
  EXPECT_TRUE(reserve_.is_held());
}

TEST_F(SpaceReserveTest, AHalfWrittenOneIsNone) {
  plan_.FailAt(3, Fault::kPowerCut);
  EXPECT_FALSE(reserve_.Fill().ok());
  plan_.RestoreSynced(FaultPlan::Survives::kEverything);
  ASSERT_TRUE(IsThere());
  EXPECT_FALSE(reserve_.Release());
  EXPECT_TRUE(reserve_.Fill().ok());
  EXPECT_TRUE(reserve_.Release());
}

}  // namespace
}  // namespace kprof
