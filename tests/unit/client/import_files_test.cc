#include "client/cli/verbs/import_files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/fakes/base/temporary_folder.h"

namespace kprof::cli {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class ImportFilesTest : public testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& bytes = "{}") {
    std::ofstream(folder_ / name) << bytes;
    return folder_ / name;
  }
  static std::vector<std::string> Names(const std::vector<std::string>& paths) {
    std::vector<std::string> names;
    Result<ImportFiles> opened = OpenImportFiles(paths);
    EXPECT_TRUE(opened.ok()) << opened.status().ToString();
    if (!opened.ok()) return names;
    for (const ImportFile& file : opened->files) names.push_back(file.name);
    return names;
  }

  TemporaryFolder folder_;
};

TEST_F(ImportFilesTest, OpensWhatIsNamedInItsOrder) {
  const std::string b = Write("b.json", "12345");
  const std::string a = Write("a.trace");
  EXPECT_THAT(Names({b, a}), ElementsAre("b.json", "a.trace"));
  const std::vector<ImportFile> files = (*OpenImportFiles({b})).files;
  EXPECT_TRUE(files[0].is_regular);
  EXPECT_FALSE(files[0].from_folder);
  EXPECT_EQ(files[0].size_bytes, 5);
}

TEST_F(ImportFilesTest, TakesOfAFolderTheTracesByTheirNames) {
  for (const char* name : {"b.json", "a.json.gz", "c.sqlite", "notes.txt", ".json"}) Write(name);
  std::filesystem::create_directory(folder_ / "d.json");
  EXPECT_THAT(Names({folder_ / ""}), ElementsAre("a.json.gz", "b.json", "c.sqlite"));
}

TEST_F(ImportFilesTest, NumbersInNamesCountByTheirValue) {
  for (const char* name : {"t10.json", "t2.json", "t1.json", "t02.json", "t1a.json", "s9.json"}) Write(name);
  EXPECT_THAT(Names({folder_ / ""}), ElementsAre("s9.json", "t1.json", "t1a.json", "t02.json", "t2.json", "t10.json"));
}

TEST_F(ImportFilesTest, RefusesMoreFilesThanARunHasRanks) {
  for (size_t i = 0; i <= kMostImportFiles; ++i) Write("t" + std::to_string(i) + ".json", "");
  const Status status = OpenImportFiles({folder_ / ""}).status();
  EXPECT_EQ(status.code(), ErrorCode::kUsage);
  EXPECT_THAT(status.ToString(), HasSubstr("1025 files"));
  EXPECT_THAT(status.remedy(), HasSubstr("several runs"));
  std::filesystem::remove(folder_ / "t0.json");
  EXPECT_EQ(Names({folder_ / ""}).size(), kMostImportFiles);
}

TEST_F(ImportFilesTest, OpensMoreFilesThanTheSoftLimitAllows) {
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  struct rlimit low = before;
  low.rlim_cur = 64;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  for (size_t i = 0; i < 100; ++i) Write("t" + std::to_string(i) + ".json");
  EXPECT_EQ(Names({folder_ / ""}).size(), 100u);
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST_F(ImportFilesTest, TakesThoseOfTheFoldersInAFolderAndTellsWhichTheyAreIn) {
  for (const char* rank : {"rank0", "rank1"}) {
    std::filesystem::create_directories(folder_ / "job" + "/" + rank);
    Write("job/" + std::string(rank) + "/trace.json");
  }
  std::filesystem::create_directory_symlink(folder_ / "job", folder_ / "job/again");
  const std::vector<ImportFile> files = (*OpenImportFiles({folder_ / "job"})).files;
  ASSERT_EQ(files.size(), 2u);
  EXPECT_TRUE(files[0].from_folder);
  EXPECT_EQ(files[0].name, "trace.json");
  EXPECT_EQ(files[0].told_name, "rank0/trace.json");
  EXPECT_EQ(files[1].told_name, "rank1/trace.json");
  EXPECT_EQ(OpenImportFiles({files[1].path})->files.front().told_name, "rank1/trace.json");
  std::filesystem::create_directories(folder_ / "other" + "/rank0");
  Write("other/rank0/trace.json");
  const std::vector<ImportFile> two = (*OpenImportFiles({folder_ / "job", folder_ / "other"})).files;
  ASSERT_EQ(two.size(), 3u);
  EXPECT_EQ(two[0].told_name, "job/rank0/trace.json");
  EXPECT_EQ(two[2].told_name, "other/rank0/trace.json");
}

TEST_F(ImportFilesTest, TellsOfTheArchivesThatItPassedOverAndOfNothingElse) {
  std::filesystem::create_directory(folder_ / "in");
  for (const char* name :
       {"a.json", "b.tar.gz", "in/a.zip", "c.json.xz", "d.tgz", "README", "e.txt", "f.py", "g.log", "h.gz", ".zip"}) {
    Write(name);
  }
  std::filesystem::create_directory(folder_ / "i.zip");
  const ImportFiles opened = *OpenImportFiles({folder_ / ""});
  EXPECT_EQ(opened.files.size(), 1u);
  EXPECT_THAT(opened.archives,
              ElementsAre(folder_ / "b.tar.gz", folder_ / "c.json.xz", folder_ / "d.tgz", folder_ / "in/a.zip"));
  EXPECT_THAT(PassedOver(opened)[0],
              AllOf(StartsWith("passed over: "), HasSubstr("b.tar.gz: archives are not opened; unpack it first")));
  EXPECT_TRUE(OpenImportFiles({folder_ / "a.json"})->archives.empty());
}

TEST_F(ImportFilesTest, NamesOfManyArchivesTheFirst) {
  ImportFiles many;
  many.archives.assign(1000, "a.zip");
  EXPECT_EQ(PassedOver(many).size(), 11u);
  EXPECT_THAT(PassedOver(many).back(), HasSubstr("990 more"));
  EXPECT_THAT(PassedOver({}), IsEmpty());
}

TEST_F(ImportFilesTest, AFolderOfArchivesAloneSaysToUnpackThem) {
  Write("a.tar");
  const Status one = OpenImportFiles({folder_ / ""}).status();
  EXPECT_EQ(one.code(), ErrorCode::kUsage);
  EXPECT_THAT(one.ToString(), AllOf(HasSubstr("a.tar"), HasSubstr("unpack it first")));
  Write("b.7z");
  EXPECT_THAT(OpenImportFiles({folder_ / ""}).status().ToString(),
              AllOf(HasSubstr("a.tar and 1 more"), HasSubstr("unpack them first")));
}

TEST_F(ImportFilesTest, SaysWhatCannotBeRead) {
  const Status absent = OpenImportFiles({folder_ / "absent.json"}).status();
  EXPECT_EQ(absent.code(), ErrorCode::kBadInput);
  EXPECT_THAT(absent.ToString(), HasSubstr("absent.json"));
  const Status empty = OpenImportFiles({folder_ / ""}).status();
  EXPECT_EQ(empty.code(), ErrorCode::kUsage);
  EXPECT_THAT(empty.ToString(), HasSubstr("no trace"));
}

TEST_F(ImportFilesTest, RefusesAFileThatIsGivenTwiceAndNamesBothPlaces) {
  const std::string a = Write("a.json");
  std::filesystem::create_symlink(a, folder_ / "link.json");
  std::filesystem::create_hard_link(a, folder_ / "hard.json");
  for (const std::string& other : {folder_ / "link.json", folder_ / "hard.json"}) {
    const Status twice = OpenImportFiles({a, other}).status();
    EXPECT_EQ(twice.code(), ErrorCode::kUsage);
    EXPECT_THAT(twice.ToString(), HasSubstr(a + " and " + other + " are the same file"));
  }
  EXPECT_THAT(OpenImportFiles({a, a}).status().ToString(), HasSubstr(a + " is given twice"));
  EXPECT_FALSE(OpenImportFiles({a, folder_ / ""}).ok());
  EXPECT_TRUE(OpenImportFiles({a, Write("b.json")}).ok());
}

TEST_F(ImportFilesTest, TellsWhatIsNoFile) {
  EXPECT_FALSE(OpenImportFiles({"/dev/null"})->files.front().is_regular);
}

TEST_F(ImportFilesTest, WaitsForNoWriterOfAPipe) {
  ASSERT_EQ(::mkfifo((folder_ / "a.json").c_str(), 0600), 0);
  EXPECT_FALSE(OpenImportFiles({folder_ / "a.json"})->files.front().is_regular);
}

TEST_F(ImportFilesTest, OpensFilesSoThatReadingThemWaits) {
  const ImportFiles opened = *OpenImportFiles({Write("a.json")});
  EXPECT_EQ(::fcntl(opened.files.front().fd.get(), F_GETFL) & O_NONBLOCK, 0);
}

TEST_F(ImportFilesTest, PassesOverWhatOfAFolderIsNoRegularFile) {
  ASSERT_EQ(::mkfifo((folder_ / "b.json").c_str(), 0600), 0);
  const Status none = OpenImportFiles({folder_ / ""}).status();
  EXPECT_EQ(none.code(), ErrorCode::kUsage);
  EXPECT_THAT(none.ToString(), HasSubstr("b.json"));
  std::filesystem::create_symlink(Write("a.trace"), folder_ / "c.json");
  const ImportFiles opened = *OpenImportFiles({folder_ / ""});
  EXPECT_EQ(opened.files.size(), 1u);
  EXPECT_THAT(PassedOver(opened), ElementsAre("passed over: " + (folder_ / "b.json") +
                                              ": of a folder only regular files are read; name it"));
}

}  // namespace
}  // namespace kprof::cli
