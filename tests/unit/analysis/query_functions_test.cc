#include "daemon/analysis/sql/attach/query_functions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stop_token>

#include "daemon/analysis/sql/table_functions.h"
#include "daemon/analysis/sql/trace_function.h"
#include "storage/trace_sql/attach/query_traces.h"
#include "tests/unit/trace_sql/made_job.h"
#include "tests/unit/trace_sql/random_trace.h"
#include "tests/unit/trace_sql/worked_questions.h"

namespace kprof {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class QueryFunctionsTest : public ::testing::Test {
 protected:
  Answer Ask(const std::string& sql, const QueryLimits& limits = {}, std::stop_token stop = {}) {
    Answer answer;
    auto query = UserQuery::Open(SandboxCatalog::Shared().path(), kAlice, sql, limits, std::move(stop),
                                 std::make_unique<QueryTraces>(places_, pool_, &functions_));
    answer.status = query.status();
    if (!query.ok()) return answer;
    while (true) {
      auto batch = (*query)->NextBatch();
      answer.status = batch.status();
      if (!batch.ok() || !batch->has_value()) return answer;
      for (int64_t row = 0; row < (*batch)->rows; ++row) {
        answer.rows.push_back(ValueText((*batch)->columns[0][static_cast<size_t>(row)]));
      }
    }
  }

  ColumnCache columns_{64 << 20};
  PartPool pool_{columns_};
  QueryFunctions functions_;
  RandomTrace trace_;
  std::vector<TracePlace> places_ = trace_.places();
};

TEST_F(QueryFunctionsTest, AreThereForAQuery) {
  EXPECT_THAT(Ask("SELECT count(*) FROM sum_by('track')").rows, ElementsAre("10"));
  EXPECT_THAT(Ask("SELECT count FROM SUM_BY() WHERE name = 'none'").rows, ElementsAre("0"));
}

TEST_F(QueryFunctionsTest, SayWhatIsWrong) {
  EXPECT_THAT(Ask("SELECT * FROM sum_by('nme')").status.ToString(),
              AllOf(HasSubstr("query: sum_by: there is no key \"nme\""), HasSubstr("keys are name, category")));
  EXPECT_THAT(Ask("SELECT * FROM overlap('catgory=kernel')").status.ToString(),
              AllOf(HasSubstr("says something of catgory"), HasSubstr("'name=catgory=kernel'")));
  EXPECT_THAT(Ask("SELECT count(*) FROM overlap('name=catgory=kernel')").status.ToString(), "ok");
  EXPECT_THAT(Ask("SELECT count(*) FROM overlap('void k<N=4>*')").status.ToString(), "ok");
  EXPECT_THAT(Ask("SELECT nme FROM sum_by('name')").status.ToString(), HasSubstr("sum_by has key, key2"));
  EXPECT_THAT(Ask("SELECT * FROM sumby('name')").status.ToString(), HasSubstr("no such table: sumby"));
}

TEST_F(QueryFunctionsTest, NameTheTablesOfAnalysesWhereOneIsMeant) {
  const std::string some = Ask("SELECT * FROM slices").status.ToString();
  EXPECT_THAT(some, AllOf(HasSubstr("correlated, analyze_<...>"), Not(HasSubstr("analyze_temporal_breakdown"))));
  EXPECT_THAT(Ask("SELECT * FROM Analyze_Kernel").status.ToString(),
              AllOf(HasSubstr("no such table: Analyze_Kernel; there are analyze_kernel_breakdown, "),
                    Not(HasSubstr("temporal")), HasSubstr(" (see docs/sql.md)")));
  EXPECT_THAT(Ask("SELECT * FROM analyze_xyz").status.ToString(), HasSubstr("the tables are "));
  EXPECT_THAT(Ask("SELECT sum FROM analyze_temporal_breakdown").status.ToString(),
              HasSubstr("analyze_temporal_breakdown has run, rank, device"));
}

TEST_F(QueryFunctionsTest, AreThereHoweverTheyAreWritten) {
  for (const char* name : {"\"sum_by\"", "[Sum_By]", "`sum_by`", "main.sum_by", "'sum_by'", "/*x*/sum_by/*x*/"}) {
    EXPECT_THAT(Ask(std::string("SELECT count FROM ") + name + " WHERE name = 'none'").rows, ElementsAre("0")) << name;
  }
  EXPECT_THAT(
      Ask("SELECT count(*) FROM (SELECT 1 FROM SLICE) s, (SELECT 1 FROM \"Trace\" LIMIT 1) t").status.ToString(), "ok");
}

TEST_F(QueryFunctionsTest, AnArgumentThatIsNullIsNotGiven) {
  const std::string both = "SELECT group_concat(key || '/' || one_ns || '/' || other_ns || '/' || both_ns) FROM ";
  EXPECT_EQ(Ask(both + "overlap('nccl*', NULL, 'stream')").rows,
            Ask(both + "overlap('nccl*') WHERE by = 'stream'").rows);
  EXPECT_THAT(Ask("SELECT * FROM overlap(NULL)").status.ToString(), HasSubstr("it is not said of what"));
}

TEST_F(QueryFunctionsTest, EndAtTheTimeLimitAndWhenCancelled) {
  QueryLimits limits;
  limits.timeout_ms = 50;
  const std::string endless =
      "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n) "
      "SELECT count(*) FROM n JOIN busy('track') b ON b.from_ns = n.i AND b.to_ns = 100000";
  EXPECT_EQ(Ask(endless, limits).status.code(), ErrorCode::kTimedOut);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(Ask("SELECT * FROM sum_by('name')", {}, stop.get_token()).status.code(), ErrorCode::kCancelled);
}

TEST_F(QueryFunctionsTest, TakeOfTheQuerysMemoryWhatTheyHold) {
  places_.clear();
  for (int i = 0; i < 60; ++i) places_.push_back({"r" + std::to_string(i), "a", trace_.path("a"), {}});
  QueryLimits limits;
  limits.memory_bytes = 1 << 20;
  EXPECT_TRUE(Ask("SELECT count(*) FROM sum_by('name')", limits).status.ok());
  const std::string many = "SELECT count(*) FROM sum_by('track', 'name', 'category')";
  const Status status = Ask(many, limits).status;
  EXPECT_EQ(status.code(), ErrorCode::kUsage);
  EXPECT_THAT(status.ToString(), HasSubstr("memory"));
  EXPECT_TRUE(Ask(many).status.ok());
}

// The keys of groups are texts, which may be long.
TEST(FunctionMemory, IsAskedForBeforeItIsTaken) {
  const TemporaryFolder folder;
  MadePart part(64);
  part.AddTrack({});
  for (int i = 0; i < 200; ++i) {
    const std::string name = std::to_string(i) + std::string(20'000, 'x');
    part.Add(EventKind::kSlice, {.time_ns = 2 * i, .duration_ns = 1, .track = 0, .name = name});
  }
  part.Write(folder / "a.trace.db");
  int64_t taken = 0;
  int64_t limit = 1 << 20;
  const TakeMemory take = [&](int64_t bytes) {
    if (taken + bytes > limit) return Fail(ErrorCode::kUsage, "hold an answer", "it is too much");
    taken += bytes;
    return OkStatus();
  };
  ColumnCache columns(64 << 20);
  PartPool pool(columns);
  TraceSet set(pool, {.take_memory = take});
  ASSERT_TRUE(set.Add({"r1", "a", folder / "a.trace.db", {}}).ok());
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(":memory:", &db), SQLITE_OK);
  EXPECT_TRUE(RegisterTraceFunctions(db, set).ok());
  for (const char* sql : {"SELECT count(*) FROM sum_by('name')", "SELECT count(*) FROM self_time('name')"}) {
    limit = 1 << 20;
    EXPECT_THAT(AskConnection(db, sql), ElementsAre(HasSubstr("hold an answer: it is too much"))) << sql;
    EXPECT_EQ(taken, 0) << sql;
    limit = 64 << 20;
    EXPECT_THAT(AskConnection(db, sql), ElementsAre("200")) << sql;
  }
  sqlite3_close(db);
}

// A warm query opens nothing: what one left is there for the next.
TEST_F(QueryFunctionsTest, FindPartsOpen) {
  EXPECT_TRUE(Ask("SELECT sum_ns FROM sum_by()").status.ok());
  EXPECT_EQ(pool_.idle(), 2u);
  const int64_t size = columns_.size_bytes();
  EXPECT_GT(size, 0);
  EXPECT_TRUE(Ask("SELECT sum_ns FROM sum_by()").status.ok());
  EXPECT_EQ(pool_.idle(), 2u);
  EXPECT_EQ(columns_.size_bytes(), size);
}

TEST(FunctionQuestions, AreAnsweredAsTheDocumentationSays) {
  const TemporaryFolder folder;
  const std::vector<TracePlace> places = WriteJob(folder);
  ColumnCache columns(1 << 20);
  PartPool pool(columns);
  const QueryFunctions functions;
  EXPECT_GE(ExpectWorkedQuestions("tests/sql/trace_functions",
                                  [&] { return std::make_unique<QueryTraces>(places, pool, &functions); }),
            10);
}

TEST(FunctionQuestions, AreAboutFunctionsThatTheDocumentationDescribes) {
  const std::string whole = ReadFile(Repository() / "docs/sql.md");
  const std::string documentation = whole.substr(whole.find("## Functions of traces"));
  for (const TraceFunction& function : TraceFunctions()) {
    if (std::string_view(function.name).starts_with("analyze_")) continue;  // docs/analyses has a page for each kind
    const size_t begin = documentation.find(std::string("### ") + function.name + "(");
    ASSERT_NE(begin, std::string::npos) << function.name;
    const std::string section = documentation.substr(begin, documentation.find("\n##", begin + 4) - begin);
    for (const FunctionColumn& column : function.columns) {
      if (column.is_hidden) continue;
      EXPECT_THAT(section, HasSubstr("| `" + std::string(column.name) + "` |")) << function.name;
    }
  }
}

}  // namespace
}  // namespace kprof
