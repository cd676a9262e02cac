#include "storage/trace_sql/parts/flow_pairs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/fakes/base/temporary_folder.h"
#include "tests/fakes/trace/made_part.h"
#include "tests/unit/trace_sql/trace_connection.h"

namespace kprof {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Track 0 has a launch in an operator, and another one; track 1 the kernels.
class Flows : public ::testing::Test {
 protected:
  Flows() : part_(4) {
    for (int i = 0; i < 3; ++i) part_.AddTrack({});
    Slice(0, 0, 100, "op");
    Slice(0, 10, 20, "launch");
    Slice(0, 50, 10, "launch 2");
    Slice(1, 40, 30, "kernel");
    Slice(1, 90, 30, "kernel 2");
  }
  void Slice(int64_t track, int64_t time_ns, int64_t duration_ns, const std::string& name) {
    part_.Add(EventKind::kSlice, {.time_ns = time_ns, .duration_ns = duration_ns, .track = track, .name = name});
  }
  void Point(char phase, int64_t track, int64_t time_ns, const std::string& id, bool enclosing = true,
             const std::string& category = "ac2g") {
    MadeEvent event{.time_ns = time_ns, .track = track, .name = "flow", .category = category};
    event.flow = id;
    event.phase = phase;
    if (phase == 'f' && enclosing) event.args = {{"bp", ArgType::kString, 0, "e", true}};
    part_.Add(EventKind::kFlow, event);
  }
  Lines Ask(const std::string& sql) {
    part_.Write(folder_ / "x.trace.db");
    return TraceConnection({{"r", "x", folder_ / "x.trace.db", {}}}).Ask(sql);
  }
  // At most so much memory is asked for at a time, for what is found out of a part.
  int64_t PeakOf(const std::string& sql, Lines expected) {
    int64_t held = 0;
    int64_t peak = 0;
    QueryBudget terms;
    terms.take_part_memory = [&](int64_t bytes) {
      held += bytes;
      peak = std::max(peak, held);
      return OkStatus();
    };
    {
      part_.Write(folder_ / "x.trace.db");
      TraceConnection connection({{"r", "x", folder_ / "x.trace.db", {}}}, terms);
      EXPECT_EQ(connection.Ask(sql), expected);
    }
    EXPECT_EQ(held, 0);
    return peak;
  }
  Lines Pairs(const std::string& where = "1") {
    return Ask(
        "SELECT (SELECT name FROM slice WHERE id = from_slice), (SELECT name FROM slice WHERE id = to_slice), "
        "flow_id FROM flow WHERE " +
        where + " ORDER BY flow_id, from_ns");
  }

  TemporaryFolder folder_;
  MadePart part_;
};

TEST_F(Flows, LeadFromSliceToSlice) {
  Point('s', 0, 10, "1");
  Point('f', 1, 40, "1");
  Point('s', 0, 55, "2");
  Point('f', 1, 95, "2");
  EXPECT_THAT(Pairs(), ElementsAre("launch|kernel|1", "launch 2|kernel 2|2"));
}

TEST_F(Flows, GoThroughTheirSteps) {
  Point('s', 0, 10, "1");
  Point('t', 0, 55, "1");
  Point('t', 1, 60, "1");
  Point('f', 1, 95, "1");
  EXPECT_THAT(Pairs(), ElementsAre("launch|launch 2|1", "launch 2|kernel|1", "kernel|kernel 2|1"));
}

TEST_F(Flows, EndsThatDoNotSayOtherwiseAreBoundToTheNextSlice) {
  Point('s', 0, 10, "1");
  Point('f', 1, 45, "1", false);
  Point('s', 0, 10, "2");
  Point('f', 1, 90, "2", false);
  Point('s', 0, 10, "3");
  Point('f', 1, 200, "3", false);
  EXPECT_THAT(Pairs(), ElementsAre("launch|kernel 2|1", "launch|kernel 2|2", "launch|NULL|3"));
}

// Slices of one time are cut into several segments.
TEST_F(Flows, EndAtSlicesOfTheirVeryTimeInWhateverSegment) {
  for (int i = 0; i < 9; ++i) Slice(i % 3, 200, 10, "k");
  for (int i = 0; i < 3; ++i) Slice(i, 300, 10, "late");
  for (int i = 0; i < 3; ++i) {
    Point('s', 0, 10, std::to_string(i));
    Point('f', i, 200, std::to_string(i), false);
  }
  EXPECT_THAT(Pairs(), ElementsAre("launch|k|0", "launch|k|1", "launch|k|2"));
}

TEST_F(Flows, OfOneIdAreToldApartByCategoryAndBegin) {
  Point('s', 0, 10, "1");
  Point('s', 0, 55, "1", true, "fwdbwd");
  Point('f', 1, 40, "1");
  Point('f', 1, 95, "1", true, "fwdbwd");
  Point('s', 0, 56, "1");
  Point('f', 1, 96, "1");
  EXPECT_THAT(Pairs(), ElementsAre("launch|kernel|1", "launch 2|kernel 2|1", "launch 2|kernel 2|1"));
}

TEST_F(Flows, ArePairedAlsoWhereClocksDisagree) {
  Point('f', 1, 40, "1");
  Point('s', 0, 52, "1");
  EXPECT_THAT(Pairs(), ElementsAre("launch 2|kernel|1"));
}

TEST_F(Flows, WithoutASecondPointAreNone) {
  Point('s', 0, 10, "1");
  Point('f', 1, 40, "2");
  Point('s', 2, 40, "3");
  EXPECT_THAT(Pairs(), IsEmpty());
}

TEST_F(Flows, AreFoundByTheirSlices) {
  Point('s', 0, 10, "1");
  Point('f', 1, 40, "1");
  Point('s', 0, 55, "2");
  Point('f', 1, 95, "2");
  EXPECT_THAT(Pairs("from_slice = (SELECT id FROM slice WHERE name = 'launch 2')"), ElementsAre("launch 2|kernel 2|2"));
  EXPECT_THAT(Pairs("to_slice = (SELECT id FROM slice WHERE name = 'kernel')"), ElementsAre("launch|kernel|1"));
  EXPECT_THAT(Pairs("category = 'nope' OR name = 'nope' OR id = 77"), IsEmpty());
  EXPECT_THAT(Pairs("category = 'ac2g' AND name LIKE 'FLOW' AND run = 'r' AND id >= 0"),
              ElementsAre("launch|kernel|1", "launch 2|kernel 2|2"));
}

TEST_F(Flows, PointsAreThereWithAndWithoutASecondOne) {
  Point('s', 0, 10, "1");
  Point('f', 1, 40, "1");
  Point('t', 0, 55, "2");
  Point('f', 1, 200, "3");
  EXPECT_THAT(Ask("SELECT p.phase, p.flow_id, p.ts_ns, s.name, p.name, p.category, p.args, p.beside "
                  "FROM flow_point p LEFT JOIN slice s ON s.id = p.slice ORDER BY p.flow_id, p.ts_ns"),
              ElementsAre("s|1|10|launch|flow|ac2g|NULL|NULL", "f|1|40|kernel|flow|ac2g|NULL|{\"bp\":\"e\"}",
                          "t|2|55|launch 2|flow|ac2g|NULL|NULL", "f|3|200|NULL|flow|ac2g|NULL|{\"bp\":\"e\"}"));
  EXPECT_THAT(Ask("SELECT flow_id FROM flow_point WHERE id NOT IN (SELECT id FROM flow) AND id NOT IN "
                  "(SELECT to_point FROM flow) ORDER BY flow_id"),
              ElementsAre("2", "3"));
}

TEST_F(Flows, BindTheirPointsAsThePointsSayThemselves) {
  Point('s', 0, 10, "1");
  Point('t', 0, 55, "1");
  Point('f', 1, 60, "1", false);
  Point('s', 0, 55, "2");
  Point('f', 1, 95, "2");
  EXPECT_THAT(
      Ask("SELECT count(*) FROM flow f JOIN flow_point a ON a.id = f.id JOIN flow_point b ON b.id = f.to_point "
          "WHERE a.slice IS f.from_slice AND b.slice IS f.to_slice AND a.ts_ns = f.from_ns AND b.ts_ns = f.to_ns "
          "AND a.flow_id = f.flow_id AND b.flow_id = f.flow_id"),
      ElementsAre("3"));
  EXPECT_THAT(Ask("SELECT count(*) FROM flow"), ElementsAre("3"));
}

TEST_F(Flows, TakeLittleMemoryForEachPoint) {
  constexpr int64_t kFlows = 8'000;
  for (int64_t i = 0; i < kFlows; ++i) {
    Slice(2, 1000 + i * 10, 5, "k");
    Point('s', 0, 10 + i, std::to_string(i));
    Point('f', 2, 1000 + i * 10, std::to_string(i));
  }
  const int64_t listed = PeakOf("SELECT count(*) FROM flow WHERE to_ns > 0", {std::to_string(kFlows)});
  EXPECT_GT(listed, 2 * kFlows * 24);
  EXPECT_LT(listed, 2 * kFlows * 34);
  const int64_t found = PeakOf("SELECT count(*) FROM slice JOIN flow ON to_slice = slice.id WHERE slice.name = 'k'",
                               {std::to_string(kFlows)});
  EXPECT_LT(found, 2 * kFlows * 34);
}

TEST_F(Flows, AreRefusedWhereThereIsNoMemory) {
  for (int i = 0; i < 1000; ++i) Point(i % 2 == 0 ? 's' : 'f', i % 2, 10 + i, std::to_string(i / 2));
  part_.Write(folder_ / "x.trace.db");
  for (const int64_t most : {0, 100, 20'000, 60'000}) {
    QueryBudget terms;
    int64_t held = 0;
    terms.take_part_memory = [&](int64_t bytes) -> Status {
      if (held + bytes > most) return Fail(ErrorCode::kUsage, "take memory", "there is no more");
      held += bytes;
      return OkStatus();
    };
    TraceConnection connection({{"r", "x", folder_ / "x.trace.db", {}}}, terms);
    for (const char* sql : {"SELECT count(name) FROM flow", "SELECT count(slice) FROM flow_point"}) {
      const Lines answer = connection.Ask(sql);
      ASSERT_EQ(answer.size(), 1u) << most;
      EXPECT_TRUE(answer[0].starts_with("failed: ")) << answer[0] << " with " << most;
    }
  }
}

// Segments of points and of slices, and what is asked of a range of ids, of both ends, and of several at once.
TEST_F(Flows, AreTheSameHoweverTheyAreAsked) {
  std::mt19937 random(3);
  for (int i = 0; i < 400; ++i) {
    const auto time = static_cast<int64_t>(random() % 500);
    Slice(i % 3, time, static_cast<int64_t>(random() % 9), "k");
    Point("sstf"[random() % 4], i % 3, time, std::to_string(random() % 90), i % 2 == 0, i % 5 == 0 ? "other" : "ac2g");
  }
  part_.Write(folder_ / "x.trace.db");
  TraceConnection connection({{"r", "x", folder_ / "x.trace.db", {}}});
  const std::string columns = "id, from_slice, to_slice, name, category, flow_id, from_ns, to_ns, to_point";
  const auto ask = [&](const std::string& sql) { return connection.Ask("SELECT " + columns + " FROM " + sql); };
  ASSERT_EQ(connection.Ask("CREATE TEMP TABLE f AS SELECT * FROM flow"), Lines{});
  ASSERT_GT(ask("f").size(), 50u);
  for (const std::string where :
       {"id >= 100 AND id < 300", "id IN (SELECT id FROM f WHERE id % 3 = 0)", "category = 'other'", "name LIKE 'FL%'",
        "from_slice = (SELECT max(from_slice) FROM f)", "to_slice = (SELECT max(to_slice) FROM f)",
        "to_slice BETWEEN 20 AND 90 AND category = 'ac2g'", "from_slice IN (1, 5, 9, 11)", "from_slice IS NULL",
        "from_slice > 40 AND to_slice < 300", "to_ns < from_ns"}) {
    EXPECT_EQ(ask("flow WHERE " + where + " ORDER BY id"), ask("f WHERE " + where + " ORDER BY id")) << where;
  }
  EXPECT_EQ(connection.Ask("SELECT f.id FROM slice s JOIN flow f ON f.from_slice = s.id").size(),
            connection.Ask("SELECT 1 FROM f WHERE from_slice IS NOT NULL").size());
}

}  // namespace
}  // namespace kprof
