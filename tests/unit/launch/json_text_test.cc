#include "daemon/launch/given/json_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kprof {
namespace {

using testing::HasSubstr;

struct GoodJson {
  const char* text;
  const char* compact;
};
class GoodJsonTexts : public testing::TestWithParam<GoodJson> {};

TEST_P(GoodJsonTexts, AreReadAndWrittenWithoutSpaces) {
  const Result<GivenJson> read = ReadJson(GetParam().text, "--params");
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(JsonOf(*read), GetParam().compact);
}

INSTANTIATE_TEST_SUITE_P(
    All, GoodJsonTexts,
    testing::Values(GoodJson{R"( { "b" : 32, "dtype":"bfloat16" } )", R"({"b":32,"dtype":"bfloat16"})"},
                    GoodJson{"[1, -2.5e+3, 0, true,false , null]", "[1,-2.5e+3,0,true,false,null]"},
                    GoodJson{"{}", "{}"}, GoodJson{"[]", "[]"},
                    GoodJson{"12345678901234567890", "12345678901234567890"},
                    GoodJson{R"("a\"\\\/\b\f\n\r\t\u0041\u20ac\ud83d\ude00")",
                             "\"a\\\"\\\\/\\u0008\\u000c\\u000a\\u000d\\u0009A\xe2\x82\xac\xf0\x9f\x98\x80\""},
                    GoodJson{"\"\xe2\x82\xac\"", "\"\xe2\x82\xac\""}));

struct BadJson {
  std::string text;
  const char* why;
};
class BadJsonTexts : public testing::TestWithParam<BadJson> {};

TEST_P(BadJsonTexts, AreRefusedWithTheByte) {
  const Result<GivenJson> read = ReadJson(GetParam().text, "--params");
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.status().code(), ErrorCode::kUsage);
  EXPECT_EQ(read.status().what(), "read --params");
  EXPECT_THAT(read.status().why(), HasSubstr(GetParam().why));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadJsonTexts,
    testing::Values(BadJson{"", "byte 0: it ends where a value"}, BadJson{"{\"a\":1", "byte 6: a ',' or '}'"},
                    BadJson{"{\"a\":1,\"a\":2}", "twice"}, BadJson{"{a:1}", "byte 1: a name in quotes"},
                    BadJson{"{\"a\":1,}", "a name in quotes"}, BadJson{"[1,]", "no JSON value"},
                    BadJson{"[1 2]", "byte 3: a ',' or ']'"}, BadJson{"NaN", "no JSON value"},
                    BadJson{"{\"a\":NaN}", "no JSON value"}, BadJson{"01", "begins with 0"}, BadJson{"1.", "digits"},
                    BadJson{"1e", "digits"}, BadJson{"+1", "no JSON value"}, BadJson{"tru", "no JSON value"},
                    BadJson{"{} x", "byte 3: something follows"}, BadJson{"\"abc", "ends within a text"},
                    BadJson{"\"a\nb\"", "control character"}, BadJson{"\"\\x\"", "escape is not known"},
                    BadJson{"\"\\ud800\"", "no character"}, BadJson{"\"\\ud800\\u0041\"", "half of a pair"},
                    BadJson{"\"\xff\"", "not UTF-8"}, BadJson{std::string(40, '['), "nested too deep"},
                    BadJson{std::string(kMostJsonBytes + 1, ' '), "over the limit"}));

TEST(GivenJsons, HaveABoundOfNames) {
  std::string text = "{";
  for (size_t i = 0; i <= kMostJsonNames; ++i) text += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\":1";
  EXPECT_THAT(ReadJson(text + "}", "x").status().why(), HasSubstr("too many names"));
}

TEST(GivenJsons, AreFoundByName) {
  const Result<GivenJson> read = ReadJson(R"({"b":32,"s":{"t":[1,2]}})", "x");
  ASSERT_TRUE(read.ok());
  ASSERT_NE(read->Find("s"), nullptr);
  EXPECT_EQ(read->Find("s")->Find("t")->items.size(), 2U);
  EXPECT_EQ(read->Find("b")->text, "32");
  EXPECT_EQ(read->Find("c"), nullptr);
  EXPECT_EQ(read->Find("b")->Find("c"), nullptr);
}

}  // namespace
}  // namespace kprof
