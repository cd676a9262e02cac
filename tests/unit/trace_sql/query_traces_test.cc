#include "storage/trace_sql/attach/query_traces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stop_token>

#include "storage/sandbox/user_query.h"
#include "tests/fakes/base/temporary_folder.h"
#include "tests/fakes/trace/made_part.h"
#include "tests/unit/storage_sandbox/sandbox_catalog.h"
#include "tests/unit/trace_sql/random_trace.h"

namespace kprof {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class QueryTracesTest : public ::testing::Test {
 protected:
  Answer AskTraces(const std::string& sql, const QueryLimits& limits = {}, std::stop_token stop = {}) {
    return AskPlaces(places_, sql, limits, std::move(stop));
  }
  Answer AskPlaces(const std::vector<TracePlace>& places, const std::string& sql, const QueryLimits& limits = {},
                   std::stop_token stop = {}) {
    Answer answer;
    auto query = UserQuery::Open(SandboxCatalog::Shared().path(), kAlice, sql, limits, std::move(stop),
                                 std::make_unique<kprof::QueryTraces>(places, pool_));
    if (!query.ok()) {
      answer.status = query.status();
      return answer;
    }
    while (true) {
      auto batch = (*query)->NextBatch();
      answer.status = batch.status();
      if (!batch.ok() || !batch->has_value()) return answer;
      for (int64_t row = 0; row < (*batch)->rows; ++row) {
        std::string text;
        for (const auto& column : (*batch)->columns) {
          text += (text.empty() ? "" : "|") + ValueText(column[static_cast<size_t>(row)]);
        }
        answer.rows.push_back(text);
      }
    }
  }

  ColumnCache cache_{64 << 20};
  PartPool pool_{cache_};
  RandomTrace trace_;
  const std::vector<TracePlace> places_ = {{"r1", "a", trace_.path("a"), {}}, {"r4", "b", trace_.path("b"), {}}};
};

TEST_F(QueryTracesTest, AreJoinedWithTheCatalog) {
  const Answer answer =
      AskTraces("SELECT r.id, r.tool, count(*) FROM run r JOIN slice s ON s.run = r.id GROUP BY r.id ORDER BY r.id");
  EXPECT_TRUE(answer.status.ok()) << answer.Text();
  EXPECT_THAT(answer.rows, ElementsAre(HasSubstr("r1|ncu|"), HasSubstr("r4|ncu|")));
}

// Not each of many rows with the catalog, which is another connection's.
TEST_F(QueryTracesTest, AreLookedUpByTheRunsOfTheCatalog) {
  const TemporaryFolder folder;
  MadePart part(4096);
  part.AddTrack({});
  for (int i = 0; i < 20'000; ++i) part.Add(EventKind::kSlice, {.time_ns = i, .duration_ns = 1, .track = 0});
  part.Write(folder / "a.trace.db");
  const Answer plan =
      AskPlaces({{"r1", "a", folder / "a.trace.db", {}}},
                "EXPLAIN QUERY PLAN SELECT r.id, r.tool, count(*), sum(s.dur_ns) FROM run r JOIN slice s "
                "ON s.run = r.id GROUP BY r.id");
  EXPECT_TRUE(plan.status.ok()) << plan.Text();
  EXPECT_THAT(plan.rows, ElementsAre(HasSubstr("SCAN r "), HasSubstr("SCAN s VIRTUAL TABLE INDEX 0:run=")));
}

TEST_F(QueryTracesTest, ComeWithTheirFunctions) {
  EXPECT_THAT(AskTraces("SELECT arg(args, 'n') FROM slice WHERE id = 3").rows, SizeIs(1));
  EXPECT_THAT(AskTraces("SELECT ARG('{\"a\":7}', 'a')").rows, ElementsAre("7"));
}

TEST_F(QueryTracesTest, AreNotThereWithoutARun) {
  const Answer answer = Ask(SandboxCatalog::Shared().path(), kAlice, "SELECT * FROM slice");
  EXPECT_THAT(answer.status.ToString(), HasSubstr("no such table: slice"));
  EXPECT_THAT(answer.status.remedy(), HasSubstr("come with the run: --run RUN"));
  EXPECT_THAT(Ask(SandboxCatalog::Shared().path(), kAlice, "SELECT arg('{}', 'a')").status.ToString(),
              HasSubstr("arg"));
}

TEST_F(QueryTracesTest, AreNamedWhereSomethingIsMissing) {
  EXPECT_THAT(AskTraces("SELECT nmae FROM slice").status.ToString(),
              AllOf(HasSubstr("no such column: nmae"), HasSubstr("slice has run, id, track_id")));
  EXPECT_THAT(AskTraces("SELECT * FROM nope").status.ToString(), HasSubstr("audit, slice, instant, counter, flow"));
}

TEST_F(QueryTracesTest, AreOnlyRead) {
  for (const char* sql : {"DELETE FROM slice", "SELECT * FROM fact", "SELECT * FROM segment_column",
                          "SELECT trace_open('/etc/passwd')", "INSERT INTO slice(id) VALUES (1)"}) {
    EXPECT_FALSE(AskTraces(sql).status.ok()) << sql;
  }
}

TEST_F(QueryTracesTest, EndAtTheTimeLimitAlsoWithinATable) {
  QueryLimits limits;
  limits.timeout_ms = 100;
  const Answer answer = AskTraces(
      "SELECT count(*) FROM slice a, slice b, slice c WHERE a.name LIKE '%' || b.id || '%' || c.id || '%'", limits);
  EXPECT_EQ(answer.status.code(), ErrorCode::kTimedOut) << answer.Text();
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(AskTraces("SELECT count(*) FROM slice", {}, stop.get_token()).status.code(), ErrorCode::kCancelled);
}

TEST_F(QueryTracesTest, BringAnyNumberOfRowsTogetherInTheMemoryThereIs) {
  QueryLimits large;
  large.row_limit = 100'000;
  QueryLimits small = large;
  small.memory_bytes = 2 << 20;
  std::vector<TracePlace> many;
  for (int i = 0; i < 60; ++i) many.push_back({"r" + std::to_string(i), "a", trace_.path("a"), {}});
  for (const char* sql : {"SELECT name, count(*), sum(dur_ns), min(id), max(ts_ns) FROM slice GROUP BY name",
                          "SELECT track_id, count(*), sum(depth) FROM slice GROUP BY track_id",
                          "SELECT name, id FROM slice ORDER BY name DESC", "SELECT DISTINCT category FROM slice",
                          "SELECT run, count(category), sum(parent_id) FROM slice GROUP BY run"}) {
    const Answer all = AskPlaces(many, sql, large);
    EXPECT_TRUE(all.status.ok()) << all.Text();
    EXPECT_THAT(all.rows, Not(IsEmpty()));
    const Answer pieces = AskPlaces(many, sql, small);
    EXPECT_TRUE(pieces.status.ok()) << sql << ": " << pieces.Text();
    EXPECT_EQ(pieces.rows, all.rows) << sql;
  }
}

// Long ones differ behind what is looked at first, and the same text is in both parts.
TEST_F(QueryTracesTest, BringLongTextsTogetherInTheOrderOfTheirBytes) {
  const TemporaryFolder folder;
  std::vector<TracePlace> places;
  for (const int of : {0, 1}) {
    MadePart part(8);
    part.AddTrack({});
    for (int i = 0; i < 40; ++i) {
      const std::string name = std::string(static_cast<size_t>(i % 4) * 45'000, 'x') + std::to_string(i % (10 + of));
      part.Add(EventKind::kSlice, {.time_ns = i, .duration_ns = 1, .track = 0, .name = name});
    }
    places.push_back({"r1", std::to_string(of), folder / (std::to_string(of) + ".trace.db"), {}});
    part.Write(places.back().path);
  }
  const Answer grouped = AskPlaces(places, "SELECT length(name), substr(name, -2), count(*) FROM slice GROUP BY name");
  const Answer sorted =
      AskPlaces(places, "SELECT length(name), substr(name, -2), count(*) FROM slice GROUP BY name || ''");
  EXPECT_EQ(grouped.rows, sorted.rows) << grouped.Text();
  EXPECT_GT(grouped.rows.size(), 20u);
}

TEST_F(QueryTracesTest, TakeTheQuerysMemoryForFlowsBeforeTheyFindThem) {
  const TemporaryFolder folder;
  MadePart part(4096);
  part.AddTrack({});
  for (int i = 0; i < 60'000; ++i) {
    MadeEvent point{.time_ns = i, .track = 0, .name = "flow", .category = "ac2g"};
    point.flow = std::to_string(i / 2);
    point.phase = i % 2 == 0 ? 's' : 'f';
    part.Add(EventKind::kFlow, point);
  }
  const std::vector<TracePlace> places = {{"r1", "a", folder / "a.trace.db", {}}};
  part.Write(places[0].path);
  QueryLimits limits;
  EXPECT_THAT(AskPlaces(places, "SELECT count(*) FROM flow", limits).rows, ElementsAre("30000"));
  limits.memory_bytes = 1400 << 10;
  for (const char* sql : {"SELECT count(id) FROM flow", "SELECT count(slice) FROM flow_point"}) {
    const Answer answer = AskPlaces(places, sql, limits);
    EXPECT_EQ(answer.status.code(), ErrorCode::kUsage) << answer.Text();
    EXPECT_THAT(answer.status.ToString(), HasSubstr("bytes of memory"));
  }
}

// Also of a part that has no rank.
TEST_F(QueryTracesTest, SayWhichPartTracksAndSlicesAreOf) {
  EXPECT_THAT(AskTraces("SELECT r.part, count(*) FROM trace r JOIN track t ON t.run = r.run AND t.part = r.part "
                        "GROUP BY r.part")
                  .rows,
              ElementsAre("a|5", "b|5"));
  EXPECT_EQ(AskTraces("SELECT part, count(*) FROM slice GROUP BY part").rows,
            AskTraces("SELECT part, slices FROM trace ORDER BY part").rows);
  EXPECT_EQ(AskTraces("SELECT count(*) FROM slice WHERE part = 'b'").rows,
            AskTraces("SELECT slices FROM trace WHERE part = 'b'").rows);
}

TEST_F(QueryTracesTest, SayWhichPartIsBroken) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(trace_.path("b").c_str(), &db), SQLITE_OK);
  EXPECT_EQ(AskConnection(db, "UPDATE segment_column SET checksum = 1"), Lines{});
  sqlite3_close(db);
  const Answer answer = AskTraces("SELECT sum(dur_ns) FROM slice");
  EXPECT_EQ(answer.status.code(), ErrorCode::kStorageBroken);
  EXPECT_THAT(answer.status.ToString(), AllOf(HasSubstr("query: "), HasSubstr("b.trace.db"), HasSubstr("checksum")));
  EXPECT_TRUE(AskTraces("SELECT sum(dur_ns) FROM slice WHERE run = 'r1'").status.ok());
  EXPECT_EQ(AskPlaces({{"r1", "x", trace_.path("x"), {}}}, "SELECT 1").status.code(), ErrorCode::kNotFound);
}

// What one query decoded is there for the next, also when its part was closed.
TEST_F(QueryTracesTest, LeaveTheirColumnsForTheNextQuery) {
  EXPECT_THAT(AskTraces("SELECT sum(dur_ns) FROM slice").rows, SizeIs(1));
  const int64_t size = cache_.size_bytes();
  EXPECT_GT(size, 0);
  EXPECT_THAT(AskTraces("SELECT sum(dur_ns) FROM slice").rows, SizeIs(1));
  EXPECT_EQ(cache_.size_bytes(), size);
}

}  // namespace
}  // namespace kprof
