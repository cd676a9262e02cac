#include "daemon/analysis/sql/table_functions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/fakes/trace/made_part.h"
#include "tests/unit/analysis/function_connection.h"

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
      {"SELECT * FROM instant_tiles(0)", "pixels is no number", "from 1 to 65536"},
      {"SELECT * FROM instant_tiles() WHERE name = 'a'", "all instants of a track, and WHERE leaves some out",
       "from_ns"},
      {"SELECT * FROM counter_tiles(0)", "pixels is no number", "from 1 to 65536"},
      {"SELECT * FROM counter_tiles() WHERE ts_ns > 5", "all samples of a track, and WHERE leaves some out", "from_ns"},
      {"SELECT * FROM correlated(7)", "correlated: one is no text", "single quotes"},
      {"SELECT * FROM correlated('stream=x', 'a')", "\"x\" is no stream", "number"},
      {"SELECT category FROM correlated()", "category has no value", ""},
      {"SELECT * FROM overlap()", "overlap: it is not said of what", "overlap('nccl*')"},
      {"SELECT * FROM overlap('stream=7')", "what is not \"stream=7\" has no name", "say what the other"},
      {"SELECT * FROM overlap('stream=x', 'a')", "\"x\" is no stream", "number"},
      {"SELECT * FROM overlap('run=x', 'a')", "\"run=x\" tells no slices apart", "'category=...'"},
      {"SELECT * FROM sum_by('name') WHERE name = 7", "name is compared with what is no text", "single quotes"},
      {"SELECT * FROM sum_by('name') WHERE device = 'x'", "device is compared with what is no number",
       "without quotes"},
      {"SELECT category FROM sum_by('name')", "category has no value in its rows", "make it a key"},
      {"SELECT * FROM sum_by('name') WHERE upper(category) = 'KERNEL'", "category has no value",
       "=, <>, IN, GLOB, LIKE"},
      {"SELECT * FROM sum_by('name') WHERE ts_ns IN (1, 2)", "ts_ns has no value", "BETWEEN"},
      {"SELECT * FROM sum_by('name') WHERE ts_ns <> 5", "ts_ns has no value", "BETWEEN"},
      {"SELECT * FROM sum_by('name') WHERE category <> 5", "category is compared with what is no text", "quotes"},
      {"SELECT * FROM sum_by('name') WHERE stream IS NOT 'a'", "stream is compared with what is no number", "quotes"},
      {"SELECT * FROM sum_by('name') WHERE category IS NOT NULL", "category has no value", "GLOB '*'"},
      {"SELECT * FROM sum_by('name') WHERE stream IS NOT NULL", "stream has no value", ">= 0"},
      {"SELECT * FROM sum_by('name') WHERE category NOT IN ('a', 'b')", "category has no value", "<> with each"},
      {"SELECT * FROM sum_by('name') WHERE category NOT LIKE 'k%'", "category has no value",
       "category IN (SELECT category FROM sum_by('category') WHERE category NOT LIKE '...')"},
      {"SELECT * FROM tiles() WHERE dur_ns IS NULL", "WHERE leaves some out", "columns of tracks"},
      {"SELECT by FROM sum_by('name')", "by is an argument", "write it within the brackets"},
      {"SELECT * FROM sum_by(name)", "by is an argument", "keys are texts: write 'name' in single quotes"},
      {"SELECT * FROM sum_by(\"name\")", "by is an argument", "keys are texts: write 'name' in single quotes"},
      {"SELECT * FROM busy(device)", "by is an argument", "in single quotes"},
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

TEST_F(FunctionModule, SumsOfNothingAreARowWhereNothingIsAKey) {
  for (const char* function : {"sum_by", "self_time"}) {
    const std::string from = std::string(" FROM ") + function;
    const std::string of_nothing = " WHERE name = 'there is none'";
    EXPECT_EQ(functions_.Ask("SELECT count, sum_ns" + from + "()" + of_nothing),
              AskConnection(trace_.plain(), "SELECT count(*), sum(dur_ns) FROM slice" + of_nothing));
    EXPECT_THAT(functions_.Ask("SELECT *" + from + "('category')" + of_nothing), IsEmpty());
    EXPECT_THAT(functions_.Ask("SELECT count" + from + "() WHERE run = 'there is none'"), ElementsAre("0"));
  }
}

// As the remedy has it.
TEST_F(FunctionModule, LeavesOutByAListOfWhatThereIs) {
  EXPECT_EQ(functions_.Ask("SELECT count FROM sum_by() WHERE category IN (SELECT category FROM sum_by('category') "
                           "WHERE category NOT LIKE 'k%')"),
            AskConnection(trace_.plain(), "SELECT count(*) FROM slice WHERE category NOT LIKE 'k%'"));
}

TEST_F(FunctionModule, DoesNotCountAnnotationsWhereACategoryIsLeftOut) {
  TemporaryFolder folder;
  MadePart part;
  part.AddTrack({.kind = "gpu_stream"});
  part.Add(EventKind::kSlice, {.time_ns = 0, .duration_ns = 100, .name = "step", .category = "gpu_user_annotation"});
  part.Add(EventKind::kSlice, {.time_ns = 10, .duration_ns = 5, .name = "k", .category = "kernel"});
  part.Add(EventKind::kSlice, {.time_ns = 20, .duration_ns = 3, .name = "copy", .category = "gpu_memcpy"});
  part.Write(folder / "a.trace.db");
  FunctionConnection functions({{"r", "a", folder / "a.trace.db", {}}});
  const auto busy = [&](const std::string& where) {
    return functions.Ask("SELECT busy_ns FROM busy() WHERE " + where);
  };
  EXPECT_THAT(busy("category <> 'gpu_memcpy'"), ElementsAre("5"));
  EXPECT_THAT(busy("category IS NOT 'none'"), ElementsAre("8"));
  EXPECT_THAT(busy("category <> 'kernel' AND category GLOB 'gpu*'"), ElementsAre("100"));
}

TEST_F(FunctionModule, ShowsWhatACallIsHanded) {
  EXPECT_THAT(
      functions_.Plan("SELECT key, count FROM sum_by('name') WHERE category = 'kernel' AND ts_ns >= 5 AND ts_ns < 9"),
      ElementsAre("SCAN sum_by VIRTUAL TABLE INDEX 0:category= ts_ns>= ts_ns< by="));
  EXPECT_THAT(
      functions_.Plan("SELECT key, sum_ns, p99_ns FROM sum_by('name') WHERE name GLOB 'a*' AND stream IN (7, 9)"),
      ElementsAre("SCAN sum_by VIRTUAL TABLE INDEX 0:stream=any by= name>= name< name:glob +sum_ns +p99_ns"));
  EXPECT_THAT(functions_.Plan("SELECT key, count FROM sum_by('name') WHERE category <> 'a' AND stream IS NULL AND "
                              "rank IS NOT 3"),
              ElementsAre("SCAN sum_by VIRTUAL TABLE INDEX 0:stream:null by= rank:isnot category<>"));
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
        "SELECT * FROM histogram()", "SELECT * FROM correlated()", "SELECT count FROM sum_by() WHERE name GLOB 'g*'"}) {
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

// Of a launch with many kernels, more than a window has: they come twice, and one after the other.
TEST_F(FunctionModule, GoesThroughRowsThatComeInWindows) {
  TemporaryFolder folder;
  MadePart part(500);
  for (const char* kind : {"cpu_thread", "gpu_stream"}) {
    TrackRow track;
    track.kind = kind;
    part.AddTrack(track);
  }
  constexpr int64_t kKernels = 20'000;
  for (int64_t i = 0; i < 3; ++i) part.Add(EventKind::kSlice, {.time_ns = i, .name = "launch", .correlation = i});
  for (int64_t i = 0; i < kKernels; ++i) {
    part.Add(EventKind::kSlice, {.time_ns = 10 + i, .duration_ns = 1, .track = 1, .name = "k", .correlation = i % 2});
  }
  part.Write(folder / "a.trace.db");
  int64_t taken = 0;
  int64_t most = 0;
  {
    FunctionConnection many({{"r", "a", folder / "a.trace.db", {}}, {"s", "a", folder / "a.trace.db", {}}},
                            {.take_memory = [&](int64_t bytes) {
                              most = std::max(most, taken += bytes);
                              return OkStatus();
                            }});
    EXPECT_THAT(many.Ask("SELECT count(*), count(DISTINCT to_slice), count(DISTINCT from_slice), sum(delay_ns) / 2, "
                         "count(DISTINCT correlation) FROM correlated()"),
                ElementsAre("40000|40000|4|200180000|4"));
    EXPECT_THAT(many.Ask("WITH n(i) AS (VALUES (1), (2)) SELECT count(*) FROM n CROSS JOIN correlated()"),
                ElementsAre("80000"));
    EXPECT_THAT(many.Ask("SELECT count(*) FROM correlated() LIMIT 1"), ElementsAre("40000"));
    EXPECT_THAT(many.Ask("SELECT from_ts_ns FROM correlated() LIMIT 1"), SizeIs(1));
  }
  EXPECT_EQ(taken, 0);
  EXPECT_GT(most, 1 << 20);
  EXPECT_LT(most, 4 << 20);
}

TEST_F(FunctionModule, DrawsInstantsAsTheyAre) {
  TemporaryFolder folder;
  MadePart part(100);
  for (const char* name : {"main", "worker"}) {
    TrackRow track;
    track.kind = "cpu_thread";
    track.name = name;
    part.AddTrack(track);
  }
  for (int64_t i = 0; i < 1'000; ++i) {
    part.Add(EventKind::kInstant, {.time_ns = 10 * i, .track = i % 2, .name = i % 2 == 0 ? "sample" : "mark"});
  }
  part.Write(folder / "a.trace.db");
  FunctionConnection drawn({{"r", "a", folder / "a.trace.db", 3}});
  EXPECT_EQ(drawn.Ask("SELECT run, part, rank, track_id, track_name, name, sum(count), min(begin_ns), max(end_ns) "
                      "FROM instant_tiles(20) GROUP BY track_id, name"),
            drawn.Ask("SELECT t.run, t.part, t.rank, t.id, t.name, i.name, count(*), min(ts_ns), max(ts_ns) "
                      "FROM instant i JOIN track t ON t.id = i.track_id GROUP BY t.id, i.name"));
  EXPECT_THAT(drawn.Ask("SELECT count(*) FROM instant_tiles(20)"), ElementsAre("40"));
  EXPECT_THAT(drawn.Ask("SELECT begin_ns, end_ns, count, instant_id IS NULL, level FROM instant_tiles(2) "
                        "WHERE track_name = 'worker' AND from_ns = 105 AND to_ns = 185 ORDER BY begin_ns"),
              ElementsAre("110|130|2|1|0", "150|170|2|1|0"));
  EXPECT_EQ(drawn
                .Ask("SELECT b.begin_ns, b.name FROM instant_tiles(1000) b JOIN instant i ON i.id = b.instant_id "
                     "WHERE b.from_ns = 105 AND b.to_ns = 185 AND i.ts_ns = b.begin_ns AND i.name = b.name")
                .size(),
            8u);
}

TEST_F(FunctionModule, DrawsCountersAsTheirSamplesAre) {
  TemporaryFolder folder;
  MadePart part(100);
  for (const char* name : {"power", "memory"}) {
    TrackRow track;
    track.kind = "counter";
    track.name = name;
    part.AddTrack(track);
  }
  for (int64_t i = 0; i < 1'000; ++i) {
    part.Add(EventKind::kCounter, {.time_ns = 10 * i, .track = i % 2, .value = static_cast<double>(i * 7 % 100)});
  }
  part.Write(folder / "a.trace.db");
  FunctionConnection drawn({{"r", "a", folder / "a.trace.db", 3}});
  EXPECT_EQ(drawn.Ask("SELECT run, part, rank, track_id, track_name, sum(count), min(least), max(most), "
                      "round(sum(mean * count), 3) FROM counter_tiles(20) GROUP BY track_id"),
            drawn.Ask("SELECT t.run, t.part, t.rank, t.id, t.name, count(*), min(value), max(value), "
                      "round(sum(value), 3) FROM counter c JOIN track t ON t.id = c.track_id GROUP BY t.id"));
  EXPECT_THAT(drawn.Ask("SELECT count(*) FROM counter_tiles(20)"), ElementsAre("40"));
  EXPECT_THAT(drawn.FailureOf("SELECT name FROM counter_tiles()"), HasSubstr("name has no value"));
  // What it was at the begin of a stretch comes first; each pixel has the last of its samples.
  EXPECT_THAT(drawn.Ask("SELECT begin_ns, end_ns, count, least, most, value FROM counter_tiles(2) "
                        "WHERE track_name = 'power' AND from_ns = 105 AND to_ns = 185 ORDER BY begin_ns"),
              ElementsAre("105|105|0|NULL|NULL|70.0", "120|140|2|84.0|98.0|98.0", "160|180|2|12.0|26.0|26.0"));
}

}  // namespace
}  // namespace kprof
