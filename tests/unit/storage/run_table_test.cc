#include "storage/catalog/run_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "storage/catalog/run_details.h"
#include "storage/catalog/run_list.h"
#include "storage/db/statement.h"
#include "tests/fakes/storage/sample_runs.h"
#include "tests/unit/storage/run_rows_fixture.h"

namespace kprof {
namespace {

using RunTableTest = RunRowsTest;
using testing::ElementsAre;

TEST_F(RunTableTest, ReadsBackAnyRun) {
  std::mt19937_64 random(1);
  ASSERT_TRUE(db_.Execute("BEGIN").ok());
  for (int i = 0; i < 1000; ++i) {
    RunRow run = RandomRun(random, "r" + std::to_string(i));
    Insert(run);
    Result<RunRow> read = ReadRun(db_, run.id);
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    ASSERT_EQ(*read, run) << i;
  }
}

TEST_F(RunTableTest, UpdatesToAnyRunButForWhatNeverChanges) {
  std::mt19937_64 random(2);
  ASSERT_TRUE(db_.Execute("BEGIN").ok());
  for (int i = 0; i < 300; ++i) {
    RunRow before = RandomRun(random, "r" + std::to_string(i));
    Insert(before);
    RunRow after = RandomRun(random, before.id);
    Status status = UpdateRun(db_, after);
    ASSERT_TRUE(status.ok()) << status.ToString();
    after.uid = before.uid;
    after.tool = before.tool;
    after.argv = before.argv;
    after.cwd = before.cwd;
    after.environment = before.environment;
    after.labels = before.labels;
    after.devices = before.devices;
    after.pinned = before.pinned;
    after.idempotency_key = before.idempotency_key;
    after.session_id = before.session_id;
    after.round = before.round;
    after.priority = before.priority;
    after.starter = before.starter;
    after.queue_timeout_ms = before.queue_timeout_ms;
    after.clocks = before.clocks;
    after.cool_down_ms = before.cool_down_ms;
    after.exclusive = before.exclusive;
    ASSERT_EQ(*ReadRun(db_, before.id), after) << i;
  }
}

TEST_F(RunTableTest, KeepsAMetricThatIsNotANumber) {
  RunRow run = SampleRun("a");
  run.metrics = {{"speedup", std::nan(""), "", "", {}}};
  Insert(run);
  ASSERT_TRUE(UpdateRun(db_, run).ok());
  EXPECT_TRUE(std::isnan(ReadRun(db_, "a")->metrics.at(0).value));
}

TEST_F(RunTableTest, KeepsMetricsOfKernelsBesideTheRow) {
  RunRow run = SampleRun("a");
  run.metrics = {{.name = "wall_ns", .value = 5, .unit = "ns"}};
  Insert(run);
  ASSERT_TRUE(PutKernelMetrics(db_, "a", {{"flops", 1, "", "gemm", 0}, {"flops", 2, "", "gemm", 1}}).ok());
  ASSERT_TRUE(PutKernelMetrics(db_, "a", {{"flops", 3, "", "gemm", {}}}).ok());
  run.metrics[0].value = 6;
  ASSERT_TRUE(UpdateRun(db_, run).ok());
  EXPECT_EQ(*ReadRun(db_, "a"), run);
  const char* kValues = "SELECT group_concat(position || ' ' || value, ', ') FROM metrics WHERE run_id = 'a'";
  Statement select(db_, kValues);
  ASSERT_TRUE(select.Next());
  EXPECT_EQ(select.Text(0), "0 6.0, 1000000 3.0");
  ASSERT_TRUE(DeleteRun(db_, "a").ok());
  EXPECT_EQ(*db_.QueryInteger("SELECT count(*) FROM metrics"), 0);
}

// In steps of SQLite's machine, which no other load changes.
TEST_F(RunTableTest, AStateCostsTheSameHoweverManyMetricsOfKernelsThereAre) {
  RunRow run = SampleRun("a");
  run.metrics = {{.name = "wall_ns", .value = 5, .unit = "ns"}};
  Insert(run);
  const auto steps = [&] {
    int64_t counted = 0;
    const auto count = [](void* to) {
      ++*static_cast<int64_t*>(to);
      return 0;
    };
    sqlite3_progress_handler(db_.handle(), 1, count, &counted);
    EXPECT_TRUE(UpdateRun(db_, run).ok());
    EXPECT_TRUE(ReadRun(db_, "a").ok());
    sqlite3_progress_handler(db_.handle(), 0, nullptr, nullptr);
    return counted;
  };
  const int64_t with_none = steps();
  std::vector<MetricRow> metrics;
  for (int64_t i = 0; i < 20'000; ++i) metrics.push_back({"flops", 1, "", "gemm", i});
  ASSERT_TRUE(db_.Execute("BEGIN").ok());
  ASSERT_TRUE(PutKernelMetrics(db_, "a", metrics).ok());
  ASSERT_TRUE(db_.Execute("COMMIT").ok());
  EXPECT_GT(with_none, 0);
  EXPECT_LT(steps(), with_none + 20) << "a few to pass by them, whatever their number";
}

TEST_F(RunTableTest, RefusesATakenId) {
  Insert(SampleRun("a"));
  EXPECT_EQ(InsertRun(db_, SampleRun("a")).code(), ErrorCode::kUsage);
}

TEST_F(RunTableTest, RefusesATakenKeyOfTheSameOwnerOnly) {
  RunRow run = SampleRun("a");
  run.idempotency_key = "once";
  Insert(run);
  run.id = "b";
  EXPECT_EQ(InsertRun(db_, run).code(), ErrorCode::kUsage);
  run.uid = 1001;
  EXPECT_TRUE(InsertRun(db_, run).ok());
}

TEST_F(RunTableTest, RefusesATakenRoundOfTheSameSessionOnly) {
  RunRow run = SampleRun("a");
  run.session_id = "s";
  run.round = 1;
  Insert(run);
  run.id = "b";
  EXPECT_EQ(InsertRun(db_, run).code(), ErrorCode::kUsage);
  run.session_id = "t";
  EXPECT_TRUE(InsertRun(db_, run).ok());
}

TEST_F(RunTableTest, RefusesZeroBytesThatWouldSplitArguments) {
  RunRow run = SampleRun("a");
  run.argv = {std::string("a\0b", 3)};
  EXPECT_EQ(InsertRun(db_, run).code(), ErrorCode::kUsage);
  run = SampleRun("a");
  run.environment = {{"A=B", "c"}};
  EXPECT_EQ(InsertRun(db_, run).code(), ErrorCode::kUsage);
}

TEST_F(RunTableTest, SaysNotFoundForAnUnknownRun) {
  EXPECT_EQ(ReadRun(db_, "a").status().code(), ErrorCode::kNotFound);
  EXPECT_EQ(UpdateRun(db_, SampleRun("a")).code(), ErrorCode::kNotFound);
  EXPECT_EQ(SetPinned(db_, "a", true).code(), ErrorCode::kNotFound);
  EXPECT_EQ(AddArtifact(db_, "a", {"x", 1, ""}).code(), ErrorCode::kNotFound);
  EXPECT_EQ(DeleteRun(db_, "a").code(), ErrorCode::kNotFound);
  EXPECT_EQ(ReadRecentRunId(db_, 0, {}).status().code(), ErrorCode::kNotFound);
}

TEST_F(RunTableTest, PassesOnAFailureToRead) {
  ASSERT_TRUE(db_.Execute("DROP TABLE metrics").ok());
  EXPECT_EQ(ReadRunByKey(db_, 1000, "x").status().code(), ErrorCode::kOk);
  RunRow run = SampleRun("a");
  run.idempotency_key = "x";
  (void)InsertRun(db_, run);
  EXPECT_EQ(ReadRunByKey(db_, 1000, "x").status().code(), ErrorCode::kInternal);
}

TEST_F(RunTableTest, PinsAndUnpins) {
  Insert(SampleRun("a"));
  ASSERT_TRUE(SetPinned(db_, "a", true).ok());
  EXPECT_TRUE(ReadRun(db_, "a")->pinned);
  ASSERT_TRUE(SetPinned(db_, "a", false).ok());
  EXPECT_FALSE(ReadRun(db_, "a")->pinned);
}

TEST_F(RunTableTest, ReplacesAnArtifactOfTheSameNameAndCountsItOnce) {
  Insert(SampleRun("a"));
  ASSERT_TRUE(AddArtifact(db_, "a", {"x", 100, "11"}).ok());
  ASSERT_TRUE(AddArtifact(db_, "a", {"y", 1, "22"}).ok());
  ASSERT_TRUE(AddArtifact(db_, "a", {"x", 30, "33"}).ok());
  EXPECT_THAT(ReadRun(db_, "a")->artifacts, ElementsAre(ArtifactRow{"x", 30, "33"}, ArtifactRow{"y", 1, "22"}));
  EXPECT_EQ(ReadCounts(db_)->artifact_bytes, 31);
}

TEST_F(RunTableTest, DeletesARunWithAllThatHangsOnIt) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 20; ++i) Insert(RandomRun(random, std::to_string(i)));
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(DeleteRun(db_, std::to_string(i)).ok());
  EXPECT_EQ(*db_.QueryInteger("SELECT (SELECT count(*) FROM runs) + (SELECT count(*) FROM run_devices) + "
                              "(SELECT count(*) FROM run_labels) + (SELECT count(*) FROM run_trust) + "
                              "(SELECT count(*) FROM artifacts) + (SELECT count(*) FROM metrics) + "
                              "(SELECT count(*) FROM trace_parts)"),
            0);
  EXPECT_EQ(ReadCounts(db_)->runs, 0);
  EXPECT_EQ(ReadCounts(db_)->artifact_bytes, 0);
}

}  // namespace
}  // namespace kprof
