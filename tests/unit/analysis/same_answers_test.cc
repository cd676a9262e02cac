// What functions of traces answer is what plain SQL on the table of slices does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/analysis/function_connection.h"

namespace kprof {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;

struct Pair {
  const char* function;
  const char* plain;
};

class SameAnswers : public ::testing::TestWithParam<uint64_t> {
 protected:
  void Expect(const Pair& pair) {
    SCOPED_TRACE(pair.function);
    const Lines plain = Sorted(AskConnection(trace_.plain(), pair.plain));
    EXPECT_EQ(Sorted(functions_.Ask(pair.function)), plain);
    EXPECT_THAT(plain, Not(IsEmpty()));
  }

  RandomTrace trace_{GetParam()};
  FunctionConnection functions_{trace_.places()};
};

constexpr const char* kBoth = "FROM slice s JOIN track t ON t.id = s.track_id ";

TEST_P(SameAnswers, OfSums) {
  const std::string joined = kBoth;
  const std::string sums = "count(*), sum(dur_ns), min(dur_ns), max(dur_ns), avg(dur_ns) ";
  const std::vector<std::pair<std::string, std::string>> pairs = {
      {"SELECT name, count, sum_ns, min_ns, max_ns, mean_ns FROM sum_by('name')",
       "SELECT name, " + sums + "FROM slice GROUP BY name"},
      {"SELECT key, count FROM sum_by('category')", "SELECT category, count(*) FROM slice GROUP BY category"},
      {"SELECT key, key2, count, sum_ns FROM sum_by('category', 'name')",
       "SELECT category, name, count(*), sum(dur_ns) FROM slice GROUP BY category, name"},
      {"SELECT run, key2, sum_ns FROM sum_by('run', 'name')",
       "SELECT run, name, sum(dur_ns) FROM slice GROUP BY run, name"},
      {"SELECT track_id, stream, rank, device, track_name, run, sum_ns FROM sum_by('track')",
       "SELECT t.id, t.stream, t.rank, t.device, t.name, t.run, sum(dur_ns) " + joined + "GROUP BY t.id"},
      {"SELECT stream, device, count FROM sum_by('stream', 'device')",
       "SELECT stream, device, count(*) " + joined + "GROUP BY stream, device"},
      {"SELECT process, rank, count FROM sum_by('process', 'rank')",
       "SELECT process, rank, count(*) " + joined + "GROUP BY process, rank"},
      {"SELECT count, sum_ns FROM sum_by()", "SELECT count(*), sum(dur_ns) FROM slice"},
      {"SELECT count FROM sum_by() WHERE name = 'none'", "SELECT count(*) FROM slice WHERE name = 'none'"},
  };
  for (const auto& [function, plain] : pairs) Expect({function.c_str(), plain.c_str()});
}

TEST_P(SameAnswers, OfSumsOfWhatMeetsConditions) {
  for (const char* condition : {"s.category = 'kernel'",
                                "s.category IN ('kernel', 'cpu_op') AND s.category <> s.name",
                                "s.name = 'gemm_3'",
                                "s.name IN ('gemm_3', 'Copy_1', 'none')",
                                "s.name GLOB 'gemm*'",
                                "s.name LIKE 'COPY%'",
                                "s.name GLOB '*_[3-5]' AND s.name LIKE 'g%' AND s.category = 'cpu_op'",
                                "s.ts_ns BETWEEN 5000 AND 9000",
                                "s.ts_ns > 5000 AND s.ts_ns <= 9000.5",
                                "s.ts_ns < 0",
                                "s.dur_ns >= 50",
                                "s.dur_ns BETWEEN 10 AND 2000",
                                "s.run = 'run2'",
                                "s.track_id IN (1, 2, 1099511627777)",
                                "s.track_id = 3 AND s.ts_ns >= 400",
                                "t.device = 0",
                                "t.stream IN (7, 21)",
                                "t.rank = 0",
                                "t.rank < 1 AND t.device >= 1",
                                "s.category GLOB 'k*' AND t.stream > 3",
                                "s.category LIKE 'KERN%'",
                                "s.category LIKE '_pu%'",
                                "s.category GLOB 'k?rn*l'",
                                "s.category >= 'cpu' AND s.category < 'd'",
                                "s.category = 'KERNEL' COLLATE NOCASE",
                                "s.category > 'CPU_OP' COLLATE NOCASE",
                                "s.category <> 'kernel'",
                                "s.category IS 'kernel'",
                                "s.category IS NOT 'kernel'",
                                "s.category IS NULL",
                                "s.category IS NOT 'cpu_op' AND s.category GLOB '*'",
                                "s.category <> 'kernel' AND s.category GLOB '*'",
                                "s.name <> 'gemm_3' AND s.name <> 'Copy_1'",
                                "s.name <> 'gemm_3' COLLATE NOCASE AND s.name IN ('gemm_3', 'gemm_4')",
                                "s.run <> 'run1'",
                                "s.dur_ns IS NULL",
                                "s.dur_ns <> 5 AND s.dur_ns < 8",
                                "s.dur_ns IS NOT 5",
                                "s.dur_ns IS 5",
                                "t.stream IS NULL",
                                "t.stream >= 0",
                                "t.stream <> 7",
                                "t.stream <> 7.5",
                                "t.stream IS NOT 7",
                                "t.stream IS NOT 7 AND t.stream >= 0 AND t.device <> 9",
                                "t.rank IS NULL",
                                "t.rank IS NOT 0",
                                "t.process IS NULL",
                                "t.process <> 'x'"}) {
    SCOPED_TRACE(condition);
    std::string inside = condition;
    for (const char* prefix : {"s.", "t."}) {
      for (size_t at = inside.find(prefix); at != std::string::npos; at = inside.find(prefix, at)) inside.erase(at, 2);
    }
    const bool is_key_needed = inside.find("<> name") != std::string::npos;
    const std::string keys = is_key_needed ? "'name', 'category'" : "'name'";
    const std::string sql = is_key_needed ? "SELECT name, sum(count), sum(sum_ns) FROM sum_by(" + keys + ") WHERE " +
                                                inside + " GROUP BY name"
                                          : "SELECT name, count, sum_ns FROM sum_by(" + keys + ") WHERE " + inside;
    const std::string plain =
        "SELECT s.name, count(*), sum(s.dur_ns) " + std::string(kBoth) + "WHERE " + condition + " GROUP BY s.name";
    Expect({sql.c_str(), plain.c_str()});
  }
  for (const char* kind :
       {"track_kind = 'gpu_stream'", "track_kind GLOB 'gpu*'", "track_name = 'track 1'", "process = 'python'"}) {
    const std::string sql = "SELECT name, count FROM sum_by('name') WHERE " + std::string(kind);
    std::string condition = kind;
    if (condition.starts_with("track_")) condition = condition.substr(6);
    const std::string plain =
        "SELECT s.name, count(*) " + std::string(kBoth) + "WHERE t." + condition + " GROUP BY s.name";
    Expect({sql.c_str(), plain.c_str()});
  }
}

TEST_P(SameAnswers, OfPercentiles) {
  Expect(
      {"SELECT category, p50_ns, p90_ns, p99_ns FROM sum_by('category')",
       "WITH ranked AS (SELECT category, dur_ns, row_number() OVER w AS at, count(*) OVER (PARTITION BY category) AS n "
       "FROM slice WHERE dur_ns IS NOT NULL WINDOW w AS (PARTITION BY category ORDER BY dur_ns)) "
       "SELECT category, min(dur_ns) FILTER (WHERE at * 100 >= 50 * n), min(dur_ns) FILTER (WHERE at * 100 >= 90 * n), "
       "min(dur_ns) FILTER (WHERE at * 100 >= 99 * n) FROM ranked GROUP BY category"});
}

TEST_P(SameAnswers, OfHistograms) {
  Expect({"SELECT at_least_ns, count, sum_ns FROM histogram(100) WHERE count > 0 AND category = 'kernel'",
          "SELECT dur_ns / 100 * 100, count(*), sum(dur_ns) FROM slice WHERE category = 'kernel' GROUP BY 1"});
  Expect({"SELECT sum(count) FROM histogram()", "SELECT count(*) FROM slice"});
}

// The union of what lies on a track, by going along it.
constexpr const char* kBusyByTrack =
    "WITH known AS (SELECT run, track_id, ts_ns AS b, ts_ns + dur_ns AS e FROM slice WHERE dur_ns > 0), "
    "ends AS (SELECT *, max(e) OVER (PARTITION BY track_id ORDER BY b, e ROWS BETWEEN UNBOUNDED PRECEDING AND 1 "
    "PRECEDING) "
    "AS before FROM known) "
    "SELECT track_id, sum(max(0, e - max(b, coalesce(before, b)))), min(b), max(e), sum(b > before) FROM ends "
    "GROUP BY track_id";

TEST_P(SameAnswers, OfBusyTimes) {
  Expect({"SELECT track_id, busy_ns, first_ns, last_ns, gaps FROM busy('track')", kBusyByTrack});
  const std::string idle = "SELECT track_id, last_ns - first_ns - busy_ns FROM busy";
  EXPECT_EQ(functions_.Ask("SELECT track_id, idle_ns FROM busy"), functions_.Ask(idle));
  // All gaps together are the time without anything.
  EXPECT_EQ(Sorted(functions_.Ask("SELECT key, sum(gap_ns) FROM gaps('track', 10000) GROUP BY key")),
            Sorted(functions_.Ask("SELECT key, idle_ns FROM busy('track')")));
  EXPECT_EQ(functions_.Ask("SELECT count(*) BETWEEN 1 AND 6 FROM gaps('device', 2) WHERE rank = 0"), Lines{"1"});
}

TEST_P(SameAnswers, OfOverlaps) {
  // What is of one kind or the other, less both at once, is the union.
  const Lines both = functions_.Ask("SELECT run, one_ns + other_ns - both_ns FROM overlap('gemm*')");
  EXPECT_EQ(both, functions_.Ask("SELECT run, busy_ns FROM busy('part')"));
  EXPECT_EQ(functions_.Ask("SELECT sum(one_ns), sum(other_ns) FROM overlap('gemm*', 'category=kernel', 'device')"),
            functions_.Ask("SELECT (SELECT sum(busy_ns) FROM busy('device') WHERE name GLOB 'gemm*'), "
                           "(SELECT sum(busy_ns) FROM busy('device') WHERE category = 'kernel')"));
  EXPECT_EQ(functions_.Ask("SELECT run, one_ns FROM overlap('stream=7', 'stream=21')"),
            functions_.Ask("SELECT run, busy_ns FROM busy('part') WHERE stream = 7"));
}

TEST_P(SameAnswers, OfStretchesOfTime) {
  // What reaches beyond the stretch is cut there.
  EXPECT_EQ(functions_.Ask("SELECT count(*) FROM busy('track') WHERE from_ns = 1000 AND to_ns = 2000 AND "
                           "(first_ns < 1000 OR last_ns > 2000 OR busy_ns > 1000)"),
            Lines{"0"});
  Expect({"SELECT sum(slices) FROM busy WHERE from_ns = 1000 AND to_ns = 2000",
          "SELECT count(*) FROM slice WHERE ts_ns < 2000 AND (ts_ns >= 1000 OR ts_ns + dur_ns > 1000)"});
}

TEST_P(SameAnswers, OfSelfTimes) {
  const Lines self = Sorted(functions_.Ask("SELECT name, count, sum_ns FROM self_time('name')"));
  EXPECT_EQ(self,
            Sorted(AskConnection(trace_.plain(), "SELECT name, count(dur_ns), sum(dur_ns) FROM slice GROUP BY name")));
  EXPECT_EQ(functions_.Ask("SELECT count(*) FROM self_time('name') WHERE self_ns > sum_ns OR self_ns < 0"), Lines{"0"});
  EXPECT_EQ(functions_.Ask("SELECT sum(self_ns) FROM self_time('track') WHERE category = 'kernel'"),
            functions_.Ask("SELECT self_ns FROM self_time() WHERE category = 'kernel'"));
}

TEST_P(SameAnswers, OfTiles) {
  // Each slice is in one box of its track; from far away, each whose end is known.
  for (const std::string pixels : {"1", "50", "1000", "65536"}) {
    const std::string tiles = " FROM tiles(" + pixels + ") ";
    const std::string counted = pixels == "1" ? "count(s.dur_ns) " : "count(*) ";
    Expect({("SELECT run, rank, track_id, sum(count)" + tiles + "GROUP BY track_id").c_str(),
            ("SELECT s.run, t.rank, s.track_id, " + counted + kBoth + "GROUP BY track_id").c_str()});
    EXPECT_EQ(functions_.Ask("SELECT count(*)" + tiles + "WHERE end_ns < begin_ns OR busy_ns > end_ns - begin_ns"),
              Lines{"0"});
    EXPECT_EQ(functions_.Ask("SELECT min(level) > 0" + tiles), Lines{pixels == "1" ? "1" : "0"});
  }
  // As it is, where it is one: the widest are.
  EXPECT_EQ(
      functions_.Ask("SELECT count(*) FROM tiles(1000) b JOIN slice s ON s.id = b.slice_id WHERE b.count <> 1 OR "
                     "b.begin_ns <> s.ts_ns OR b.end_ns <> s.ts_ns + coalesce(s.dur_ns, 0) OR b.name <> s.name OR "
                     "b.track_id <> s.track_id"),
      Lines{"0"});
  EXPECT_EQ(functions_.Ask("SELECT max(end_ns - begin_ns), count(slice_id) > 0 FROM tiles(1000) WHERE stream = 7"),
            AskConnection(trace_.plain(),
                          "SELECT max(s.dur_ns), 1 FROM slice s JOIN track t ON t.id = s.track_id "
                          "WHERE t.stream = 7"));
  Expect(
      {"SELECT sum(count) FROM tiles(10) WHERE track_kind = 'gpu_stream' AND from_ns = 1000 AND to_ns = 2000",
       "SELECT count(*) FROM slice s JOIN track t ON t.id = s.track_id WHERE t.kind = 'gpu_stream' AND s.ts_ns < 2000 "
       "AND (s.ts_ns >= 1000 OR s.ts_ns + s.dur_ns > 1000)"});
}

TEST_P(SameAnswers, OfCorrelatedSlices) {
  const std::string columns =
      "SELECT run, part, rank, correlation, from_slice, from_track_id, from_ts_ns, from_dur_ns, from_name, to_slice, "
      "to_track_id, to_ts_ns, to_dur_ns, to_name, delay_ns, stream, track_kind, track_id, name FROM ";
  const std::string plain =
      "SELECT b.run, tb.part, tb.rank, a.correlation, a.id, a.track_id, a.ts_ns, a.dur_ns, a.name, b.id, b.track_id, "
      "b.ts_ns, b.dur_ns, b.name, b.ts_ns - a.ts_ns, tb.stream, tb.kind, tb.id, b.name "
      "FROM slice a JOIN slice b ON b.correlation = a.correlation AND b.id <> a.id AND b.run = a.run "
      "JOIN track ta ON ta.id = a.track_id JOIN track tb ON tb.id = b.track_id WHERE ";
  const std::string launches = "ta.kind = 'cpu_thread' AND tb.kind = 'gpu_stream'";
  const std::string kernels = "a.category = 'cpu_op' AND b.category = 'kernel'";
  const std::vector<std::pair<std::string, std::string>> pairs = {
      {"correlated()", launches},
      {"correlated('category=cpu_op', 'category=kernel')", kernels},
      {"correlated('gemm*', 'gemm*')", "a.name GLOB 'gemm*' AND b.name GLOB 'gemm*'"},
      {"correlated('category=cpu_op', 'category=kernel') WHERE rank = 0", kernels + " AND tb.rank = 0"},
      {"correlated('category=cpu_op', 'category=kernel') WHERE stream = 7 AND name GLOB 'Copy*'",
       kernels + " AND tb.stream = 7 AND b.name GLOB 'Copy*'"},
      {"correlated('category=cpu_op', 'category=kernel') WHERE ts_ns BETWEEN 5000 AND 9000 AND delay_ns > 0",
       kernels + " AND b.ts_ns BETWEEN 5000 AND 9000 AND b.ts_ns > a.ts_ns"},
  };
  // What has no room beside its part's number may be in SQL what another one is.
  const std::string without = "correlation - 281474976710656 NOT IN (5, 199, 393, 587)";
  for (const auto& [function, condition] : pairs) {
    const bool has_where = function.find("WHERE") != std::string::npos;
    Expect({(columns + function + (has_where ? " AND " : " WHERE ") + without).c_str(),
            (plain + condition + " AND a." + without).c_str()});
  }
}

INSTANTIATE_TEST_SUITE_P(OfRandomTraces, SameAnswers, ::testing::Values(1, 2, 3));

}  // namespace
}  // namespace kprof
