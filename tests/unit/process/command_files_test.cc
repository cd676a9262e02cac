#include "daemon/process/supervisor/command_files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/fakes/base/temporary_folder.h"

namespace kprof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class OutputSearchTest : public testing::Test {
 protected:
  void Write(const std::string& name, const std::string& bytes = "x") {
    const std::filesystem::path path = folder_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << bytes;
  }
  std::string Path(const std::string& name) const { return folder_ / name; }
  static std::vector<std::string> Shown(OutputSearch& search) {
    std::vector<std::string> shown;
    for (const OutputSearch::File& file : search.files()) shown.push_back(file.found.path);
    return shown;
  }
  std::vector<std::string> Find(const std::string& glob) {
    OutputSearch search({});
    search.Find(Path("."), glob, -1);
    return Shown(search);
  }

  TemporaryFolder folder_;
};

TEST_F(OutputSearchTest, FindsByName) {
  Write("out/a.json");
  EXPECT_THAT(Find("out/a.json"), ElementsAre("out/a.json"));
  EXPECT_THAT(Find("./out//a.json"), ElementsAre("out/a.json"));
  EXPECT_THAT(Find("out/b.json"), IsEmpty());
  EXPECT_THAT(Find("a.json"), IsEmpty());
}

TEST_F(OutputSearchTest, FindsByPatternInTheOrderOfNames) {
  for (const char* name : {"out/r1.json", "out/r0.json", "out/r0.txt", "out/.hidden.json", "out/deep/r2.json"})
    Write(name);
  EXPECT_THAT(Find("out/*.json"), ElementsAre("out/r0.json", "out/r1.json"));
  EXPECT_THAT(Find("o?t/r[0-9].json"), ElementsAre("out/r0.json", "out/r1.json"));
  EXPECT_THAT(Find("*/*/*.json"), ElementsAre("out/deep/r2.json"));
  EXPECT_THAT(Find("out/.*.json"), ElementsAre("out/.hidden.json"));
}

TEST_F(OutputSearchTest, FindsInAnyFolder) {
  for (const char* name : {"a.json", "out/b.json", "out/x/y/c.json", "out/x/y/c.txt", ".git/d.json"}) Write(name);
  EXPECT_THAT(Find("**/*.json"), ElementsAre("a.json", "out/b.json", "out/x/y/c.json"));
  EXPECT_THAT(Find("out/**"), ElementsAre("out/b.json", "out/x/y/c.json", "out/x/y/c.txt"));
}

TEST_F(OutputSearchTest, FindsByAbsolutePaths) {
  Write("out/a.json");
  EXPECT_THAT(Find(Path("out/*.json")), ElementsAre(Path("out/a.json")));
}

TEST_F(OutputSearchTest, TakesEachFileOnce) {
  Write("a.json");
  std::filesystem::create_hard_link(Path("a.json"), Path("b.json"));
  OutputSearch search({});
  EXPECT_TRUE(search.Find(Path("."), "*.json", -1));
  EXPECT_TRUE(search.Find(Path("."), "a.*", -1));
  EXPECT_THAT(Shown(search), ElementsAre("a.json"));
}

TEST_F(OutputSearchTest, TakesNamesThatAreNotUtf8) {
  Write("bad\xff.json");
  EXPECT_THAT(Find("*.json"), ElementsAre("bad\xff.json"));
}

TEST_F(OutputSearchTest, LeavesOutWhatIsNoRegularFileAndNamesIt) {
  Write("secret");
  std::filesystem::create_symlink(Path("secret"), Path("link.json"));
  ASSERT_EQ(::mkfifo(Path("pipe.json").c_str(), 0600), 0);
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  const std::string path = Path("socket.json");
  ASSERT_LT(path.size(), sizeof address.sun_path);
  path.copy(address.sun_path, path.size());
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ::close(listener);
  std::filesystem::create_directory(Path("folder.json"));
  OutputSearch search({});
  EXPECT_TRUE(search.Find(Path("."), "*.json", -1));
  EXPECT_TRUE(search.Find("/", "dev/null", -1));
  EXPECT_THAT(Shown(search), IsEmpty());
  EXPECT_THAT(search.left_out().reasons,
              UnorderedElementsAre("'link.json': it is a symbolic link", "'pipe.json': it is a pipe",
                                   "'socket.json': it is a socket", "'dev/null': it is a device"));
}

TEST_F(OutputSearchTest, FollowsLinksOfFoldersOnlyWhereTheyAreNamed) {
  Write("real/a.json");
  std::filesystem::create_directory_symlink(Path("real"), Path("link"));
  EXPECT_THAT(Find("link/a.json"), ElementsAre("link/a.json"));
  EXPECT_THAT(Find("link/*.json"), ElementsAre("link/a.json"));
  EXPECT_THAT(Find("l*/*.json"), IsEmpty());
  EXPECT_THAT(Find("**/a.json"), ElementsAre("real/a.json"));
}

TEST_F(OutputSearchTest, LeavesOutWhatIsOlderThanTheRun) {
  Write("old.json");
  struct stat old {};
  ASSERT_EQ(::stat(Path("old.json").c_str(), &old), 0);
  const int64_t old_ns = old.st_ctim.tv_sec * kNanosPerSecond + old.st_ctim.tv_nsec;
  while (ReadClockNs(CLOCK_REALTIME_COARSE) <= old_ns) ::usleep(1000);
  Write("new.json");
  timespec times[2] = {{100, 0}, {100, 0}};  // as cp -p or tar leave one
  ASSERT_EQ(::utimensat(AT_FDCWD, Path("new.json").c_str(), times, 0), 0);
  OutputSearch search({.not_before_unix_ns = old_ns + 1});
  search.Find(Path("."), "*.json", 3);
  ASSERT_THAT(Shown(search), ElementsAre("new.json"));
  EXPECT_EQ(search.files()[0].found.tool_output, 3);
  EXPECT_THAT(search.left_out().reasons, ElementsAre("'old.json': it is older than the run"));
}

TEST_F(OutputSearchTest, LeavesOutFilesOfOthers) {
  if (::geteuid() == 0) {
    Write("theirs.json");
    ASSERT_EQ(::chown(Path("theirs.json").c_str(), 4711, 4711), 0);
    OutputSearch search({});
    search.Find(Path("."), "*.json", -1);
    EXPECT_THAT(Shown(search), IsEmpty());
    EXPECT_THAT(search.left_out().reasons, ElementsAre(HasSubstr("another user (uid 4711)")));
  } else {
    OutputSearch search({});
    search.Find("/", "etc/passwd", -1);
    EXPECT_THAT(Shown(search), IsEmpty());
    EXPECT_THAT(search.left_out().reasons, ElementsAre(HasSubstr("another user (uid 0)")));
  }
}

TEST_F(OutputSearchTest, KeepsToItsLimits) {
  for (int i = 0; i < 40; ++i) Write("f" + std::to_string(100 + i));
  OutputSearch few({.files = 3});
  few.Find(Path("."), "*", -1);
  EXPECT_THAT(Shown(few), ElementsAre("f100", "f101", "f102"));
  EXPECT_EQ(few.left_out().reasons.size(), kMostLeftOutReasons);
  EXPECT_EQ(few.left_out().more, 37 - static_cast<int64_t>(kMostLeftOutReasons));
  OutputSearch short_look({.entries = 10});
  short_look.Find(Path("."), "*", -1);
  EXPECT_LE(Shown(short_look).size(), 10U);
  EXPECT_THAT(short_look.left_out().reasons, ElementsAre("more than 10 names were to be looked at"));
  OutputSearch no_time({.time_ns = -1});
  no_time.Find(Path("."), "*", -1);
  EXPECT_THAT(Shown(no_time), IsEmpty());
  EXPECT_THAT(no_time.left_out().reasons, ElementsAre(HasSubstr("took too long")));
}

TEST_F(OutputSearchTest, TakesAllThatIsInAFolderThatIsNamed) {
  for (const char* name : {"out/a.json", "out/x/y/b.bin", "out/.hidden", "out/.git/c", "else/d"}) Write(name);
  for (const char* glob : {"out", "out/", "./out", "out/**"}) {
    EXPECT_THAT(Find(glob), ElementsAre("out/a.json", "out/x/y/b.bin")) << glob;
  }
  EXPECT_THAT(Find("."), ElementsAre("else/d", "out/a.json", "out/x/y/b.bin"));
  EXPECT_THAT(Find(Path("out/x")), ElementsAre(Path("out/x/y/b.bin")));
  std::filesystem::create_directory_symlink(Path("out"), Path("link"));
  EXPECT_THAT(Find("link"), ElementsAre("link/a.json", "link/x/y/b.bin"));
  EXPECT_THAT(Find("o*t"), IsEmpty());
  EXPECT_THAT(Find("l*"), IsEmpty());
}

TEST_F(OutputSearchTest, SaysThatNothingIsInAFolderThatIsNamed) {
  std::filesystem::create_directory(Path("out"));
  OutputSearch search({});
  EXPECT_FALSE(search.Find(Path("."), "out", -1));
  EXPECT_THAT(search.left_out().reasons, IsEmpty());
}

TEST_F(OutputSearchTest, SaysWhatNobodyLeft) {
  OutputSearch search({});
  EXPECT_FALSE(search.Find(Path("."), "out/*.json", -1));
  search.Miss("out/*.json");
  EXPECT_THAT(search.left_out().reasons, ElementsAre("no file matches 'out/*.json'"));
}

TEST_F(OutputSearchTest, OpensForReadingAlone) {
  Write("a.json", "hello");
  OutputSearch search({});
  search.Find(Path("."), "a.json", -1);
  const UniqueFd fd = search.Open(search.files().at(0));
  ASSERT_TRUE(fd.valid());
  EXPECT_EQ(::fcntl(fd.get(), F_GETFL) & O_ACCMODE, O_RDONLY);
}

TEST_F(OutputSearchTest, DoesNotOpenWhatHasBecomeALink) {
  Write("a.json");
  OutputSearch search({});
  search.Find(Path("."), "a.json", -1);
  std::filesystem::remove(Path("a.json"));
  std::filesystem::create_symlink("/etc/passwd", Path("a.json"));
  EXPECT_FALSE(search.Open(search.files().at(0)).valid());
  EXPECT_EQ(search.left_out().reasons.size(), 1U);
}

}  // namespace
}  // namespace kprof
