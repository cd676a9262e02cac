#include "client/cli/local_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/unit/client/captured_output.h"
#include "tests/unit/client/scratch_folder.h"

namespace kprof::cli {
namespace {

TEST(LocalFile, IsThereWholeOrNotAtAll) {
  ScratchFolder folder;
  CapturedOutput captured;
  folder.Put("f", "before");
  {
    FileTarget target = *FileTarget::Open(folder.Path("f"), 0600, captured.output());
    ASSERT_TRUE(target.Write("half").ok());
  }
  EXPECT_EQ(folder.Get("f"), "before");
  EXPECT_EQ(folder.CountFiles(), 1u);
  FileTarget target = *FileTarget::Open(folder.Path("f"), 0600, captured.output());
  ASSERT_TRUE(target.Write("whole").ok());
  ASSERT_TRUE(target.Commit().ok());
  EXPECT_EQ(folder.Get("f"), "whole");
  EXPECT_EQ(folder.CountFiles(), 1u);
}

TEST(LocalFile, GoesThroughALinkToTheFileItself) {
  ScratchFolder folder;
  CapturedOutput captured;
  folder.Put("real", "before");
  std::filesystem::create_symlink("real", folder.Path("link"));
  FileTarget target = *FileTarget::Open(folder.Path("link"), 0600, captured.output());
  ASSERT_TRUE(target.Write("after").ok());
  ASSERT_TRUE(target.Commit().ok());
  EXPECT_TRUE(std::filesystem::is_symlink(folder.Path("link")));
  EXPECT_EQ(folder.Get("real"), "after");
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
  EXPECT_EQ(status.ToString(), "write /nowhere/f: No such file or directory");
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
    EXPECT_EQ(read.code(), ErrorCode::kUsage) << read.ToString();
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
  EXPECT_EQ(ReadAll(folder.Path("g"), 4).status().code(), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace kprof::cli
