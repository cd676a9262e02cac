#include "daemon/devices/neuron/json_document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace kprof {
namespace {

using testing::HasSubstr;

JsonDocument Parsed(const std::string& text) {
  Result<JsonDocument> document = JsonDocument::Parse(text);
  EXPECT_TRUE(document.ok()) << document.status().ToString();
  return *std::move(document);
}

TEST(JsonDocument, SaysWhyATextIsNone) {
  struct Case {
    std::string text;
    const char* why;
  };
  const Case cases[] = {
      {"", "ends too early, after 0 bytes"},
      {"{\"a\":", "ends too early, after 5 bytes"},
      {"[1,]", "byte 3 cannot stand where it does"},
      {"{'a':1}", "byte 1 cannot stand where it does"},
      {"[\"\xff\"]", "byte 2 cannot stand where it does"},
      {"[1] x", "byte 4 cannot stand where it does"},
      {std::string(100, '[') + std::string(100, ']'), "nests deeper than 64 levels"},
      {"[123456789012345678901234567890]", "holds a number that is too large"},
      {"[1e999]", "holds a number that is too large"},
      {"[\"\\ud800\"]", "or an escape that is no character"},
      {std::string(kJsonLimitBytes + 1, ' '), "has more than 16777216 bytes"},
  };
  for (const Case& c : cases) {
    const Result<JsonDocument> document = JsonDocument::Parse(c.text);
    ASSERT_FALSE(document.ok()) << c.why;
    EXPECT_EQ(document.status().code(), ErrorCode::kBadInput);
    EXPECT_THAT(document.status().why(), HasSubstr(c.why));
  }
}

TEST(JsonDocument, TakesTheLargestText) {
  std::string text(kJsonLimitBytes, ' ');
  text.front() = '[';
  text.back() = ']';
  EXPECT_TRUE(Parsed(text).root().is_array());
}

TEST(JsonDocument, FindsNothingUnderAKeyThatIsNullOrNotThere) {
  const JsonDocument document = Parsed(R"({"a":null,"b":0})");
  EXPECT_FALSE(document.root().Find("a"));
  EXPECT_FALSE(document.root().Find("c"));
  EXPECT_TRUE(document.root().Find("b"));
  EXPECT_FALSE(document.root().Find("b")->Find("d"));
}

TEST(JsonDocument, ReadsWholeNumbersHoweverTheyAreWritten) {
  struct Case {
    const char* text;
    std::optional<int64_t> whole;
  };
  const Case cases[] = {
      {"3", 3},
      {"-3", -3},
      {"3.0", 3},
      {"3e2", 300},
      {"\"17\"", 17},
      {"\"-1\"", -1},
      {"3.5", std::nullopt},
      {"\"\"", std::nullopt},
      {"\"1x\"", std::nullopt},
      {"true", std::nullopt},
      {"{}", std::nullopt},
      {"\"+1\"", std::nullopt},
      {"9223372036854775807", INT64_MAX},
      {"18446744073709551615", std::nullopt},
      {"1e300", std::nullopt},
  };
  for (const Case& c : cases) EXPECT_EQ(Parsed(c.text).root().Whole(), c.whole) << c.text;
}

TEST(JsonDocument, ReadsFiniteNumbersAlone) {
  struct Case {
    const char* text;
    std::optional<double> number;
  };
  const Case cases[] = {
      {"3", 3.0},      {"0.5", 0.5},    {"\"89.4\"", 89.4}, {"18446744073709551615", 18446744073709551615.0},
      {"\"inf\"", {}}, {"\"nan\"", {}}, {"\"1 \"", {}},     {"[]", {}},
  };
  for (const Case& c : cases) EXPECT_EQ(Parsed(c.text).root().Number(), c.number) << c.text;
}

TEST(JsonDocument, GivesFactsOfAnObjectOnlyOfTheirKindAndRange) {
  const JsonDocument document = Parsed(R"({"text":"a","number":7,"half":0.5,"list":[]})");
  const JsonValue root = document.root();
  EXPECT_EQ(root.FindText("text"), "a");
  EXPECT_EQ(root.FindText("number"), "7");
  EXPECT_EQ(root.FindText("half"), std::nullopt);
  EXPECT_EQ(root.FindText("list"), std::nullopt);
  EXPECT_EQ(root.FindWhole("number", 0, 7), 7);
  EXPECT_EQ(root.FindWhole("number", 0, 6), std::nullopt);
  EXPECT_EQ(root.FindWhole("number", 8, 9), std::nullopt);
  EXPECT_EQ(root.FindNumber("half"), 0.5);
  EXPECT_EQ(root.FindNumber("text"), std::nullopt);
}

TEST(JsonDocument, CutsLongTexts) {
  const JsonDocument document = Parsed(R"({"a":")" + std::string(5000, 'x') + R"("})");
  EXPECT_EQ(document.root().FindText("a"), std::string(4096, 'x') + "...");
}

TEST(JsonDocument, NamesThePathOfWhatIsNoListAndOfWhatIsTooLong) {
  const JsonDocument document = Parsed("[1,2,3]");
  EXPECT_EQ(document.root().Elements(3, "a")->size(), 3U);
  EXPECT_EQ(document.root().Elements(2, "a[1]").status().why(), "a[1]: has more than 2 elements");
  EXPECT_EQ(document.root().Members(2, "a.b").status().why(), "a.b: is no object");
  const JsonDocument object = Parsed(R"({"a":1,"b":2})");
  EXPECT_EQ((*object.root().Members(2, "x"))[1].key, "b");
  EXPECT_EQ(object.root().Members(1, "x").status().why(), "x: has more than 1 members");
  EXPECT_EQ(object.root().Elements(1, "x").status().why(), "x: is no list");
}

TEST(JsonDocument, ShowsPathsThatOthersChoseOnOneLine) {
  EXPECT_EQ(BadJson("a\n\x1b[31m", "is wrong").why(), "a\\n\\x1b[31m: is wrong");
  EXPECT_LT(BadJson(std::string(100000, 'x'), "is wrong").why().size(), 300U);
}

TEST(JsonDocument, IsMovedWithItsValues) {
  JsonDocument document = Parsed(R"(["a"])");
  const JsonDocument moved = std::move(document);
  EXPECT_EQ((*moved.root().Elements(1, "")).front().Text(), "a");
}

}  // namespace
}  // namespace kprof
