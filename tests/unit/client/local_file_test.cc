#include "client/cli/local_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "storage/base/descriptors.h"
#include "tests/unit/client/captured_output.h"
#include "tests/unit/client/scratch_folder.h"

namespace kprof::cli {
namespace {

bool HasFilesWithoutAName(const ScratchFolder& folder) {
  return UniqueFd(::open(folder.Path(".").c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600)).valid();
}

unsigned ModeOf(const std::string& path) {
  struct stat info = {};
  EXPECT_EQ(::stat(path.c_str(), &info), 0);
  return info.st_mode & 07777;
}

// On a file system that has files without a name, and on one that has not.
class WholeFile : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Unnamed, WholeFile, testing::Bool());

TEST_P(WholeFile, IsThereWholeOrNotAtAll) {
  ScratchFolder folder;
  CapturedOutput captured;
  for (const char* before : {"", "before"}) {
    const size_t files_before = *before == '\0' ? 0 : 1;
    {
      FileTarget target = *FileTarget::Open(folder.Path("f"), 0600, captured.output(), GetParam());
      ASSERT_TRUE(target.Write("half").ok());
      EXPECT_EQ(folder.Get("f"), files_before == 0 ? "" : "whole");
    }
    EXPECT_EQ(folder.CountFiles(), files_before);
    // What is there keeps its rights.
    const unsigned mode = files_before == 0 ? 0640 : 0600;
    FileTarget target = *FileTarget::Open(folder.Path("f"), mode, captured.output(), GetParam());
    ASSERT_TRUE(target.Write("whole").ok());
    ASSERT_TRUE(target.Commit().ok());
    EXPECT_EQ(folder.Get("f"), "whole");
    EXPECT_EQ(ModeOf(folder.Path("f")), 0640u);
    EXPECT_EQ(folder.CountFiles(), 1u);
  }
}

TEST_P(WholeFile, GoesThroughALinkToTheFileItself) {
  ScratchFolder folder;
  CapturedOutput captured;
  folder.Put("real", "before");
  std::filesystem::create_symlink("real", folder.Path("link"));
  FileTarget target = *FileTarget::Open(folder.Path("link"), 0600, captured.output(), GetParam());
  ASSERT_TRUE(target.Write("after").ok());
  ASSERT_TRUE(target.Commit().ok());
  EXPECT_TRUE(std::filesystem::is_symlink(folder.Path("link")));
  EXPECT_EQ(folder.Get("real"), "after");
}

TEST_P(WholeFile, LeavesNothingWhereItsPlaceIsTakenMeanwhile) {
  ScratchFolder folder;
  CapturedOutput captured;
  {
    FileTarget target = *FileTarget::Open(folder.Path("f"), 0600, captured.output(), GetParam());
    std::filesystem::create_directory(folder.Path("f"));
    EXPECT_EQ(target.Commit().code(), ErrorCode::kUsage);
  }
  EXPECT_EQ(folder.CountFiles(), 1u);
}

TEST(LocalFile, HasNoNameWhileItIsWritten) {
  ScratchFolder folder;
  CapturedOutput captured;
  if (!HasFilesWithoutAName(folder)) GTEST_SKIP() << "this file system has no files without a name";
  FileTarget target = *FileTarget::Open(folder.Path("f"), 0600, captured.output());
  ASSERT_TRUE(target.Write("half").ok());
  EXPECT_EQ(folder.CountFiles(), 0u);
}

TEST(LocalFile, DashIsStandardOutput) {
  CapturedOutput captured;
  FileTarget target = *FileTarget::Open("-", 0600, captured.output());
  ASSERT_TRUE(target.Write("bytes").ok());
  ASSERT_TRUE(target.Commit().ok());
  EXPECT_EQ(captured.Results(), "bytes");
}

TEST(LocalFile, WritesDevicesDirectly) {
  CapturedOutput captured;
  FileTarget target = *FileTarget::Open("/dev/null", 0600, captured.output());
  EXPECT_TRUE(target.Write("bytes").ok());
  EXPECT_TRUE(target.Commit().ok());
}

TEST(LocalFile, SaysWhatCannotBeWritten) {
  CapturedOutput captured;
  Status status = FileTarget::Open("/nowhere/f", 0600, captured.output()).status();
  EXPECT_EQ(status.code(), ErrorCode::kUsage);
  EXPECT_EQ(status.ToString(), "write /nowhere/f: there is no folder /nowhere/; make it, or name another file");
}

TEST(LocalFile, ANameThatNoFileCanHaveIsTheCallersMistake) {
  ScratchFolder folder;
  CapturedOutput captured;
  folder.Put("f", "");
  std::filesystem::create_symlink("loop", folder.Path("loop"));
  for (const std::string& path :
       {folder.Path("."), folder.Path("f/g"), folder.Path("loop/g"), folder.Path(std::string(300, 'x'))}) {
    Status written = FileTarget::Open(path, 0600, captured.output()).status();
    EXPECT_EQ(written.code(), ErrorCode::kUsage) << written.ToString();
    EXPECT_NE(written.remedy(), "");
    Status read = ReadAll(path, 5).status();
    const bool is_absent = path == folder.Path("f/g");
    EXPECT_EQ(read.code(), is_absent ? ErrorCode::kBadInput : ErrorCode::kUsage) << read.ToString();
    EXPECT_NE(read.remedy(), "");
  }
  EXPECT_EQ(ReadAll(folder.Path("."), 5).status().ToString(),
            "read " + folder.Path(".") + ": it is a folder; name a file");
}

TEST(LocalFile, ReadsInPieces) {
  ScratchFolder folder;
  folder.Put("f", "abcde");
  FileSource source = *FileSource::Open(folder.Path("f"));
  EXPECT_EQ(source.Read(3).value(), "abc");
  EXPECT_EQ(source.Read(3).value(), "de");
  EXPECT_EQ(source.Read(3).value(), "");
}

TEST(LocalFile, ReadAllHasALimit) {
  ScratchFolder folder;
  folder.Put("f", "abcde");
  EXPECT_EQ(ReadAll(folder.Path("f"), 5).value(), "abcde");
  EXPECT_EQ(ReadAll(folder.Path("f"), 4).status().code(), ErrorCode::kUsage);
  EXPECT_EQ(ReadAll(folder.Path("g"), 4).status().code(), ErrorCode::kBadInput);
}

TEST(AppendToFile, AddsToWhatOthersWrote) {
  const ScratchFolder folder;
  const std::string path = folder.Path("summary.md");
  EXPECT_TRUE(AppendToFile(path, "first\n").ok());
  EXPECT_TRUE(AppendToFile(path, "").ok());
  EXPECT_TRUE(AppendToFile(path, "second\n").ok());
  EXPECT_EQ(*ReadAll(path, 100), "first\nsecond\n");
  EXPECT_EQ(AppendToFile(folder.Path("none/summary.md"), "a").code(), ErrorCode::kUsage);
  EXPECT_EQ(AppendToFile(folder.Path("."), "a").code(), ErrorCode::kUsage);
}

}  // namespace
}  // namespace kprof::cli
