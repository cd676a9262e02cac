#include "daemon/clocks/locks/clock_notes.h"

#include <gmock/gmock.h>

#include <fstream>

#include "tests/fakes/base/temporary_folder.h"

namespace kprof {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kUuid = "GPU-1";

class HoldFilesTest : public testing::Test {
 protected:
  ClockHold Hold(const std::string& uuid = kUuid) {
    ClockHold hold;
    hold.boot_id = "boot";
    hold.uuid = uuid;
    hold.wanted.sm_mhz = 1500;
    return hold;
  }

  TemporaryFolder temporary_;
  std::unique_ptr<Files> posix_ = MakePosixFiles();
  ClockNotes files_{*posix_, temporary_.path() + "/clocks"};
};

TEST_F(HoldFilesTest, KeepsWhatIsWrittenUntilItIsRemoved) {
  ASSERT_TRUE(files_.Write(Hold()).ok());
  EXPECT_EQ(**files_.Read(kUuid), Hold());
  EXPECT_THAT(*files_.List(), ElementsAre(kUuid));
  ASSERT_TRUE(files_.Remove(kUuid).ok());
  EXPECT_FALSE(*files_.Read(kUuid));
  EXPECT_THAT(*files_.List(), IsEmpty());
}

TEST_F(HoldFilesTest, HasNothingBeforeThereIsAFolder) {
  EXPECT_FALSE(*files_.Read(kUuid));
  EXPECT_THAT(*files_.List(), IsEmpty());
}

TEST_F(HoldFilesTest, ReplacesWhatIsThere) {
  ASSERT_TRUE(files_.Write(Hold()).ok());
  ClockHold other = Hold();
  other.wanted.sm_mhz = 1200;
  ASSERT_TRUE(files_.Write(other).ok());
  EXPECT_EQ((*files_.Read(kUuid))->wanted.sm_mhz, 1200u);
  other.set.sm = true;
  ASSERT_TRUE(files_.Rewrite(other).ok());
  EXPECT_TRUE((*files_.Read(kUuid))->set.sm);
}

TEST_F(HoldFilesTest, ADamagedOneIsSaidToBeAndCanBeSetAside) {
  ASSERT_TRUE(files_.Write(Hold()).ok());
  std::ofstream(files_.folder() + "/GPU-1.held", std::ios::app) << "more\n";
  EXPECT_EQ(files_.Read(kUuid).status().code(), ErrorCode::kStorageBroken);
  EXPECT_THAT(*files_.List(), ElementsAre(kUuid));
  ASSERT_TRUE(files_.SetAside(kUuid).ok());
  EXPECT_THAT(*files_.List(), IsEmpty());
}

TEST_F(HoldFilesTest, AnothersUnderThisNameIsDamaged) {
  ASSERT_TRUE(files_.Write(Hold("GPU-2")).ok());
  ASSERT_TRUE(posix_->Rename(files_.folder() + "/GPU-2.held", files_.folder() + "/GPU-1.held").ok());
  EXPECT_EQ(files_.Read(kUuid).status().code(), ErrorCode::kStorageBroken);
}

TEST_F(HoldFilesTest, OneProcessWorksOnADeviceAtATime) {
  Result<std::unique_ptr<File>> first = files_.Lock(kUuid, 0);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(files_.Lock(kUuid, 20).status().code(), ErrorCode::kTimedOut);
  EXPECT_TRUE(files_.Lock("GPU-2", 0).ok());
  first->reset();
  EXPECT_TRUE(files_.Lock(kUuid, 0).ok());
}

}  // namespace
}  // namespace kprof
