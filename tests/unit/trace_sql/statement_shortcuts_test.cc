#include "storage/trace_sql/attach/statement_shortcuts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/unit/trace_sql/random_trace.h"

namespace kprof {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

// The answer of a connection that takes what shortcuts it may; which they were goes to `taken`.
Lines AskShort(const RandomTrace& trace, const std::string& sql, TraceSet::Shortcuts* taken = nullptr) {
  TraceConnection tables(trace.places());
  TraceConnection::Expect(AllowShortcuts(tables.db(), tables.set(), sql));
  if (taken != nullptr) *taken = tables.set().shortcuts();
  return tables.Ask(sql);
}

bool TakesSums(const RandomTrace& trace, const std::string& sql) {
  TraceSet::Shortcuts taken;
  AskShort(trace, sql, &taken);
  return taken.sums;
}

bool TakesObjects(const RandomTrace& trace, const std::string& sql) {
  TraceSet::Shortcuts taken;
  AskShort(trace, sql, &taken);
  return taken.objects;
}

constexpr const char* kSummed[] = {
    "SELECT count(*) FROM slice",
    "SELECT count(1) FROM slice",
    "SELECT Count(*) AS n FROM slice -- all",
    "SELECT count(*) FROM flow",
    "SELECT count(*) FROM flow WHERE category = 'ac2g'",
    "SELECT count(*), sum(dur_ns), total(dur_ns), avg(dur_ns), min(dur_ns), max(dur_ns), count(dur_ns) FROM slice",
    "SELECT max(ts_ns) - min(ts_ns) FROM slice WHERE category = 'kernel'",
    "SELECT min(dur_ns) FROM slice WHERE name = 'nope'",
    "SELECT count(*) FROM slice WHERE name = 'nope'",
    "SELECT category, count(*) FROM slice GROUP BY category",
    "SELECT category, count(*) FROM slice GROUP BY category ORDER BY category DESC",
    "SELECT name, sum(dur_ns) FROM slice WHERE category = 'kernel' GROUP BY name ORDER BY 2 DESC LIMIT 3",
    "SELECT name, count(*), max(dur_ns) AS longest FROM slice GROUP BY name HAVING longest > 2000",
    "SELECT count(*) FROM slice GROUP BY name",
    "SELECT track_id, sum(depth) FROM slice GROUP BY 1",
    "SELECT max(dur_ns) FROM slice",
    "SELECT count(*) FROM slice, track",
    "SELECT run, min(ts_ns), max(ts_ns) FROM slice GROUP BY run",
    "SELECT part, count(*) FROM slice GROUP BY part",
    "SELECT track_id, count(*) FROM counter GROUP BY track_id",
    "SELECT category, count(*) FROM flow_point WHERE ts_ns > 900 GROUP BY category",
    "SELECT (SELECT count(*) FROM slice), (SELECT count(*) FROM flow), (SELECT max(ts_ns) FROM instant)",
    "SELECT upper(name) FROM (SELECT name, sum(dur_ns) AS t FROM slice GROUP BY name) WHERE t > 900",
    "WITH k AS (SELECT name, sum(dur_ns) AS t FROM slice GROUP BY name) SELECT a.name, b.t FROM k a JOIN k b USING "
    "(name)",
    "SELECT name, 100.0 * sum(dur_ns) / count(*) FROM slice GROUP BY name",
};

// Each looks at more than counts and sums, or where something else does.
constexpr const char* kRowByRow[] = {
    "SELECT 1 FROM slice",
    "SELECT count(DISTINCT dur_ns) FROM slice",
    "SELECT count(*) FILTER (WHERE dur_ns > 9) FROM slice",
    "SELECT name, count(*) FILTER (WHERE dur_ns > 9) FROM slice GROUP BY name",
    "SELECT sum(dur_ns / 2) FROM slice",
    "SELECT sum(1) FROM slice",
    "SELECT count(NULL) FROM slice",
    "SELECT count(name) FROM slice",
    "SELECT name, count(name) FROM slice GROUP BY name",
    "SELECT group_concat(dur_ns) FROM slice WHERE depth > 1",
    "SELECT max(dur_ns, ts_ns) FROM slice",
    "SELECT name, dur_ns, count(*) FROM slice GROUP BY name",
    "SELECT name, max(dur_ns), id FROM slice GROUP BY name",
    "SELECT name, category, count(*) FROM slice GROUP BY name, category",
    "SELECT category, count(*) FROM slice WHERE dur_ns % 3 = 1 GROUP BY category",
    "SELECT count(*) FROM slice WHERE name LIKE 'gemm%'",
    "SELECT count(*) FROM slice WHERE name > 'd'",
    "SELECT count(*) FROM slice WHERE dur_ns IN (1, 2, 3)",
    "SELECT name, count(*) FROM slice GROUP BY name COLLATE NOCASE",
    "SELECT track_id, sum(depth) FROM slice WHERE parent_id IN (SELECT id FROM slice WHERE dur_ns > 1000) GROUP BY 1",
    "SELECT count(*) FROM slice s JOIN track t ON t.id = s.track_id",
    "SELECT count(*) FROM slice LEFT JOIN track ON track.id = slice.track_id AND track.device = 0",
    "SELECT name, count(*) FROM slice GROUP BY name HAVING count(*) > (SELECT count(*) / 20 FROM slice)",
    "SELECT name, count(*) OVER () FROM slice",
    "SELECT name, sum(sum(dur_ns)) OVER (ORDER BY name) FROM slice GROUP BY name",
    "SELECT count(*), (SELECT count(*) FROM (VALUES (1), (2))) FROM slice",
    "SELECT count(*) FROM slice UNION ALL SELECT count(*) FROM track",
    "SELECT count(*) FROM slice WHERE id = 3 OR ts_ns > 900",
    "SELECT avg(value) FROM counter",
    "SELECT id, (SELECT count(*) FROM slice c WHERE c.parent_id = s.id) AS n FROM slice s",
};

constexpr const char* kObjects[] = {
    "SELECT arg(args, 'n') FROM slice",
    "SELECT run, arg(args, 'n'), arg(args, 'decimal'), arg(beside, 'tts'), arg(args, 'text \"q\"') FROM slice",
    "SELECT arg(args, 'yes'), arg(args, 'list'), arg(args, 'none'), arg(args, 'big'), arg(args, 'nope') FROM slice",
    "SELECT typeof(arg(args, 'decimal')), typeof(arg(args, 'none')), typeof(arg(args, 'n')) FROM slice",
    "SELECT id FROM slice WHERE arg(args, 'n') > 33 AND arg(args, 'yes')",
    "SELECT sum(arg(args, 'n')), count(arg(args, 'decimal')) FROM slice WHERE category = 'kernel'",
    "SELECT arg(args, NULL), arg(args, 3) FROM slice",
    "SELECT arg(args, 'correlation') - correlation FROM slice",
    "SELECT s.id, arg(s.args, 'n'), arg(t.args, 'n') FROM slice s JOIN slice t ON t.parent_id = s.id",
    "SELECT arg(args, 'value') FROM counter",
    "SELECT arg(args, 'n'), arg(beside, 'bp') FROM flow_point",
    "SELECT arg(args, 'n') FROM slice ORDER BY ts_ns DESC LIMIT 9",
    "SELECT arg(args, 'text \"q\"') FROM slice ORDER BY dur_ns LIMIT 50",
};

constexpr const char* kObjectsAsText[] = {
    "SELECT args FROM slice",
    "SELECT arg(args, name) FROM slice",
    "SELECT arg(args, 'n'), args FROM slice",
    "SELECT arg(args, 'list') FROM slice WHERE args IS NOT NULL",
    "SELECT arg(args || ' ', 'n') FROM slice",
    "SELECT arg(args, 'n'), json_extract(args, '$.list') FROM slice",
    "SELECT DISTINCT arg(args, 'n') FROM slice ORDER BY args",
    "SELECT arg(a, 'n') FROM (SELECT args AS a FROM slice ORDER BY id LIMIT 9)",
};

TEST(StatementShortcuts, SumUpWhatIsOnlyCountedAndSummedUp) {
  RandomTrace trace;
  for (const char* sql : kSummed) EXPECT_TRUE(TakesSums(trace, sql)) << sql;
  for (const char* sql : kRowByRow) EXPECT_FALSE(TakesSums(trace, sql)) << sql;
}

TEST(StatementShortcuts, MakeNoTextOfArgumentsThatOnlyArgReads) {
  RandomTrace trace;
  for (const char* sql : kObjects) EXPECT_TRUE(TakesObjects(trace, sql)) << sql;
  for (const char* sql : kObjectsAsText) EXPECT_FALSE(TakesObjects(trace, sql)) << sql;
}

// Also in the same order.
void ExpectSame(const RandomTrace& trace, const std::string& sql) {
  EXPECT_EQ(AskShort(trace, sql), TraceConnection(trace.places()).Ask(sql)) << sql;
}

TEST(StatementShortcuts, GiveTheSameAnswers) {
  for (uint64_t seed : {3, 14}) {
    RandomTrace trace(seed);
    for (const char* sql : kSummed) ExpectSame(trace, sql);
    for (const char* sql : kRowByRow) ExpectSame(trace, sql);
    for (const char* sql : kObjects) ExpectSame(trace, sql);
    for (const char* sql : kObjectsAsText) ExpectSame(trace, sql);
  }
}

// A statement of parts that may stand together, most of which take shortcuts.
class MadeStatement {
 public:
  explicit MadeStatement(uint64_t seed) : random_(seed) {}

  std::string Make() {
    const std::string select = Below(3) == 0 ? Rows() : Sums();
    switch (Below(8)) {
      case 0:
        return "SELECT count(*), max(a) FROM (" + select + ")";
      case 1:
        return select + (has_limit_ ? "" : " UNION ALL SELECT count(*), 1 FROM slice WHERE depth > 0");
      case 2:
        return "SELECT t.name, q.* FROM track t LEFT JOIN (" + select + ") q ON q.a = t.id";
      default:
        return select;
    }
  }

 private:
  size_t Below(size_t bound) { return random_() % bound; }
  std::string Pick(std::initializer_list<const char*> texts) { return texts.begin()[Below(texts.size())]; }
  std::string Conditions() {
    std::string sql;
    for (size_t i = Below(3); i > 0; --i) {
      sql +=
          (sql.empty() ? " WHERE " : " AND ") + Pick({"category = 'kernel'",
                                                      "category IS NULL",
                                                      "+category = 'kernel'",
                                                      "dur_ns > 20",
                                                      "dur_ns < 2500",
                                                      "ts_ns >= 3000",
                                                      "ts_ns < 12000",
                                                      "depth = 0",
                                                      "depth > 0",
                                                      "track_id = 1",
                                                      "run = 'run2'",
                                                      "name = 'gemm_3'",
                                                      "name IN ('gemm_1', 'Copy_2')",
                                                      "name LIKE 'Copy%'",
                                                      "id < 300",
                                                      "correlation = 7",
                                                      "dur_ns IS NOT NULL",
                                                      "ts_ns % 2 = 0",
                                                      "parent_id > 0",
                                                      "name = 'nope'",
                                                      "arg(args, 'n') > 50",
                                                      "track_id IN (SELECT id FROM track WHERE kind = 'gpu_stream')"});
    }
    return sql;
  }
  std::string Limit() {
    has_limit_ = true;
    return " LIMIT " + Pick({"0", "1", "5", "100", "-1", "2+2", "NULL", "5 OFFSET 3", "3 OFFSET 1000", "7 OFFSET -2"});
  }
  std::string Sums() {
    const std::string by = Pick({"", "", "name", "category", "track_id", "run", "depth", "name || ''"});
    std::string sql = "SELECT " + (by.empty() ? "count(*)" : by) + " AS a, ";
    sql += Pick({"count(*)", "sum(dur_ns)", "avg(dur_ns)", "min(dur_ns)", "max(ts_ns)", "total(depth)", "count(dur_ns)",
                 "count(1)", "sum(dur_ns) * 1.0 / count(*)", "max(dur_ns) - min(dur_ns)", "count(DISTINCT depth)",
                 "sum(dur_ns) FILTER (WHERE depth = 0)", "sum(arg(args, 'n'))", "group_concat(depth)", "count(name)"});
    sql += " AS b FROM slice" + Conditions();
    has_limit_ = false;
    if (by.empty()) return sql;
    sql += " GROUP BY " + by + Pick({"", "", " HAVING count(*) > 20", " HAVING max(dur_ns) > 2000", " HAVING b > 30"});
    const std::string order = Pick({"", " ORDER BY a", " ORDER BY a DESC", " ORDER BY b, a", " ORDER BY b DESC, a"});
    return sql + order + (!order.empty() && Below(2) == 0 ? Limit() : "");
  }
  std::string Rows() {
    std::string sql = "SELECT id AS a, " + Pick({"dur_ns", "name", "arg(args, 'n')", "args", "depth + ts_ns"}) +
                      " AS b FROM slice" + Conditions();
    sql += " ORDER BY " + Pick({"dur_ns", "dur_ns DESC", "ts_ns", "ts_ns DESC", "depth", "depth DESC", "+dur_ns DESC",
                                "dur_ns DESC NULLS FIRST", "dur_ns DESC, id", "b", "id"});
    return sql + Limit();
  }

  std::mt19937_64 random_;
  bool has_limit_ = false;
};

// SQLite keeps rows of the same value as they came, so orders are the same, too.
TEST(StatementShortcuts, GiveTheSameAnswersToAnyStatement) {
  RandomTrace trace(7);
  MadeStatement statement(20261128);
  int summed = 0;
  for (int i = 0; i < 700; ++i) {
    const std::string sql = statement.Make();
    TraceSet::Shortcuts taken;
    const Lines answer = AskShort(trace, sql, &taken);
    EXPECT_EQ(Sorted(answer), Sorted(AskConnection(trace.plain(), sql))) << sql;
    if (taken.sums) {
      EXPECT_EQ(answer, TraceConnection(trace.places()).Ask(sql)) << sql;
    }
    summed += taken.sums ? 1 : 0;
  }
  EXPECT_GT(summed, 70);
}

// The numbers of `part` are so large that sums on the way are not exact, or have no room.
void AddLarge(MadePart& part, const std::vector<int64_t>& durations_ns) {
  part.AddTrack({});
  int64_t n = 0;
  for (const int64_t duration_ns : durations_ns) {
    MadeEvent event;
    event.time_ns = n;
    event.duration_ns = duration_ns;
    event.name = n % 2 == 0 ? "even" : "odd";
    ++n;
    part.Add(EventKind::kSlice, event);
  }
}

TEST(StatementShortcuts, SumUpLargeNumbersAsSqliteDoes) {
  const TemporaryFolder folder;
  constexpr int64_t kLarge = int64_t{1} << 60;
  const std::vector<std::vector<int64_t>> cases = {
      {(1 << 30), (int64_t{1} << 53) + 1, 3, (int64_t{1} << 53) + 3, 1, 1, 1, 5},
      {kLarge, kLarge + 5, kLarge - 1, 7, kNoValue, kLarge, 3, kLarge, kLarge, kLarge, kLarge, kLarge, kLarge, kLarge},
      {kLarge + 1, 1, 1, 1, 1},
  };
  int n = 0;
  for (const auto& durations_ns : cases) {
    std::vector<TracePlace> places;
    for (const char* part_name : {"a", "b"}) {
      MadePart part(3);
      AddLarge(part, durations_ns);
      const std::string path = folder / (std::to_string(n++) + part_name + ".trace.db");
      part.Write(path);
      places.push_back({"run", part_name, path, {}});
    }
    for (const std::string function : {"sum", "total", "avg", "min", "max", "count"}) {
      for (const std::string end : {"", " GROUP BY name", " GROUP BY run", " WHERE part = 'b' GROUP BY name"}) {
        const std::string sql = "SELECT " + function + "(dur_ns) FROM slice" + end;
        TraceConnection summed(places);
        TraceConnection::Expect(AllowShortcuts(summed.db(), summed.set(), sql));
        EXPECT_TRUE(summed.set().shortcuts().sums) << sql;
        EXPECT_EQ(summed.Ask(sql), TraceConnection(places).Ask(sql)) << sql;
      }
    }
  }
}

TEST(StatementShortcuts, FindTheFirstRowsInTheScan) {
  RandomTrace trace;
  TraceConnection tables(trace.places());
  EXPECT_THAT(tables.Plan("SELECT id FROM slice WHERE category = 'kernel' ORDER BY dur_ns DESC LIMIT 10"),
              ElementsAre("SCAN slice VIRTUAL TABLE INDEX 0:category= top-desc:dur_ns:10"));
  EXPECT_THAT(tables.Plan("SELECT id FROM slice ORDER BY ts_ns LIMIT 3 OFFSET 4"),
              ElementsAre("SCAN slice VIRTUAL TABLE INDEX 0:top:ts_ns:7"));
  for (const char* sql :
       {"SELECT id FROM slice WHERE name LIKE 'g%' ORDER BY dur_ns LIMIT 10",
        "SELECT id FROM slice WHERE dur_ns % 2 = 0 ORDER BY dur_ns LIMIT 10",
        "SELECT id FROM slice WHERE id = 5 OR depth = 1 ORDER BY dur_ns LIMIT 10",
        "SELECT id FROM slice ORDER BY dur_ns, ts_ns LIMIT 10", "SELECT id FROM slice ORDER BY dur_ns",
        "SELECT DISTINCT dur_ns FROM slice ORDER BY dur_ns LIMIT 10",
        "SELECT s.id FROM slice s JOIN track t ON t.id = s.track_id ORDER BY s.dur_ns LIMIT 10"}) {
    EXPECT_THAT(tables.Plan(sql), Contains(::testing::StartsWith("USE TEMP B-TREE FOR "))) << sql;
    EXPECT_THAT(tables.Plan(sql), ::testing::Not(Contains(::testing::HasSubstr("top")))) << sql;
  }
}

TEST(StatementShortcuts, OneRowOfEachValueIsNotEnoughWhereNumbersOfRowsAreLookedAt) {
  RandomTrace trace;
  TraceConnection tables(trace.places());
  EXPECT_EQ(tables.Ask("SELECT count(*) FROM (SELECT DISTINCT category FROM slice WHERE rowid > 5)"),
            tables.Ask("SELECT count(*) FROM (SELECT category FROM slice WHERE rowid > 5 GROUP BY category)"));
  EXPECT_EQ(tables.Ask("SELECT count(*) FROM (SELECT DISTINCT name FROM slice s JOIN (SELECT 5 AS k) ON s.rowid > k)"),
            tables.Ask("SELECT count(*) FROM (SELECT name FROM slice WHERE rowid > 5 GROUP BY name)"));
}

TEST(StatementShortcuts, ReadNoColumnToCountAllRows) {
  RandomTrace trace;
  TraceConnection tables(trace.places());
  TraceConnection::Expect(AllowShortcuts(tables.db(), tables.set(), "SELECT count(*) FROM slice"));
  tables.Ask("SELECT count(*) FROM slice");
  EXPECT_EQ(tables.columns_read(), 0);
}

TEST(StatementShortcuts, AllowNothingToWhatIsNoStatement) {
  RandomTrace trace;
  for (const char* sql : {"SELECT count(* FROM slice", "count", "", "SELECT count(*) FROM nothing",
                          "EXPLAIN SELECT count(*) FROM slice"}) {
    EXPECT_FALSE(TakesSums(trace, sql)) << sql;
  }
}

}  // namespace
}  // namespace kprof
