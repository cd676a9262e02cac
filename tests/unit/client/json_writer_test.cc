#include "client/cli/text/json_writer.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

namespace kprof::cli {
namespace {

std::string Written(const std::function<void(JsonWriter&)>& write) {
  std::string text;
  JsonWriter json(text);
  write(json);
  return text;
}

std::string StringOf(std::string_view bytes) {
  return Written([&](JsonWriter& json) { json.String(bytes); });
}

TEST(JsonWriter, SeparatesMembersAndItems) {
  EXPECT_EQ(Written([](JsonWriter& json) {
              json.BeginObject().Key("a").Int(1).Key("b").BeginArray().Int(2).Int(3).BeginArray().EndArray().EndArray();
              json.Key("c").BeginObject().EndObject().Key("d").Null().EndObject();
            }),
            R"({"a":1,"b":[2,3,[]],"c":{},"d":null})");
}

TEST(JsonWriter, EscapesWhatJsonWantsEscaped) {
  EXPECT_EQ(StringOf("a\"b\\c\nd\te\rf\x01g\x7f"), R"("a\"b\\c\nd\te\rf\u0001g\u007f")");
  EXPECT_EQ(StringOf(std::string_view("\0", 1)), R"("\u0000")");
  EXPECT_EQ(StringOf("\xe2\x82\xac"), "\"\xe2\x82\xac\"");
}

TEST(JsonWriter, EscapesWhatATerminalWouldObey) {
  EXPECT_EQ(StringOf("\xc2\x9bJ"), R"("\u009bJ")");
  EXPECT_EQ(StringOf("a\xe2\x80\xae z"), R"("a\u202e z")");
}

TEST(JsonWriter, WritesBytesThatAreNotUtf8AsText) {
  EXPECT_EQ(StringOf("a\xff\xc3z"), R"("a\\xff\\xc3z")");
}

TEST(JsonWriter, EscapesKeysToo) {
  EXPECT_EQ(Written([](JsonWriter& json) { json.BeginObject().Key("a\"\xff").Bool(true).EndObject(); }),
            R"({"a\"\\xff":true})");
}

TEST(JsonWriter, WritesTimesAsDecimalStrings) {
  EXPECT_EQ(Written([](JsonWriter& json) { json.Time(1'795'267'369'000'000'001); }), R"("1795267369000000001")");
}

TEST(JsonWriter, WritesIntegersBeyondADoubleAsDecimalStrings) {
  auto of = [](int64_t value) { return Written([&](JsonWriter& json) { json.Int(value); }); };
  EXPECT_EQ(of(int64_t{1} << 53), "9007199254740992");
  EXPECT_EQ(of(-(int64_t{1} << 53)), "-9007199254740992");
  EXPECT_EQ(of((int64_t{1} << 53) + 1), R"("9007199254740993")");
  EXPECT_EQ(of(std::numeric_limits<int64_t>::min()), R"("-9223372036854775808")");
}

TEST(JsonWriter, WritesDoublesShortestAndNeverNaNOrInfinity) {
  auto of = [](double value) { return Written([&](JsonWriter& json) { json.Double(value); }); };
  EXPECT_EQ(of(0.1), "0.1");
  EXPECT_EQ(of(12345), "12345");
  EXPECT_EQ(of(1e300), "1e+300");
  EXPECT_EQ(of(std::numeric_limits<double>::quiet_NaN()), "null");
  EXPECT_EQ(of(-std::numeric_limits<double>::infinity()), "null");
}

TEST(JsonWriter, WritesNullForATextThatIsAbsent) {
  EXPECT_EQ(Written([](JsonWriter& json) { json.BeginArray().StringOrNull("a").StringOrNull("").EndArray(); }),
            R"(["a",null])");
}

TEST(JsonWriter, ALineIsAnObjectThatSaysItsSchema) {
  EXPECT_EQ(JsonLine("kprof.some.v1", [](JsonWriter& json) { json.Key("a").Int(1); }),
            "{\"schema\":\"kprof.some.v1\",\"a\":1}\n");
}

TEST(JsonWriter, LetsItsTextBeTakenAwayInBetween) {
  std::string text;
  JsonWriter json(text);
  json.BeginArray().Int(1);
  text.clear();
  json.Int(2).EndArray();
  EXPECT_EQ(text, ",2]");
}

}  // namespace
}  // namespace kprof::cli
