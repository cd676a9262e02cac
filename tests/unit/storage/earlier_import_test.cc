#include "storage/catalog/run_list.h"

#include "tests/unit/storage/run_rows_fixture.h"

namespace kprof {
namespace {

class EarlierImportTest : public RunRowsTest {
 protected:
  static RunRow Import(const std::string& id, const std::vector<std::string>& hashes) {
    RunRow run;
    run.id = id;
    run.uid = 1000;
    run.tool = "import";
    run.state = RunState::kDone;
    run.cwd = "/";
    for (const std::string& hash : hashes) {
      TracePartRow part;
      part.name = "rank" + std::to_string(run.trace.size());
      part.source_hash = hash;
      part.source_format = "chrome";
      run.trace.push_back(part);
    }
    return run;
  }

  std::string Found(const std::vector<WantedSource>& sources, bool kept = false, uint32_t uid = 1000) {
    Result<std::optional<RunRow>> found = FindImport(db_, uid, sources, kept);
    EXPECT_TRUE(found.ok()) << found.status().ToString();
    return found.ok() && *found ? (*found)->id : "";
  }
};

TEST_F(EarlierImportTest, KnowsTheSizesThatTheOwnerHasImported) {
  Insert(Import("a", {"10-aa", "200-bb"}));
  EXPECT_TRUE(*HasSourcesOfSizes(db_, 1000, {200, 10}));
  EXPECT_FALSE(*HasSourcesOfSizes(db_, 1000, {10, 20}));
  EXPECT_FALSE(*HasSourcesOfSizes(db_, 1000, {1}));
  EXPECT_FALSE(*HasSourcesOfSizes(db_, 1001, {10}));
}

TEST_F(EarlierImportTest, FindsTheNewestOfTheSameSourcesInAnyOrder) {
  Insert(Import("a", {"10-aa", "200-bb"}));
  Insert(Import("b", {"200-bb", "10-aa"}));
  Insert(Import("c", {"10-aa"}));
  EXPECT_EQ(Found({{"10-aa", {}, {}}, {"200-bb", {}, {}}}), "b");
  EXPECT_EQ(Found({{"10-aa", {}, {}}}), "c");
  EXPECT_EQ(Found({{"200-bb", {}, {}}}), "");
  EXPECT_EQ(Found({{"10-aa", {}, {}}, {"10-aa", {}, {}}}), "");
}

TEST_F(EarlierImportTest, IsAnotherOneWhenItIsReadAsAnotherFormatOrAnotherRankWasAskedFor) {
  Insert(Import("a", {"10-aa"}));
  EXPECT_EQ(Found({{"10-aa", {{"kineto"}, {"chrome"}}, {}}}), "a");
  EXPECT_EQ(Found({{"10-aa", {{"nsys-sqlite"}}, {}}}), "");
  EXPECT_EQ(Found({{"10-aa", {}, 3}}), "");
}

TEST_F(EarlierImportTest, FindsNothingOfOthersNorWhatIsNotDone) {
  RunRow failed = Import("a", {"10-aa"});
  failed.state = RunState::kFailed;
  Insert(failed);
  EXPECT_EQ(Found({{"10-aa", {}, {}}}), "");
  Insert(Import("b", {"10-aa"}));
  EXPECT_EQ(Found({{"10-aa", {}, {}}}, false, 1001), "");
}

TEST_F(EarlierImportTest, FindsOneThatHasKeptItsSourcesWhereThatIsWanted) {
  RunRow kept = Import("a", {"10-aa"});
  kept.trace[0].source_artifact = "a.json";
  kept.artifacts = {{"a.json", 10, std::string(64, '0')}};
  Insert(kept);
  Insert(Import("b", {"10-aa"}));
  EXPECT_EQ(Found({{"10-aa", {}, {}}}, true), "a");
  EXPECT_EQ(Found({{"10-aa", {}, {}}}, false), "b");
}

}  // namespace
}  // namespace kprof
