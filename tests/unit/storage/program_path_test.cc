#include "storage/base/environment.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/fakes/base/temporary_folder.h"

namespace kprof {
namespace {

class ProgramPathTest : public testing::Test {
 protected:
  ProgramPathTest() {
    for (const char* name : {"a", "b", "a/folder"}) std::filesystem::create_directory(folder_ / name);
    Make("a/text", 0644);
    Make("b/text", 0755);
    Make("a/only_text", 0644);
    Make("b/tool", 0755);
  }

  void Make(const std::string& name, mode_t mode) {
    std::ofstream(folder_ / name) << "x";
    ::chmod((folder_ / name).c_str(), mode);
  }
  int Find(const std::string& name, const std::string& path) {
    return FindProgram(name, {"A=b", "PATH=" + path}, found_);
  }

  const TemporaryFolder folder_{TemporaryFolder::Holds::kPrograms};
  std::string found_;
};

TEST_F(ProgramPathTest, TakesTheFirstThatCanBeExecuted) {
  EXPECT_EQ(Find("tool", folder_ / "a:" + folder_ / "b"), 0);
  EXPECT_EQ(found_, folder_ / "b/tool");
  EXPECT_EQ(Find("text", folder_ / "a:" + folder_ / "b"), 0);
  EXPECT_EQ(found_, folder_ / "b/text");
}

TEST_F(ProgramPathTest, SaysWhetherItIsMissingOrMayNotBeExecuted) {
  EXPECT_EQ(Find("nothing", folder_ / "a:" + folder_ / "b"), ENOENT);
  EXPECT_EQ(Find("only_text", folder_ / "a:" + folder_ / "b"), EACCES);
  EXPECT_EQ(Find("folder", folder_ / "a"), EACCES);
  EXPECT_EQ(Find("tool", folder_ / "b/tool:/does/not/exist"), ENOENT);  // a file where a folder should be
}

TEST_F(ProgramPathTest, TakesANameWithASlashAsItIs) {
  EXPECT_EQ(Find(folder_ / "b/tool", "/nowhere"), 0);
  EXPECT_EQ(found_, folder_ / "b/tool");
  EXPECT_EQ(Find(folder_ / "a/only_text", ""), EACCES);
  EXPECT_EQ(Find(folder_ / "a", ""), EACCES);
  EXPECT_EQ(Find("./nothing", folder_.path()), ENOENT);
}

TEST_F(ProgramPathTest, LooksInTheStandardFoldersWithoutAPath) {
  EXPECT_EQ(FindProgram("sh", {}, found_), 0);
  EXPECT_EQ(found_, "/bin/sh");
}

TEST_F(ProgramPathTest, TakesAnEmptyEntryForTheWorkingFolder) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_ / "b");
  EXPECT_EQ(Find("tool", "/nowhere::/else"), 0);
  EXPECT_EQ(found_, "./tool");
  EXPECT_EQ(Find("tool", ""), 0);
  EXPECT_EQ(Find("tool", "/nowhere:"), 0);
  EXPECT_EQ(Find("tool", "/nowhere"), ENOENT);
  std::filesystem::current_path(before);
}

}  // namespace
}  // namespace kprof
