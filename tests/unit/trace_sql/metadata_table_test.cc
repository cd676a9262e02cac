// What rows of `metadata` say; how they are found is in trace_module_test.cc.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/base/temporary_folder.h"
#include "tests/fakes/trace/made_part.h"
#include "tests/unit/trace_sql/trace_connection.h"

namespace kprof {
namespace {

using ::testing::ElementsAre;

class Metadata : public ::testing::Test {
 protected:
  Metadata() : part_(4) {
    for (int i = 0; i < 2; ++i) part_.AddTrack({});
  }
  void Add(int64_t time_ns, const std::string& name, char phase, std::vector<MadeArg> args = {},
           const std::string& category = "") {
    part_.Add(
        EventKind::kMetadata,
        {.time_ns = time_ns, .track = 1, .name = name, .category = category, .args = std::move(args), .phase = phase});
  }
  Lines Ask(const std::string& sql) {
    part_.Write(folder_ / "x.trace.db");
    return TraceConnection({{"r", "x", folder_ / "x.trace.db", {}}}).Ask(sql);
  }

  TemporaryFolder folder_;
  MadePart part_;
};

TEST_F(Metadata, IsGivenWithItsLetterAndItsArguments) {
  Add(0, "process_name", 'M', {TextArg("name", "python3")});
  Add(7, "forward", 'E', {IntegerArg("n", 3), {"bp", ArgType::kString, 0, "e", true}}, "cpu_op");
  EXPECT_THAT(Ask("SELECT * FROM metadata ORDER BY id"),
              ElementsAre("r|0|1|0|process_name|NULL|M|{\"name\":\"python3\"}|NULL",
                          "r|1|1|7|forward|cpu_op|E|{\"n\":3}|{\"bp\":\"e\"}"));
  EXPECT_THAT(Ask("SELECT arg(args, 'name') FROM metadata WHERE phase = 'M'"), ElementsAre("python3"));
}

TEST_F(Metadata, OfNoOneLetterHasNoPhase) {
  Add(0, "odd", '\0', {{"ph", ArgType::kString, 0, "metadata", true}});
  EXPECT_THAT(Ask("SELECT phase, args, beside FROM metadata"), ElementsAre("NULL|NULL|{\"ph\":\"metadata\"}"));
}

TEST_F(Metadata, OfAByteThatIsNoTextShowsItAsOne) {
  Add(0, "odd", '\xc3');
  EXPECT_THAT(Ask("SELECT phase FROM metadata"), ElementsAre("\\xc3"));
}

TEST_F(Metadata, IsNoneOfTheOtherTables) {
  Add(0, "odd", 'E');
  EXPECT_THAT(Ask("SELECT (SELECT count(*) FROM instant), (SELECT count(*) FROM flow_point), (SELECT count(*) FROM "
                  "metadata)"),
              ElementsAre("0|0|1"));
}

}  // namespace
}  // namespace kprof
