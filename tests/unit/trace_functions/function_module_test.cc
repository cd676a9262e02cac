#include "daemon/trace_functions/function_module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/trace_functions/function_connection.h"

namespace kprof {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class FunctionModule : public ::testing::Test {
 protected:
  RandomTrace trace_;
  FunctionConnection functions_{trace_.places()};
};

TEST_F(FunctionModule, SaysWhatIsWrongWithACall) {
  const struct {
    const char* sql;
    const char* why;
    const char* remedy;
  } kCases[] = {
      {"SELECT * FROM sum_by('nme')", "sum_by: there is no key \"nme\"", "keys are name, category, track"},
      {"SELECT * FROM sum_by('name', 'name')", "the key name is there twice", "once"},
      {"SELECT * FROM sum_by(7)", "a key is not a text", "single quotes"},
      {"SELECT * FROM sum_by('name', 'rank', 'run', 'device')", "more than 3 arguments", "docs/sql.md"},
      {"SELECT * FROM busy('name')", "busy: there is no key \"name\"", "keys are track, stream, device"},
      {"SELECT * FROM gaps('track', 0)", "most is no number", "from 1 to 10000"},
      {"SELECT * FROM histogram(-1)", "width_ns is no number", "from 0 to"},
      {"SELECT * FROM tiles(0)", "pixels is no number", "from 1 to 65536"},
      {"SELECT * FROM tiles() WHERE name = 'gemm_1'", "WHERE leaves some out", "columns of tracks"},
      {"SELECT * FROM tiles() WHERE dur_ns > 5", "WHERE leaves some out", "from_ns"},
      {"SELECT * FROM tiles() WHERE from_ns = 5 AND to_ns = 5", "from_ns is not before to_ns", "stretch of time"},
      {"SELECT category FROM tiles()", "category has no value", ""},
      {"SELECT * FROM overlap()", "overlap: it is not said of what", "overlap('nccl*')"},
      {"SELECT * FROM overlap('stream=7')", "what is not \"stream=7\" has no name", "say what the other"},
      {"SELECT * FROM overlap('stream=x', 'a')", "\"x\" is no stream", "number"},
      {"SELECT * FROM overlap('run=x', 'a')", "\"run=x\" tells no slices apart", "'category=...'"},
      {"SELECT * FROM sum_by('name') WHERE name = 7", "name is compared with what is no text", "single quotes"},
      {"SELECT * FROM sum_by('name') WHERE device = 'x'", "device is compared with what is no number",
       "without quotes"},
      {"SELECT category FROM sum_by('name')", "category has no value in its rows", "make it a key"},
      {"SELECT * FROM sum_by('name') WHERE upper(category) = 'KERNEL'", "category has no value", "=, IN, GLOB, LIKE"},
      {"SELECT * FROM sum_by('name') WHERE ts_ns IN (1, 2)", "ts_ns has no value", "BETWEEN"},
      {"SELECT by FROM sum_by('name')", "by is an argument", "brackets"},
      {"SELECT rowid FROM sum_by('name')", "not numbered", "UNION ALL"},
  };
  for (const auto& wrong : kCases) {
    EXPECT_THAT(functions_.FailureOf(wrong.sql), AllOf(HasSubstr(wrong.why), HasSubstr(wrong.remedy))) << wrong.sql;
  }
}

// Each half of an OR would be a call of its own: no answer is better than one that is twice something else.
TEST_F(FunctionModule, RefusesAnOrOfWhatItIsAbout) {
  EXPECT_THAT(functions_.FailureOf("SELECT name, count FROM sum_by('name') WHERE category = 'kernel' OR stream = 7"),
              Not(IsEmpty()));
  EXPECT_THAT(functions_.Ask("SELECT count(*) FROM sum_by('name') WHERE name = 'gemm_1' OR name = 'gemm_2'"),
              ElementsAre("2"));
}

TEST_F(FunctionModule, ShowsWhatACallIsHanded) {
  EXPECT_THAT(
      functions_.Plan("SELECT key, count FROM sum_by('name') WHERE category = 'kernel' AND ts_ns >= 5 AND ts_ns < 9"),
      ElementsAre("SCAN sum_by VIRTUAL TABLE INDEX 0:category= ts_ns>= ts_ns< by="));
  EXPECT_THAT(
      functions_.Plan("SELECT key, sum_ns, p99_ns FROM sum_by('name') WHERE name GLOB 'a*' AND stream IN (7, 9)"),
      ElementsAre("SCAN sum_by VIRTUAL TABLE INDEX 0:stream=any by= name>= name< name:glob +sum_ns +p99_ns"));
  EXPECT_THAT(functions_.Plan("SELECT * FROM busy"), ElementsAre("SCAN busy VIRTUAL TABLE INDEX 0:"));
}

TEST_F(FunctionModule, MakesOfDurationsOnlyWhatIsRead) {
  FunctionConnection fresh{trace_.places()};
  const auto asked = [&](const std::string& columns) {
    return fresh.Ask("SELECT " + columns + " FROM sum_by('name') ORDER BY key LIMIT 1");
  };
  EXPECT_THAT(asked("count, sum_ns, p50_ns"), SizeIs(1));
  EXPECT_THAT(asked("count(*) > 5"), ElementsAre("1"));
}

TEST_F(FunctionModule, IsJoinedWithTracks) {
  const std::string sums = "SELECT t.id, s.sum_ns FROM ";
  const Lines looked_up = Sorted(functions_.Ask(sums + "sum_by('track') s JOIN track t ON t.id = s.track_id"));
  EXPECT_THAT(looked_up, SizeIs(2 * kMadeTracks));
  EXPECT_EQ(Sorted(functions_.Ask(sums + "sum_by('track') s JOIN track t ON t.id = s.key")), looked_up);
  EXPECT_EQ(Sorted(functions_.Ask(sums + "track t JOIN sum_by() s ON s.track_id = t.id")), looked_up);
}

TEST_F(FunctionModule, AnswersOnceForTheSameCall) {
  int asked = 0;
  FunctionConnection counting(trace_.places(), {.must_end = [&] { return ++asked < 0; }});
  EXPECT_THAT(counting.Ask("SELECT count(*) FROM sum_by('name')"), SizeIs(1));
  const int once = asked;
  asked = 0;
  EXPECT_THAT(counting.Ask("SELECT count(*) FROM sum_by('name') a CROSS JOIN sum_by('name') b"), SizeIs(1));
  EXPECT_EQ(asked, 2 * once);
}

TEST_F(FunctionModule, EndsWithinACallWhenTheQueryMust) {
  for (const char* sql :
       {"SELECT count(*) FROM sum_by('name')", "SELECT p50_ns FROM sum_by('name')", "SELECT * FROM busy",
        "SELECT * FROM gaps('device')", "SELECT * FROM self_time('name')", "SELECT * FROM overlap('gemm*')",
        "SELECT * FROM histogram()", "SELECT count FROM sum_by() WHERE name GLOB 'g*'"}) {
    FunctionConnection ended(trace_.places(), {.must_end = [] { return true; }});
    EXPECT_EQ(ended.FailureOf(sql), "failed: interrupted") << sql;
    EXPECT_EQ(ended.set().status().code(), ErrorCode::kCancelled) << sql;
  }
}

TEST_F(FunctionModule, SaysWhichPartIsBroken) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(trace_.path("b").c_str(), &db), SQLITE_OK);
  EXPECT_EQ(AskConnection(db, "UPDATE segment_column SET checksum = 1"), Lines{});
  sqlite3_close(db);
  FunctionConnection broken(trace_.places());
  EXPECT_THAT(broken.FailureOf("SELECT sum_ns FROM sum_by('name')"), HasSubstr("b.trace.db"));
  EXPECT_EQ(broken.FailureOf("SELECT sum_ns FROM sum_by('name') WHERE run = 'run1'"), "");
}

}  // namespace
}  // namespace kprof
