#include "client/cli/import_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/fakes/base/temporary_folder.h"

namespace kprof::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ImportFilesTest : public testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& bytes = "{}") {
    std::ofstream(folder_ / name) << bytes;
    return folder_ / name;
  }
  static std::vector<std::string> Names(const std::vector<std::string>& paths) {
    std::vector<std::string> names;
    Result<std::vector<ImportFile>> files = OpenImportFiles(paths);
    EXPECT_TRUE(files.ok()) << files.status().ToString();
    if (!files.ok()) return names;
    for (const ImportFile& file : *files) names.push_back(file.name);
    return names;
  }

  TemporaryFolder folder_;
};

TEST_F(ImportFilesTest, OpensWhatIsNamedInItsOrder) {
  const std::string b = Write("b.json", "12345");
  const std::string a = Write("a.trace");
  EXPECT_THAT(Names({b, a}), ElementsAre("b.json", "a.trace"));
  const std::vector<ImportFile> files = *OpenImportFiles({b});
  EXPECT_TRUE(files[0].is_regular);
  EXPECT_FALSE(files[0].of_folder);
  EXPECT_EQ(files[0].size_bytes, 5);
}

TEST_F(ImportFilesTest, TakesOfAFolderTheTracesByTheirNames) {
  for (const char* name : {"b.json", "a.json.gz", "c.sqlite", "notes.txt", ".json"}) Write(name);
  std::filesystem::create_directory(folder_ / "d.json");
  EXPECT_THAT(Names({folder_ / ""}), ElementsAre("a.json.gz", "b.json", "c.sqlite"));
}

TEST_F(ImportFilesTest, TakesThoseOfTheFoldersInAFolderAndTellsWhichTheyAreIn) {
  for (const char* rank : {"rank0", "rank1"}) {
    std::filesystem::create_directories(folder_ / "job" + "/" + rank);
    Write("job/" + std::string(rank) + "/trace.json");
  }
  std::filesystem::create_directory_symlink(folder_ / "job", folder_ / "job/again");
  const std::vector<ImportFile> files = *OpenImportFiles({folder_ / "job"});
  ASSERT_EQ(files.size(), 2u);
  EXPECT_TRUE(files[0].of_folder);
  EXPECT_EQ(files[0].name, "trace.json");
  EXPECT_EQ(files[0].told_name, "rank0/trace.json");
  EXPECT_EQ(files[1].told_name, "rank1/trace.json");
  EXPECT_EQ(OpenImportFiles({files[1].path})->front().told_name, "rank1/trace.json");
}

TEST_F(ImportFilesTest, SaysWhatCannotBeRead) {
  const Status absent = OpenImportFiles({folder_ / "absent.json"}).status();
  EXPECT_EQ(absent.code(), ErrorCode::kUsage);
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
  EXPECT_FALSE(OpenImportFiles({"/dev/null"})->front().is_regular);
}

}  // namespace
}  // namespace kprof::cli
