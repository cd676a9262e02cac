#include "storage/trace_sql/tables/args_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/base/temporary_folder.h"
#include "tests/fakes/trace/made_part.h"
#include "tests/unit/trace_sql/trace_connection.h"

namespace kprof {
namespace {

using ::testing::ElementsAre;

class ArgsJson : public ::testing::Test {
 protected:
  Lines Ask(const std::vector<MadeArg>& args, const std::string& sql) {
    MadePart part;
    part.AddTrack({});
    part.Add(EventKind::kSlice, {.time_ns = 1, .duration_ns = 2, .correlation = 77, .args = args});
    part.Write(folder_ / "x.trace.db");
    return TraceConnection({{"r", "x", folder_ / "x.trace.db", {}}}).Ask(sql);
  }
  TemporaryFolder folder_;
};

TEST_F(ArgsJson, KeepsTheOrderAndEveryDigit) {
  const auto decimal = [](int64_t digits, int places) {
    return MadeArg{"d" + std::to_string(places), ArgType::kDecimal, *PackDecimal({digits, places}), {}};
  };
  EXPECT_THAT(Ask({decimal(1250, 2),
                   decimal(-5, 3),
                   decimal(7, 0),
                   decimal(-123456789012345678, 15),
                   IntegerArg("i", -9223372036854775807),
                   {"e", ArgType::kNumber, 0, "1E+400"},
                   {"c", ArgType::kCorrelation, 0, {}},
                   {"t", ArgType::kTrue, 0, {}},
                   {"f", ArgType::kFalse, 0, {}},
                   {"z", ArgType::kNull, 0, {}},
                   {"j", ArgType::kJson, 0, "[1,2]"},
                   IntegerArg("again", 1),
                   IntegerArg("again", 2)},
                  "SELECT args FROM slice"),
              ElementsAre(R"({"d2":12.50,"d3":-0.005,"d0":7,"d15":-123.456789012345678,"i":-9223372036854775807,)"
                          R"("e":1E+400,"c":77,"t":true,"f":false,"z":null,"j":[1,2],"again":1,"again":2})"));
}

TEST_F(ArgsJson, IsValidWhateverTheBytesAre) {
  const std::vector<MadeArg> args = {TextArg("quote\"\\", "line\nbell\x07tab\t"),
                                     TextArg("bytes", "\xff\xfe ok"),
                                     TextArg("utf", "h\xc3\xa9"),
                                     {"nan", ArgType::kNumber, 0, "NaN"}};
  EXPECT_THAT(Ask(args, "SELECT args FROM slice"),
              ElementsAre(R"({"quote\"\\":"line\nbell\u0007tab\t","bytes":"\\xff\\xfe ok","utf":"hé","nan":"NaN"})"));
  EXPECT_THAT(Ask(args,
                  "SELECT json_valid(args), arg(args, 'quote\"\\') = 'line' || char(10) || 'bell' || char(7) || "
                  "'tab' || char(9), arg(args, 'bytes'), arg(args, 'utf') FROM slice"),
              ElementsAre("1|1|\\xff\\xfe ok|h\xc3\xa9"));
}

TEST_F(ArgsJson, IsValidWhateverListsAndObjectsHold) {
  const std::vector<MadeArg> args = {{"loss", ArgType::kJson, 0, R"({"train":NaN,"eval":-inf,"ok":-1.5e3})"},
                                     {"bytes", ArgType::kJson, 0, "[\"\xff\",\"\x01\"]"}};
  EXPECT_THAT(Ask(args, "SELECT args, json_valid(args), json_extract(args, '$.loss.train') FROM slice"),
              ElementsAre(R"({"loss":{"train":"NaN","eval":"-inf","ok":-1.5e3},"bytes":["\\xff","\u0001"]}|1|NaN)"));
}

TEST_F(ArgsJson, TellsWhatStoodBesideTheArgumentsApart) {
  const std::vector<MadeArg> args = {{"tts", ArgType::kInteger, 5, {}, true}, IntegerArg("tts", 6)};
  EXPECT_THAT(Ask(args, "SELECT args, beside, arg(beside, 'tts') FROM slice"), ElementsAre(R"({"tts":6}|{"tts":5}|5)"));
  EXPECT_THAT(Ask({}, "SELECT args IS NULL, beside IS NULL, arg(args, 'x') IS NULL FROM slice"), ElementsAre("1|1|1"));
}

// As an import keeps more than an event's shape may have.
TEST_F(ArgsJson, ArgumentsThatAreKeptAsOneAreTheArguments) {
  const MadeArg whole{"args", ArgType::kJson, 0, R"({"k":1,"o":[2]})", true};
  const MadeArg tts{"tts", ArgType::kInteger, 5, {}, true};
  EXPECT_THAT(Ask({whole, tts}, "SELECT args, beside, arg(args, 'k') FROM slice"),
              ElementsAre(R"({"k":1,"o":[2]}|{"tts":5}|1)"));
  EXPECT_THAT(Ask({whole}, "SELECT args, beside FROM slice"), ElementsAre(R"({"k":1,"o":[2]}|NULL)"));
  const MadeArg list{"args", ArgType::kJson, 0, "[2]", true};
  EXPECT_THAT(Ask({list}, "SELECT args, beside FROM slice"), ElementsAre(R"(NULL|{"args":[2]})"));
  EXPECT_THAT(Ask({whole, IntegerArg("k", 7)}, "SELECT args, beside FROM slice"),
              ElementsAre(R"({"k":7}|{"args":{"k":1,"o":[2]}})"));
}

TEST_F(ArgsJson, ArgGivesValuesOfTheirTypes) {
  const std::vector<MadeArg> args = {IntegerArg("i", 9007199254740993),
                                     {"d", ArgType::kDecimal, *PackDecimal({1250, 2}), {}},
                                     {"t", ArgType::kTrue, 0, {}},
                                     {"z", ArgType::kNull, 0, {}},
                                     {"o", ArgType::kJson, 0, R"({"i":1,"s":"a,b}"})"},
                                     TextArg("s", "text")};
  EXPECT_THAT(Ask(args,
                  "SELECT arg(args, 'i'), typeof(arg(args, 'i')), arg(args, 'd'), typeof(arg(args, 'd')), "
                  "arg(args, 't'), arg(args, 'z'), arg(args, 'o'), arg(args, 's'), arg(args, 'no') FROM slice"),
              ElementsAre(R"(9007199254740993|integer|12.5|real|1|NULL|{"i":1,"s":"a,b}"}|text|NULL)"));
}

struct Member {
  const char* object;
  const char* value;
};

class Members : public ::testing::TestWithParam<Member> {};

TEST_P(Members, AreFoundInAnyText) {
  EXPECT_EQ(FindJsonMember(GetParam().object, "k"), GetParam().value) << GetParam().object;
}

INSTANTIATE_TEST_SUITE_P(Texts, Members,
                         ::testing::Values(Member{"{\"k\":1}", "1"}, Member{" { \"k\" : 1 } ", "1"},
                                           Member{"{\"a\":{\"k\":2},\"k\":3}", "3"},
                                           Member{"{\"a\":\"\\\"k\\\":1\",\"k\":[1,2]}", "[1,2]"},
                                           Member{"{\"\\u006b\":\"x\"}", "\"x\""}, Member{"", ""}, Member{"{", ""},
                                           Member{"{}", ""}, Member{"[\"k\",1]", ""}, Member{"{\"k\"", ""},
                                           Member{"{\"k\":", ""}, Member{"{\"k\":1", ""}, Member{"{\"k\":\"x", ""},
                                           Member{"{\"a\":]]]},\"k\":1}", ""}, Member{"{\"k\\", ""},
                                           Member{"{\"a\":1 \"k\":2}", ""}));

}  // namespace
}  // namespace kprof
