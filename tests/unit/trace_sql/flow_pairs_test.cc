#include "storage/trace_sql/flow_pairs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace kprof
