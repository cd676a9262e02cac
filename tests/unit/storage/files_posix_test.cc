#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/base/files.h"
#include "tests/fakes/base/file_facts.h"
#include "tests/fakes/base/temporary_folder.h"

namespace kprof {
namespace {

class FilesTest : public testing::Test {
 protected:
  std::string ContentOf(const std::string& path) { return *ReadWholeFile(*files_, path, 1 << 20); }
  void Write(const std::string& path, std::string_view text) {
    std::unique_ptr<File> file = *files_->Create(path);
    ASSERT_TRUE(file->Append(text).ok());
  }

  TemporaryFolder folder_;
  std::unique_ptr<Files> files_ = MakePosixFiles();
};

TEST_F(FilesTest, CreatesForTheOwnerAlone) {
  Write(folder_ / "a", "x");
  ASSERT_TRUE(files_->CreateFolder(folder_ / "b").ok());
  EXPECT_EQ(ModeOf(folder_ / "a"), 0600u);
  EXPECT_EQ(ModeOf(folder_ / "b"), 0700u);
}

TEST_F(FilesTest, CreatesNothingOverAnExistingFile) {
  Write(folder_ / "a", "x");
  EXPECT_FALSE(files_->Create(folder_ / "a").ok());
}

TEST_F(FilesTest, AppendsWhereTheFileEnds) {
  Write(folder_ / "a", "one");
  std::unique_ptr<File> file = *files_->OpenForWrite(folder_ / "a");
  ASSERT_TRUE(file->Append(std::string_view("two")).ok());
  ASSERT_TRUE(file->WriteAt(0, std::string_view("O")).ok());
  ASSERT_TRUE(file->Append(std::string_view("3")).ok());
  EXPECT_EQ(ContentOf(folder_ / "a"), "Onetwo3");
}

TEST_F(FilesTest, AppendsAtTheNewEndAfterTruncate) {
  Write(folder_ / "a", "one two");
  std::unique_ptr<File> file = *files_->OpenForWrite(folder_ / "a");
  ASSERT_TRUE(file->Truncate(3).ok());
  ASSERT_TRUE(file->Append(std::string_view("!")).ok());
  EXPECT_EQ(ContentOf(folder_ / "a"), "one!");
}

TEST_F(FilesTest, FollowsNoLinkAtTheLastStep) {
  Write(folder_ / "a", "x");
  ASSERT_EQ(::symlink((folder_ / "a").c_str(), (folder_ / "link").c_str()), 0);
  EXPECT_FALSE(files_->OpenForRead(folder_ / "link").ok());
  EXPECT_FALSE(files_->OpenForWrite(folder_ / "link").ok());
  EXPECT_FALSE(files_->Create(folder_ / "link").ok());
}

TEST_F(FilesTest, DoesNotHangOnAPipe) {
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(files_->OpenForRead(folder_ / "pipe").status().code(), ErrorCode::kBadInput);
}

TEST_F(FilesTest, TakesAFolderThatIsThereButNoFileForOne) {
  Write(folder_ / "a", "x");
  EXPECT_TRUE(files_->CreateFolder(folder_.path()).ok());
  EXPECT_FALSE(files_->CreateFolder(folder_ / "a").ok());
}

TEST_F(FilesTest, SaysNotFoundForAMissingFile) {
  EXPECT_EQ(files_->OpenForRead(folder_ / "none").status().code(), ErrorCode::kNotFound);
  EXPECT_TRUE(files_->Remove(folder_ / "none").ok());
  EXPECT_TRUE(files_->RemoveTree(folder_ / "none").ok());
}

TEST_F(FilesTest, ListsFilesAndFolders) {
  Write(folder_ / "a", "x");
  ASSERT_TRUE(files_->CreateFolder(folder_ / "b").ok());
  std::vector<std::string> names;
  for (const FolderEntry& entry : *files_->List(folder_.path()))
    names.push_back(entry.name + (entry.is_folder ? "/" : ""));
  EXPECT_THAT(names, testing::UnorderedElementsAre("a", "b/"));
}

TEST_F(FilesTest, RemovesATreeWithoutFollowingItsLinks) {
  Write(folder_ / "kept", "x");
  ASSERT_TRUE(files_->CreateFolder(folder_ / "tree").ok());
  ASSERT_TRUE(files_->CreateFolder(folder_ / "tree/locked").ok());
  Write(folder_ / "tree/locked/file", "x");
  ASSERT_EQ(::symlink(folder_.path().c_str(), (folder_ / "tree/link").c_str()), 0);
  ASSERT_EQ(::chmod((folder_ / "tree/locked").c_str(), 0), 0);
  ASSERT_TRUE(files_->RemoveTree(folder_ / "tree").ok());
  EXPECT_FALSE(files_->List(folder_ / "tree").ok());
  EXPECT_EQ(ContentOf(folder_ / "kept"), "x");
}

TEST_F(FilesTest, RefusesToReadMoreThanTheLimit) {
  Write(folder_ / "a", "12345");
  EXPECT_EQ(*ReadWholeFile(*files_, folder_ / "a", 5), "12345");
  EXPECT_EQ(ReadWholeFile(*files_, folder_ / "a", 4).status().code(), ErrorCode::kUsage);
}

}  // namespace
}  // namespace kprof
