#include "daemon/process/supervisor/command_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "tests/fakes/base/temporary_folder.h"

namespace kprof {
namespace {

TEST(OutputFolder, IsItsCallersAloneAndGoes) {
  TemporaryFolder folder;
  char shared[kOutputFolderPathBytes] = "";
  OutputFolder outputs(shared);
  ASSERT_EQ(outputs.Make("", {"TMPDIR=" + std::string(folder / ".")}), 0);
  struct stat about {};
  ASSERT_EQ(::stat(outputs.path().c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0700U);
  EXPECT_EQ(shared, outputs.path());
  const std::string path = outputs.path();
  std::ofstream(path + "/file") << "x";
  outputs.Remove();
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_STREQ(shared, "");
}

TEST(OutputFolder, IsMadeWhereItIsTold) {
  TemporaryFolder folder;
  OutputFolder outputs(nullptr);
  ASSERT_EQ(outputs.Make(folder / "here", {}), 0);
  EXPECT_EQ(outputs.path(), std::string(folder / "here"));
  OutputFolder again(nullptr);
  EXPECT_EQ(again.Make(folder / "here", {}), EEXIST);
  EXPECT_EQ(again.Make(folder / "no/such/place", {}), ENOENT);
}

TEST(OutputFolder, IsMadeElsewhereWhereThereIsNoTmpdir) {
  OutputFolder outputs(nullptr);
  ASSERT_EQ(outputs.Make("", {"TMPDIR=/nowhere"}), 0);
  EXPECT_TRUE(outputs.path().starts_with("/tmp/kprof-")) << outputs.path();
  outputs.Remove();
}

TEST(OutputFolder, RemovesAllAndFollowsNoLink) {
  TemporaryFolder folder;
  std::filesystem::create_directories(folder / "tree/a/b");
  std::filesystem::create_directories(folder / "kept");
  std::ofstream(folder / "kept/file") << "x";
  std::ofstream(folder / "tree/a/b/c") << "x";
  std::filesystem::create_directory_symlink(folder / "kept", folder / "tree/link");
  ASSERT_EQ(::mkfifo((folder / "tree/pipe").c_str(), 0600), 0);
  ::chmod((folder / "tree/a").c_str(), 0);
  RemoveFolderTree(folder / "tree");
  EXPECT_FALSE(std::filesystem::exists(folder / "tree"));
  EXPECT_TRUE(std::filesystem::exists(folder / "kept/file"));
}

}  // namespace
}  // namespace kprof
