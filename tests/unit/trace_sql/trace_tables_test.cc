#include "storage/trace_sql/trace_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/trace_sql/random_trace.h"

namespace kprof {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// What may be asked, with every way in which a condition is handed inside.
constexpr const char* kQuestions[] = {
    "SELECT * FROM slice WHERE ts_ns >= 500 AND ts_ns < 900",
    "SELECT * FROM slice WHERE ts_ns BETWEEN 500 AND 4000 AND track_id = 2",
    "SELECT * FROM slice WHERE ts_ns > 500.5 AND ts_ns <= 700.0",
    "SELECT * FROM slice WHERE ts_ns < '600'",
    "SELECT * FROM slice WHERE ts_ns = 600 OR ts_ns = 601",
    "SELECT * FROM slice WHERE ts_ns > 1e300",
    "SELECT * FROM slice WHERE ts_ns < 1e300 AND ts_ns > -1e300 AND id < 20",
    "SELECT * FROM slice WHERE ts_ns < x'00' AND id < 20",
    "SELECT * FROM slice WHERE ts_ns = NULL",
    "SELECT * FROM slice WHERE dur_ns IS NULL",
    "SELECT * FROM slice WHERE dur_ns > 2000",
    "SELECT * FROM slice WHERE dur_ns >= 0 AND dur_ns < 3",
    "SELECT * FROM slice WHERE dur_ns IN (1, 2, NULL, 2.0)",
    "SELECT * FROM slice WHERE dur_ns IN (1, '2')",
    "SELECT * FROM slice WHERE name = 'gemm_3'",
    "SELECT * FROM slice WHERE name = 'GEMM_3' COLLATE NOCASE",
    "SELECT * FROM slice WHERE name IN ('gemm_3', 'Copy_1', 'nope', 7)",
    "SELECT * FROM slice WHERE name LIKE 'GEMM%' AND category = 'kernel'",
    "SELECT * FROM slice WHERE name LIKE '%\\_3' ESCAPE '\\'",
    "SELECT * FROM slice WHERE name GLOB 'gemm_[12]'",
    "SELECT * FROM slice WHERE name NOT LIKE 'gemm%'",
    "SELECT * FROM slice WHERE name > 'gemm_4'",
    "SELECT * FROM slice WHERE name = 5",
    "SELECT * FROM slice WHERE name = x'67'",
    "SELECT * FROM slice WHERE category = ''",
    "SELECT * FROM slice WHERE category IS NULL",
    "SELECT * FROM slice WHERE category <> 'kernel'",
    "SELECT * FROM slice WHERE category IN ('kernel', 'cpu_op') AND depth = 1",
    "SELECT * FROM slice WHERE depth > 1",
    "SELECT * FROM slice WHERE depth = 0.5",
    "SELECT * FROM slice WHERE correlation = 7",
    "SELECT * FROM slice WHERE correlation IN (7, 8, 9)",
    "SELECT * FROM slice WHERE correlation > 100 AND correlation < 110",
    "SELECT * FROM slice WHERE correlation IS NULL AND name = 'gemm_1'",
    "SELECT * FROM slice WHERE correlation = 281474976710663",
    "SELECT * FROM slice WHERE correlation IN (7, 281474976710663, 281474976710664, 562949953421312, -5)",
    "SELECT * FROM slice WHERE correlation >= 281474976710700",
    "SELECT * FROM slice WHERE correlation > 100 AND correlation < 281474976710666",
    "SELECT * FROM slice WHERE correlation < 0",
    "SELECT * FROM slice WHERE correlation <= 281474976710655 AND correlation > 115",
    "SELECT * FROM slice WHERE id = 5",
    "SELECT * FROM slice WHERE id = 1099511627780",
    "SELECT * FROM slice WHERE id IN (3, 4, 1099511627776, 99999999, -4)",
    "SELECT * FROM slice WHERE id BETWEEN 120 AND 160",
    "SELECT * FROM slice WHERE id > 1099511627776 AND name = 'gemm_1'",
    "SELECT * FROM slice WHERE id > -5 AND id < 3",
    "SELECT * FROM slice WHERE id = '5'",
    "SELECT * FROM slice WHERE run = 'run2' AND track_id IN (1, 1099511627777)",
    "SELECT * FROM slice WHERE run IN ('run1', 'nope') AND ts_ns > 15000",
    "SELECT * FROM slice WHERE run LIKE '%2' AND ts_ns > 15000",
    "SELECT * FROM slice WHERE run = 'RUN2'",
    "SELECT * FROM slice WHERE track_id > 3",
    "SELECT * FROM slice WHERE parent_id = 40",
    "SELECT * FROM slice WHERE parent_id IN (SELECT id FROM slice WHERE dur_ns > 2500)",
    "SELECT * FROM slice WHERE parent_id IS NULL",
    "SELECT * FROM slice WHERE parent_id > 600 AND parent_id < 1099511627880",
    "SELECT id FROM slice WHERE arg(args, 'n') = 33",
    "SELECT run, arg(args, 'n'), arg(args, 'decimal'), arg(beside, 'tts'), arg(args, 'text \"q\"') FROM slice",
    "SELECT c.id, p.id FROM slice c JOIN slice p ON p.id = c.parent_id",
    "SELECT c.id, p.id FROM slice p JOIN slice c ON c.parent_id = p.id WHERE p.name = 'gemm_2'",
    "SELECT a.id, b.id FROM slice a JOIN slice b ON b.run = a.run AND b.correlation = a.correlation AND b.id <> a.id",
    "SELECT a.id, b.id FROM slice a JOIN slice b USING (correlation) WHERE a.depth = 0 AND b.depth = 1",
    ("SELECT a.id, b.id FROM slice a JOIN slice b ON b.correlation = a.correlation AND b.id > 300 AND b.ts_ns > 5000 "
     "AND "
     "b.category = 'kernel' AND b.track_id IN (1, 2)"),
    "SELECT a.id, (SELECT group_concat(b.id) FROM slice b WHERE b.correlation IN (a.correlation, 3, 9)) FROM slice a",
    "SELECT s.id, t.name FROM slice s JOIN track t ON t.id = s.track_id WHERE t.kind = 'gpu_stream'",
    "SELECT s.id, t.name FROM track t LEFT JOIN slice s ON s.track_id = t.id AND s.dur_ns > 2900",
    ("SELECT a.id, b.id FROM slice a JOIN slice b ON b.track_id = a.track_id AND b.ts_ns > a.ts_ns AND "
     "b.ts_ns < a.ts_ns + a.dur_ns WHERE a.dur_ns > 2800"),
    "SELECT name, sum(dur_ns), count(*) FROM slice GROUP BY name",
    "SELECT category, count(*), max(ts_ns) FROM slice WHERE ts_ns < 9000 GROUP BY category",
    "SELECT run, count(*) FROM slice GROUP BY run",
    "SELECT track_id, count(*), min(id) FROM slice GROUP BY track_id",
    "SELECT name, category, count(*) FROM slice GROUP BY name, category",
    "SELECT DISTINCT name FROM slice WHERE depth > 0",
    "SELECT DISTINCT category FROM slice",
    "SELECT DISTINCT track_id FROM slice WHERE name = 'gemm_1'",
    "SELECT count(DISTINCT name) FROM slice",
    "SELECT DISTINCT name FROM slice WHERE ts_ns + dur_ns > 6000",
    "SELECT DISTINCT name FROM slice WHERE dur_ns + 0 > 2500",
    "SELECT DISTINCT name FROM slice WHERE depth > 1 OR dur_ns > 2900",
    "SELECT DISTINCT name FROM slice WHERE name <> 'gemm_1' AND category IS NULL",
    "SELECT DISTINCT name FROM slice WHERE name NOT LIKE '%_3'",
    "SELECT DISTINCT track_id FROM slice WHERE name IS 'gemm_1'",
    "SELECT DISTINCT track_id FROM slice WHERE category NOT IN ('', 'cpu_op')",
    "SELECT DISTINCT category FROM slice WHERE arg(args, 'n') > 40",
    "SELECT DISTINCT name FROM slice s WHERE EXISTS (SELECT 1 FROM slice c WHERE c.parent_id = s.id)",
    "SELECT DISTINCT s.name FROM slice s JOIN track t ON t.id = s.track_id WHERE t.kind = 'gpu_stream'",
    "SELECT DISTINCT run FROM slice WHERE dur_ns % 7 = 3",
    "SELECT name, count(*) FROM slice WHERE parent_id = 40 GROUP BY name",
    "SELECT category, count(*), sum(dur_ns) FROM slice WHERE parent_id > 0 GROUP BY category",
    "SELECT track_id, count(*) FROM slice WHERE parent_id IN (SELECT id FROM slice WHERE depth = 0) GROUP BY track_id",
    "SELECT DISTINCT name FROM slice WHERE parent_id > 0",
    "SELECT name FROM slice WHERE parent_id IN (4, 40, 77) GROUP BY name",
    "SELECT name, count(*) FROM slice GROUP BY name COLLATE NOCASE",
    "SELECT id FROM slice WHERE name = 'Copy_5' UNION SELECT id FROM slice WHERE depth = 2",
    "SELECT count(*), sum(dur_ns), min(ts_ns), max(ts_ns) FROM slice",
    "SELECT * FROM instant",
    "SELECT * FROM instant WHERE name = 'gemm_1' AND ts_ns > 5000",
    "SELECT * FROM instant WHERE id = 3 OR name = 'Copy_2'",
    "SELECT * FROM metadata",
    "SELECT * FROM metadata WHERE name = 'gemm_1' AND ts_ns > 5000",
    "SELECT * FROM metadata WHERE id = 3 OR name = 'Copy_2'",
    "SELECT * FROM metadata WHERE phase = 'M' AND track_id IN (1, 1099511627777)",
    "SELECT phase, arg(args, 'n'), arg(beside, 'bp') FROM metadata WHERE run = 'run2' AND category = 'ac2g'",
    "SELECT phase, count(*) FROM metadata GROUP BY phase",
    "SELECT name, count(*), min(phase) FROM metadata GROUP BY name",
    "SELECT m.id, t.rank FROM metadata m JOIN track t ON t.id = m.track_id WHERE t.rank = 0",
    "SELECT * FROM flow_point",
    "SELECT * FROM flow_point WHERE name LIKE 'GEMM%' AND ts_ns BETWEEN 5000 AND 9000",
    "SELECT * FROM flow_point WHERE id IN (3, 4, 1099511627779) OR flow_id = '7'",
    "SELECT * FROM flow_point WHERE run = 'run1' AND track_id > 2 AND category IS NULL",
    "SELECT phase, count(*), count(slice) FROM flow_point GROUP BY phase",
    "SELECT p.id, s.name, arg(p.args, 'n') FROM flow_point p JOIN slice s ON s.id = p.slice",
    "SELECT category, count(*) FROM flow_point GROUP BY category",
    "SELECT DISTINCT track_id FROM flow_point WHERE phase = 'f'",
    "SELECT p.id, t.rank FROM flow_point p JOIN track t ON t.id = p.track_id WHERE t.rank IS NULL",
    "SELECT * FROM counter WHERE ts_ns < 4000 AND track_id = 1",
    "SELECT track_id, avg(value), count(*) FROM counter GROUP BY track_id",
    "SELECT * FROM counter WHERE value > 60",
    "SELECT * FROM track",
    "SELECT * FROM track WHERE kind = 'gpu_stream' AND device = 0",
    "SELECT * FROM track WHERE id IN (1, 1099511627777, 50)",
    "SELECT * FROM track WHERE rank IS NULL",
    "SELECT * FROM track WHERE rank = 0 AND name GLOB 'track [12]'",
    "SELECT * FROM track WHERE pid = 102",
    "SELECT * FROM track WHERE stream > 7",
};

TEST(TraceModule, AnswersAsPlainTablesWould) {
  for (uint64_t seed : {1, 12}) {
    RandomTrace trace(seed);
    TraceConnection tables(trace.places());
    for (const char* sql : kQuestions) {
      EXPECT_EQ(Sorted(tables.Ask(sql)), Sorted(AskConnection(trace.plain(), sql))) << sql;
    }
  }
}

TEST(TraceModule, CorrelationsOfDifferentPartsNeverAreTheSame) {
  RandomTrace trace;
  TraceConnection tables(trace.places());
  EXPECT_THAT(tables.Ask("SELECT count(*) FROM slice a JOIN slice b USING (correlation) WHERE a.id >> 40 <> b.id >> 40 "
                         "AND a.correlation BETWEEN 0 AND 281474976710655"),
              ElementsAre("0"));
  EXPECT_THAT(tables.Ask("SELECT count(*) > 20 FROM slice a JOIN slice b ON a.correlation & 281474976710655 = "
                         "b.correlation WHERE a.id >> 40 = 1 AND b.id >> 40 = 0"),
              ElementsAre("1"));
  EXPECT_THAT(
      tables.Ask("SELECT count(*) FROM slice WHERE correlation >= 0 AND id >> 40 = 1 AND arg(args, 'correlation') "
                 "< 281474976710656 AND correlation - arg(args, 'correlation') <> 281474976710656"),
      ElementsAre("0"));
}

TEST(TraceModule, GivesRowsInTheOrderOfTheirIds) {
  RandomTrace trace;
  TraceConnection tables(trace.places());
  for (const char* sql : {"SELECT id FROM slice ORDER BY id",
                          "SELECT id FROM slice WHERE name = 'gemm_1' ORDER BY id",
                          "SELECT id FROM slice WHERE correlation IN (1, 2, 3, 4) ORDER BY id",
                          "SELECT id FROM slice ORDER BY id DESC LIMIT 5",
                          "SELECT id FROM track ORDER BY id",
                          "SELECT name, count(*) FROM slice GROUP BY name ORDER BY name",
                          "SELECT name, count(*) FROM slice GROUP BY name ORDER BY name DESC",
                          "SELECT category, count(*) FROM slice GROUP BY category ORDER BY category",
                          "SELECT category FROM instant ORDER BY category DESC",
                          "SELECT DISTINCT name FROM slice ORDER BY name DESC",
                          "SELECT DISTINCT category FROM slice ORDER BY 1",
                          "SELECT id, count(*) FROM slice GROUP BY id ORDER BY id DESC",
                          "SELECT track_id, count(*) FROM counter GROUP BY track_id ORDER BY track_id DESC",
                          "SELECT run, count(*) FROM slice GROUP BY run ORDER BY run DESC",
                          "SELECT name, id FROM slice ORDER BY name, id",
                          "SELECT ts_ns, id FROM slice ORDER BY ts_ns, id",
                          "SELECT DISTINCT id FROM instant ORDER BY id",
                          "SELECT id FROM metadata ORDER BY id",
                          "SELECT name FROM flow_point WHERE ts_ns > 900 ORDER BY name DESC",
                          "SELECT id FROM flow_point ORDER BY id"}) {
    EXPECT_EQ(tables.Ask(sql), AskConnection(trace.plain(), sql)) << sql;
  }
}

// By the words of docs/trace_format.md, from all rows.
TEST(TraceModule, ParentsAreTheLastBeforeThemOneLevelUp) {
  RandomTrace trace(5);
  const char* by_definition =
      "SELECT id, (SELECT p.id FROM slice p WHERE p.track_id = c.track_id AND p.depth = c.depth - 1 AND "
      "(p.ts_ns < c.ts_ns OR p.ts_ns = c.ts_ns AND coalesce(p.dur_ns, -1) > coalesce(c.dur_ns, -1)) "
      "ORDER BY p.ts_ns DESC, coalesce(p.dur_ns, -1) LIMIT 1) FROM slice c";
  EXPECT_EQ(Sorted(AskConnection(trace.plain(), "SELECT id, parent_id FROM slice")),
            Sorted(AskConnection(trace.plain(), by_definition)));
  EXPECT_THAT(AskConnection(trace.plain(), "SELECT 1 FROM slice WHERE parent_id IS NOT NULL LIMIT 1"), SizeIs(1));
}

TEST(TraceModule, ShowsInThePlanWhatIsHandedInside) {
  RandomTrace trace;
  TraceConnection tables(trace.places());
  EXPECT_THAT(tables.Plan("SELECT name FROM slice WHERE ts_ns >= 5 AND ts_ns < 9 AND name GLOB 'a*'"),
              ElementsAre("SCAN slice VIRTUAL TABLE INDEX 0:ts_ns>= ts_ns< name:glob"));
  EXPECT_THAT(tables.Plan("SELECT name FROM slice WHERE run = 'a' AND track_id IN (1, 2)"),
              ElementsAre("SCAN slice VIRTUAL TABLE INDEX 0:run= track_id=any"));
  EXPECT_THAT(tables.Plan("SELECT name, sum(dur_ns) FROM slice GROUP BY name"),
              ElementsAre("SCAN slice VIRTUAL TABLE INDEX 0:group:name +dur_ns"));
  EXPECT_THAT(tables.Plan("SELECT DISTINCT category FROM slice"),
              Contains("SCAN slice VIRTUAL TABLE INDEX 0:distinct:category"));
  EXPECT_THAT(tables.Plan("SELECT args FROM metadata WHERE ts_ns >= 5 AND name = 'a' AND track_id = 2 AND phase = 'M'"),
              ElementsAre("SCAN metadata VIRTUAL TABLE INDEX 0:ts_ns>= name= track_id="));
  EXPECT_THAT(
      tables.Plan("SELECT category, count(*) FROM flow_point WHERE run = 'a' AND flow_id = '7' GROUP BY category"),
      ElementsAre("SCAN flow_point VIRTUAL TABLE INDEX 0:run= group:category +run +flow_id"));
}

TEST(TraceModule, LeavesToSqliteToSortWhatHasTooManyValues) {
  const TemporaryFolder folder;
  MadePart part(kMaxSegmentRows);
  part.AddTrack({});
  for (int i = 0; i < 270'000; ++i) {
    part.Add(EventKind::kSlice,
             {.time_ns = 2 * i, .duration_ns = 1, .track = 0, .name = std::to_string(i), .category = "one"});
  }
  part.Write(folder / "a.trace.db");
  TraceConnection tables({{"r1", "a", folder / "a.trace.db", {}}});
  EXPECT_THAT(tables.Plan("SELECT name, count(*) FROM slice GROUP BY name"), Contains(HasSubstr("TEMP B-TREE")));
  EXPECT_THAT(tables.Ask("SELECT name, count(*) FROM slice GROUP BY name LIMIT 2"), ElementsAre("0|1", "1|1"));
  EXPECT_THAT(tables.Plan("SELECT category, count(*) FROM slice GROUP BY category"),
              ElementsAre(HasSubstr("group:category")));
}

TEST(TraceModule, PlansJoinsSoThatFewRowsAreLookedAt) {
  RandomTrace trace;
  TraceConnection tables(trace.places());
  EXPECT_THAT(tables.Plan("SELECT count(*) FROM slice k JOIN slice r ON r.correlation = k.correlation "
                          "WHERE k.category = 'kernel' AND r.category = 'cpu_op'"),
              ElementsAre(HasSubstr("category="), HasSubstr("correlation=")));
  EXPECT_THAT(tables.Plan("SELECT count(*) FROM track t JOIN slice s ON s.track_id = t.id WHERE t.kind = 'gpu_stream'"),
              SizeIs(2));
  EXPECT_THAT(tables.Plan("SELECT p.name FROM slice c JOIN slice p ON p.id = c.parent_id WHERE c.name = 'gemm_1'"),
              ElementsAre("SCAN c VIRTUAL TABLE INDEX 0:name=", "SCAN p VIRTUAL TABLE INDEX 0:id="));
}

TEST(TraceModule, DecodesOnlyWhatIsUsed) {
  RandomTrace trace;
  const auto read = [&](const char* sql) {
    TraceConnection tables({trace.places()[0]});
    const int64_t before = tables.columns_read();
    EXPECT_THAT(tables.Ask(sql), SizeIs(1)) << sql;
    return tables.columns_read() - before;
  };
  const auto segments =
      static_cast<int64_t>(TraceConnection({trace.places()[0]}).set().parts()[0]->segments(EventKind::kSlice).size());
  ASSERT_GT(segments, 10);
  EXPECT_EQ(read("SELECT count(*) FROM slice"), 0);
  EXPECT_EQ(read("SELECT sum(dur_ns) FROM slice"), segments);
  EXPECT_EQ(read("SELECT sum(dur_ns) FROM slice WHERE name = 'nope'"), segments);
  EXPECT_LE(read("SELECT count(*) FROM slice WHERE ts_ns BETWEEN 1000 AND 1001"), 2 * 2);
  EXPECT_EQ(read("SELECT dur_ns FROM slice WHERE id = 77"), 1);
  EXPECT_EQ(read("SELECT count(*) FROM slice WHERE run = 'nope'"), 0);
  EXPECT_EQ(read("SELECT count(*) FROM slice WHERE part = 'nope'"), 0);
  EXPECT_EQ(read("SELECT count(*) FROM (SELECT NULL AS id) a JOIN slice b ON b.parent_id = a.id"), 0);
  EXPECT_LT(read("SELECT count(*) FROM slice WHERE parent_id IN (70, 71)"), 2 * segments);
  EXPECT_EQ(read("SELECT count(*) FROM flow_point"), 0);
  EXPECT_EQ(read("SELECT phase FROM flow_point WHERE id = 7"), 1);
  EXPECT_EQ(read("SELECT name FROM metadata WHERE id = 7"), 1);
  EXPECT_LE(read("SELECT count(*) FROM metadata WHERE ts_ns BETWEEN 1000 AND 1001"), 2 * 2);
}

TEST(TraceModule, ReadsTwoRunsApart) {
  RandomTrace trace;
  TraceConnection tables({trace.places()[0], {"other", "a", trace.path("a"), 3}});
  EXPECT_THAT(tables.Ask("SELECT count(*) FROM (SELECT ts_ns, name, args FROM slice WHERE run = 'run1' EXCEPT "
                         "SELECT ts_ns, name, args FROM slice WHERE run = 'other')"),
              ElementsAre("0"));
  EXPECT_THAT(tables.Ask("SELECT count(*) - count(DISTINCT id) FROM slice"), ElementsAre("0"));
  EXPECT_THAT(tables.Ask("SELECT run, part, rank, base_unix_ns, source, tracks FROM trace"),
              ElementsAre("run1|a|0|1700000000001|made \"up\"|5", "other|a|3|1700000000001|made \"up\"|5"));
  EXPECT_THAT(tables.Ask("SELECT rank, count(*) FROM track WHERE run = 'other' GROUP BY rank"), ElementsAre("3|5"));
}

TEST(TraceModule, EndsWhenItIsTold) {
  RandomTrace trace;
  bool must_end = false;
  TraceConnection tables(trace.places(), {.must_end = [&] { return must_end; }});
  EXPECT_THAT(tables.Ask("SELECT count(*) FROM slice WHERE name = 'gemm_1'"), SizeIs(1));
  must_end = true;
  for (const char* sql :
       {"SELECT count(*) FROM slice WHERE name = 'gemm_1'", "SELECT sum(dur_ns) FROM slice",
        "SELECT name, count(*) FROM slice GROUP BY name", "SELECT count(parent_id) FROM slice",
        "SELECT count(args) FROM metadata", "SELECT count(slice) FROM flow_point", "SELECT count(*) FROM track"}) {
    EXPECT_THAT(tables.Ask(sql), ElementsAre("failed: interrupted")) << sql;
  }
}

// Of one rank, to which all tracks belong: a condition on it narrows nothing.
TEST(TrackPlan, GoesFromKernelsToTheirLaunches) {
  TemporaryFolder folder;
  MadePart part(4096);
  for (int64_t i = 0; i < 40; ++i) {
    TrackRow track;
    track.kind = i < 20 ? "cpu_thread" : "gpu_stream";
    if (i >= 20) track.stream = i;
    part.AddTrack(track);
  }
  for (int64_t i = 0; i < 20'000; ++i) {
    const bool is_kernel = i % 2 != 0;
    part.Add(EventKind::kSlice, {.time_ns = 10 * i,
                                 .duration_ns = 5,
                                 .track = is_kernel ? 20 + i % 20 : i % 20,
                                 .name = "k",
                                 .category = is_kernel ? "kernel" : "cuda_runtime",
                                 .correlation = i / 2});
  }
  part.Write(folder / "a.trace.db");
  TraceConnection traces({{"r", "a", folder / "a.trace.db", 0}});
  const std::string joined =
      "SELECT count(*) FROM slice k JOIN track t ON t.id = k.track_id JOIN slice r ON r.correlation = k.correlation "
      "AND r.category = 'cuda_runtime' WHERE t.rank = 0 AND k.category = 'kernel'";
  EXPECT_THAT(traces.Plan(joined),
              ElementsAre("SCAN t VIRTUAL TABLE INDEX 0:rank=", "SCAN k VIRTUAL TABLE INDEX 0:category= track_id=",
                          "SCAN r VIRTUAL TABLE INDEX 0:correlation= category="));
  // Not both tracks first, and then each kernel once for each track.
  const std::string of_one_rank =
      "SELECT count(*) FROM track t JOIN slice k ON k.track_id = t.id JOIN slice r ON r.correlation = k.correlation "
      "JOIN track rt ON rt.id = r.track_id AND rt.rank = t.rank WHERE t.rank = 0 AND k.category = 'kernel' "
      "AND r.category = 'cuda_runtime'";
  EXPECT_THAT(
      traces.Plan(of_one_rank),
      ElementsAre("SCAN t VIRTUAL TABLE INDEX 0:rank=", "SCAN k VIRTUAL TABLE INDEX 0:category= track_id=",
                  "SCAN r VIRTUAL TABLE INDEX 0:category= correlation=", "SCAN rt VIRTUAL TABLE INDEX 0:id= rank="));
  EXPECT_EQ(traces.Ask(joined), Lines{"10000"});
}

// Segments whose rows are in the order of tracks, and such that are not; several parts.
TEST(TraceModule, FindsTheRowsOfOneTrackAmongMany) {
  const TemporaryFolder folder;
  constexpr int kTracks = 300;
  std::vector<TracePlace> places;
  for (const bool in_order : {true, false}) {
    MadePart part(512);
    for (int i = 0; i < kTracks; ++i) part.AddTrack({});
    for (int i = 0; i < 3 * kTracks; ++i) {
      const int track = in_order ? i / 3 : i % kTracks * 7 % kTracks;
      part.Add(EventKind::kSlice, {.time_ns = i, .duration_ns = 1, .track = track, .name = std::to_string(track)});
    }
    places.push_back({in_order ? "r1" : "r2", "a", folder / (in_order ? "a.trace.db" : "b.trace.db"), {}});
    part.Write(places.back().path);
  }
  TraceConnection tables(places);
  EXPECT_THAT(tables.Ask("SELECT count(*), sum(s.name = t.id % (1 << 40)) FROM track t CROSS JOIN slice s ON "
                         "s.track_id = t.id"),
              ElementsAre("1800|1800"));
  EXPECT_THAT(tables.Ask("SELECT count(*) FROM slice WHERE track_id = 299 OR track_id = 300 OR track_id = -1"),
              ElementsAre("3"));
  EXPECT_THAT(tables.Ask("SELECT count(*) FROM slice WHERE track_id = 7 AND ts_ns > 21 AND ts_ns < 30"),
              ElementsAre("2"));
}

}  // namespace
}  // namespace kprof
