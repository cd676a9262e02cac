#include "tests/fakes/storage/fault_plan.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/fakes/base/file_facts.h"
#include "tests/fakes/base/temporary_folder.h"
#include "tests/fakes/storage/fault_files.h"

namespace kprof {
namespace {

class FaultPlanTest : public testing::Test {
 protected:
  void Write(const std::string& name, std::string_view text, bool sync) {
    std::unique_ptr<File> file = *files_.Create(folder_ / name);
    ASSERT_TRUE(file->Append(text).ok());
    if (sync) {
      ASSERT_TRUE(file->Sync().ok());
    }
  }
  std::string ContentOf(const std::string& name) {
    return std::filesystem::exists(folder_ / name) ? ReadFile(folder_ / name) : "none";
  }
  void CutPower() { plan_.RestoreSynced(FaultPlan::Survives::kNothing); }

  TemporaryFolder folder_;
  FaultPlan plan_;
  FaultFiles files_{plan_, MakePosixFiles()};
};

TEST_F(FaultPlanTest, FailsTheChosenOperationOnce) {
  std::unique_ptr<File> file = *files_.Create(folder_ / "a");
  plan_.FailAt(2, Fault::kNoSpace);
  EXPECT_TRUE(file->Append(std::string_view("1")).ok());
  EXPECT_EQ(file->Append(std::string_view("2")).code(), ErrorCode::kStorageFull);
  EXPECT_TRUE(file->Append(std::string_view("3")).ok());
  EXPECT_EQ(ContentOf("a"), "13");
}

TEST_F(FaultPlanTest, FailsFromThereOnUntilHealed) {
  std::unique_ptr<File> file = *files_.Create(folder_ / "a");
  plan_.FailAt(1, Fault::kInputOutput, /*lasting=*/true);
  EXPECT_EQ(file->Append(std::string_view("1")).code(), ErrorCode::kStorageBroken);
  EXPECT_EQ(file->Sync().code(), ErrorCode::kStorageBroken);
  plan_.Heal();
  EXPECT_TRUE(file->Sync().ok());
}

TEST_F(FaultPlanTest, TearsAWriteInTheMiddle) {
  std::unique_ptr<File> file = *files_.Create(folder_ / "a");
  plan_.FailAt(1, Fault::kTear);
  EXPECT_FALSE(file->Append(std::string_view("1234")).ok());
  EXPECT_EQ(ContentOf("a"), "12");
}

TEST_F(FaultPlanTest, LosesWhatWasNotSynced) {
  Write("a", "safe", true);
  ASSERT_TRUE(files_.SyncFolder(folder_.path()).ok());
  { ASSERT_TRUE((*files_.OpenForWrite(folder_ / "a"))->Append(std::string_view(" and lost")).ok()); }
  EXPECT_EQ(ContentOf("a"), "safe and lost");
  CutPower();
  EXPECT_EQ(ContentOf("a"), "safe");
}

TEST_F(FaultPlanTest, LosesAFileWhoseFolderWasNotSynced) {
  Write("a", "content is safe, the name is not", true);
  CutPower();
  EXPECT_EQ(ContentOf("a"), "none");
}

TEST_F(FaultPlanTest, TakesARenameBackUnlessTheFolderWasSynced) {
  Write("a.partial", "x", true);
  ASSERT_TRUE(files_.SyncFolder(folder_.path()).ok());
  ASSERT_TRUE(files_.Rename(folder_ / "a.partial", folder_ / "a").ok());
  CutPower();
  EXPECT_EQ(ContentOf("a.partial"), "x");
  EXPECT_EQ(ContentOf("a"), "none");
}

TEST_F(FaultPlanTest, KeepsARenameOnceTheFolderWasSynced) {
  Write("a.partial", "x", true);
  ASSERT_TRUE(files_.Rename(folder_ / "a.partial", folder_ / "a").ok());
  ASSERT_TRUE(files_.SyncFolder(folder_.path()).ok());
  CutPower();
  EXPECT_EQ(ContentOf("a"), "x");
}

TEST_F(FaultPlanTest, BringsBackWhatWasRemovedWithoutSync) {
  Write("a", "x", true);
  ASSERT_TRUE(files_.SyncFolder(folder_.path()).ok());
  ASSERT_TRUE(files_.Remove(folder_ / "a").ok());
  EXPECT_EQ(ContentOf("a"), "none");
  CutPower();
  EXPECT_EQ(ContentOf("a"), "x");
}

TEST_F(FaultPlanTest, LosesAFolderWithAllInItWhenItsOwnNameWasNotSynced) {
  ASSERT_TRUE(files_.CreateFolder(folder_ / "f").ok());
  Write("f/a", "x", true);
  ASSERT_TRUE(files_.SyncFolder(folder_ / "f").ok());
  CutPower();
  EXPECT_FALSE(std::filesystem::exists(folder_ / "f"));
}

TEST_F(FaultPlanTest, KeepsEverythingAfterAMereKill) {
  Write("a", "x", false);
  plan_.RestoreSynced(FaultPlan::Survives::kEverything);
  EXPECT_EQ(ContentOf("a"), "x");
}

TEST_F(FaultPlanTest, AFolderThatMovesTakesAlongWhatIsSafeInIt) {
  ASSERT_TRUE(files_.CreateFolder(folder_ / "from").ok());
  ASSERT_TRUE(files_.CreateFolder(folder_ / "above").ok());
  Write("from/a", "safe", true);
  ASSERT_TRUE(files_.SyncFolder(folder_ / "from").ok());
  Write("from/b", "not", true);
  ASSERT_TRUE(files_.SyncFolder(folder_.path()).ok());
  ASSERT_TRUE(files_.Rename(folder_ / "from", folder_ / "above/to").ok());
  ASSERT_TRUE(files_.SyncFolder(folder_ / "above").ok());
  ASSERT_TRUE(files_.SyncFolder(folder_.path()).ok());
  CutPower();
  EXPECT_EQ(ContentOf("above/to/a"), "safe");
  EXPECT_EQ(ContentOf("above/to/b"), "none");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "from"));
}

TEST_F(FaultPlanTest, AFileFromBeforeItIsNotLostWithTheFolderThatItWentTo) {
  std::filesystem::create_directory(folder_ / "old");
  std::ofstream(folder_ / "old/a") << "old";
  ASSERT_TRUE(files_.CreateFolder(folder_ / "new").ok());
  ASSERT_TRUE(files_.Rename(folder_ / "old/a", folder_ / "new/a").ok());
  CutPower();
  EXPECT_EQ(ContentOf("old/a"), "old");
}

}  // namespace
}  // namespace kprof
