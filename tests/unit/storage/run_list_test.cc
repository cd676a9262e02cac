#include "storage/catalog/run_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "storage/db/statement.h"
#include "tests/fakes/storage/sample_runs.h"
#include "tests/unit/storage/run_rows_fixture.h"

namespace kprof {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class RunListTest : public RunRowsTest {
 protected:
  std::vector<std::string> ListIds(const RunFilter& filter) {
    Result<std::vector<RunRow>> runs = ListRuns(db_, filter);
    EXPECT_TRUE(runs.ok()) << runs.status().ToString();
    std::vector<std::string> ids;
    if (runs.ok()) {
      for (const RunRow& run : *runs) ids.push_back(run.id);
    }
    return ids;
  }
};

TEST_F(RunListTest, FindsARunByItsOwnersKey) {
  RunRow run = SampleRun("a");
  run.idempotency_key = "once";
  Insert(run);
  EXPECT_EQ((*ReadRunByKey(db_, 1000, "once"))->id, "a");
  EXPECT_EQ(*ReadRunByKey(db_, 1001, "once"), std::nullopt);
  EXPECT_EQ(*ReadRunByKey(db_, 1000, "twice"), std::nullopt);
}

TEST_F(RunListTest, CountsAsTheTablesDo) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 50; ++i) {
    Insert(RandomRun(random, std::to_string(i)));
    ASSERT_TRUE(UpdateRun(db_, RandomRun(random, std::to_string(i))).ok());
    if (i % 3 == 0) {
      ASSERT_TRUE(DeleteRun(db_, std::to_string(i)).ok());
    }
  }
  EXPECT_EQ(ReadCounts(db_)->runs, *db_.QueryInteger("SELECT count(*) FROM runs"));
  EXPECT_EQ(ReadCounts(db_)->artifact_bytes, *db_.QueryInteger("SELECT sum(size_bytes) FROM artifacts"));
}

TEST_F(RunListTest, TakesAnyNumberOfStates) {
  Insert(SampleRun("a"));
  EXPECT_THAT(ListIds({.states = std::vector<RunState>(400'000, SampleRun("a").state)}), ElementsAre("a"));
}

TEST_F(RunListTest, ReadsOpenRunsOldestFirst) {
  EXPECT_THAT(*ReadOpenRuns(db_), IsEmpty());
  RunRow running = SampleRun("b");
  running.state = RunState::kRunning;
  Insert(SampleRun("c"));
  Insert(running);
  Insert(EndedRun("a", 1, 1));
  std::vector<RunRow> open = *ReadOpenRuns(db_);
  EXPECT_THAT(open, ElementsAre(running, SampleRun("c")));
}

TEST_F(RunListTest, KnowsTheLastId) {
  EXPECT_EQ(*ReadLastRunId(db_), "");
  Insert(SampleRun("b"));
  Insert(SampleRun("a"));
  EXPECT_EQ(*ReadLastRunId(db_), "b");
}

TEST_F(RunListTest, FindsIdsByPrefixNewestFirst) {
  for (const char* id : {"aa1", "ab1", "ab2", "ab3", "ac1", "b"}) Insert(SampleRun(id));
  EXPECT_THAT(*FindRunIds(db_, "ab", {}, 10), ElementsAre("ab3", "ab2", "ab1"));
  EXPECT_THAT(*FindRunIds(db_, "ab", {}, 2), ElementsAre("ab3", "ab2"));
  EXPECT_THAT(*FindRunIds(db_, "ab2", {}, 10), ElementsAre("ab2"));
  EXPECT_THAT(*FindRunIds(db_, "", {}, 2), ElementsAre("b", "ac1"));
  EXPECT_THAT(*FindRunIds(db_, "x", {}, 10), IsEmpty());
  EXPECT_THAT(*FindRunIds(db_, "\xff\xff", {}, 10), IsEmpty());
  EXPECT_THAT(*FindRunIds(db_, "a%", {}, 10), IsEmpty());
}

class SeenRunsTest : public RunListTest {
 protected:
  // a: 1000's; b: 1001's; c: 1001's, shared; d: 1000's, shared; e: 1001's.
  SeenRunsTest() {
    for (const char* id : {"a", "b", "c", "d", "e"}) {
      RunRow run = SampleRun(id);
      run.uid = *id == 'a' || *id == 'd' ? 1000 : 1001;
      run.shared = *id == 'c' || *id == 'd';
      run.labels = {{"team", "x"}};
      Insert(run);
    }
  }
};

TEST_F(SeenRunsTest, AnOwnerSeesTheirOwnAndSharedRunsInEveryWayOfListing) {
  RunFilter filter{.uid = 1000};
  EXPECT_THAT(ListIds(filter), ElementsAre("d", "c", "a"));
  filter.labels = {{"team", "x"}};
  EXPECT_THAT(ListIds(filter), ElementsAre("d", "c", "a"));
  filter = {.uid = 1000, .states = {RunState::kQueued}};
  EXPECT_THAT(ListIds(filter), ElementsAre("d", "c", "a"));
  filter = {.uid = 1000, .states = {RunState::kQueued, RunState::kDone}};
  EXPECT_THAT(ListIds(filter), ElementsAre("d", "c", "a"));
  EXPECT_THAT(*FindRunIds(db_, "", 1000, 10), ElementsAre("d", "c", "a"));
}

TEST_F(SeenRunsTest, WhoOwnsNothingSeesSharedRunsOnly) {
  EXPECT_THAT(ListIds({.uid = 5}), ElementsAre("d", "c"));
}

TEST_F(SeenRunsTest, NobodyNamedSeesAll) {
  EXPECT_THAT(ListIds({}), ElementsAre("e", "d", "c", "b", "a"));
}

TEST_F(SeenRunsTest, CountsBackAmongWhatIsSeen) {
  EXPECT_EQ(*ReadRecentRunId(db_, 0, {}), "e");
  EXPECT_EQ(*ReadRecentRunId(db_, 4, {}), "a");
  EXPECT_EQ(*ReadRecentRunId(db_, 0, 1000), "d");
  EXPECT_EQ(*ReadRecentRunId(db_, 2, 1000), "a");
  EXPECT_EQ(ReadRecentRunId(db_, 3, 1000).status().code(), ErrorCode::kNotFound);
}

TEST_F(SeenRunsTest, TheAnswerToAnImportIsTheLastRunOfWhoAskedUntilANewerOneIsThere) {
  ASSERT_TRUE(NoteAnswer(db_, 1000, "a").ok());
  const auto recent = [&](std::optional<uint32_t> asker) {
    std::string ids;
    for (int64_t back = 0; back < 5; ++back) {
      const Result<std::string> id = ReadRecentRunId(db_, back, {}, asker);
      ids += id.ok() ? *id : "?";
    }
    EXPECT_EQ(ReadRecentRunId(db_, 5, {}, asker).status().code(), ErrorCode::kNotFound);
    return ids;
  };
  EXPECT_EQ(recent(1000), "aedcb");
  EXPECT_EQ(recent(1001), "edcba");
  EXPECT_EQ(recent({}), "edcba");
  EXPECT_EQ(*ReadRecentRunId(db_, 0, 1000, 1000) + *ReadRecentRunId(db_, 1, 1000, 1000), "ad");
  ASSERT_TRUE(DeleteRun(db_, "e").ok());
  Insert(SampleRun("f"));
  EXPECT_EQ(recent(1000), "fadcb");
  ASSERT_TRUE(NoteAnswer(db_, 1000, "c").ok());
  EXPECT_EQ(recent(1000), "cfdba");
  ASSERT_TRUE(DeleteRun(db_, "c").ok());
  EXPECT_EQ(*ReadRecentRunId(db_, 0, {}, 1000), "f");
}

TEST_F(RunListTest, ARunCountsHoweverItEnded) {
  const auto insert = [&](const std::string& id, RunState state) {
    RunRow run = SampleRun(id);
    run.tool = "import";
    run.state = state;
    Insert(run);
  };
  insert("a", RunState::kDone);
  insert("b", RunState::kFailed);
  EXPECT_EQ(*ReadRecentRunId(db_, 0, {}), "b");  // `import bad.json; delete @last` deletes no good run
  insert("c", RunState::kCancelled);
  EXPECT_EQ(*ReadRecentRunId(db_, 0, 1000), "c");
  EXPECT_EQ(*ReadRecentRunId(db_, 2, 1000), "a");
}

TEST_F(RunListTest, PagesThroughAllRunsWithoutGapOrRepeat) {
  std::vector<std::string> expected;
  for (int i = 99; i >= 10; --i) {
    expected.push_back(std::to_string(i));
    RunRow run = SampleRun(expected.back());
    run.labels = {{"k", "v"}};
    run.shared = i % 2 == 0;
    run.uid = 1000 + static_cast<uint32_t>(i % 3);
    Insert(run);
  }
  for (RunFilter filter : {RunFilter{}, RunFilter{.labels = {{"k", "v"}}}, RunFilter{.states = {RunState::kQueued}},
                           RunFilter{.uid = 1001}}) {
    std::vector<std::string> want;
    std::copy_if(expected.begin(), expected.end(), std::back_inserter(want), [&](const std::string& id) {
      return !filter.uid.has_value() || std::stoi(id) % 2 == 0 || std::stoi(id) % 3 == 1;
    });
    std::vector<std::string> paged;
    filter.limit = 7;
    for (std::vector<std::string> page = ListIds(filter); !page.empty(); page = ListIds(filter)) {
      paged.insert(paged.end(), page.begin(), page.end());
      filter.before_id = page.back();
    }
    EXPECT_EQ(paged, want);
  }
}

TEST_F(RunListTest, ListsWhatAFilterByHandWouldLeave) {
  std::mt19937_64 random(5);
  std::vector<RunRow> all;
  ASSERT_TRUE(db_.Execute("BEGIN").ok());
  for (int i = 100; i < 400; ++i) {
    RunRow run = SampleRun(std::to_string(i));
    run.uid = static_cast<uint32_t>(random() % 3);
    run.shared = random() % 5 == 0;
    run.tool = random() % 2 == 0 ? "ncu" : "nsys";
    run.state = static_cast<RunState>(random() % 7);
    for (const char* key : {"a", "b"}) {
      if (random() % 2 == 0) run.labels[key] = std::to_string(random() % 2);
    }
    Insert(run);
    all.push_back(run);
  }
  std::reverse(all.begin(), all.end());
  for (int i = 0; i < 500; ++i) {
    RunFilter filter;
    if (random() % 2 == 0) filter.uid = static_cast<uint32_t>(random() % 4);
    for (const char* key : {"a", "b"}) {
      if (random() % 3 == 0) filter.labels.emplace_back(key, std::to_string(random() % 2));
    }
    if (random() % 3 == 0) filter.tools = {"ncu", "other"};
    for (uint64_t n = random() % 3; n > 0; --n) filter.states.push_back(static_cast<RunState>(random() % 7));
    if (random() % 2 == 0) filter.before_id = std::to_string(100 + random() % 300);
    filter.limit = 1 + static_cast<int64_t>(random() % 30);

    std::vector<RunRow> want;
    for (const RunRow& run : all) {
      auto has = [](const auto& list, const auto& value) {
        return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
      };
      bool matches = (!filter.uid.has_value() || run.uid == *filter.uid || run.shared) && has(filter.tools, run.tool) &&
                     has(filter.states, run.state) && (filter.before_id.empty() || run.id < filter.before_id);
      for (const auto& [key, value] : filter.labels) {
        matches = matches && run.labels.contains(key) && run.labels.at(key) == value;
      }
      if (matches && static_cast<int64_t>(want.size()) < filter.limit) want.push_back(run);
    }
    ASSERT_EQ(*ListRuns(db_, filter), want) << i;
  }
}

TEST_F(RunListTest, RefusesAFilterBeyondBounds) {
  EXPECT_EQ(ListRuns(db_, {.labels = std::vector<std::pair<std::string, std::string>>(101)}).status().code(),
            ErrorCode::kUsage);
  EXPECT_EQ(ListRuns(db_, {.tools = std::vector<std::string>(101)}).status().code(), ErrorCode::kUsage);
  EXPECT_TRUE(ListRuns(db_, {.labels = std::vector<std::pair<std::string, std::string>>(100)}).ok());
}

}  // namespace
}  // namespace kprof
