#include "daemon/ingest/text/json_text.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "daemon/ingest/text/json_scan.h"

namespace kprof {
namespace {

TEST(JsonText, EscapesBecomeWhatTheyMean) {
  struct Case {
    std::string escaped;
    std::string meant;
  };
  for (const Case& c : {
           Case{"", ""},
           Case{"plain", "plain"},
           Case{R"(a\"b\\c\/d)", R"(a"b\c/d)"},
           Case{R"(\b\f\n\r\t)", "\b\f\n\r\t"},
           Case{R"(\u0041\u00e9\u20AC)", "A\xc3\xa9\xe2\x82\xac"},
           Case{R"(\ud83d\ude00)", "\xf0\x9f\x98\x80"},
           Case{R"(\ud800\udc00\udbff\udfff)", "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"},
           Case{R"(\u0000)", std::string(1, '\0')},
       }) {
    EXPECT_EQ(UnescapeJson(c.escaped), c.meant) << c.escaped;
  }
}

TEST(JsonText, HalfASurrogatePairBecomesThreeBytesOfItsOwn) {
  EXPECT_EQ(UnescapeJson(R"(\ud83d)"), "\xed\xa0\xbd");
  EXPECT_EQ(UnescapeJson(R"(\ude00)"), "\xed\xb8\x80");
  EXPECT_EQ(UnescapeJson(R"(\ud83dx)"), "\xed\xa0\xbdx");
  EXPECT_EQ(UnescapeJson(R"(\ud83d\n)"), "\xed\xa0\xbd\n");
  EXPECT_EQ(UnescapeJson(R"(\ud83d\u0041)"),
            "\xed\xa0\xbd"
            "A");
  EXPECT_EQ(UnescapeJson(R"(\ud83d\ud83d\ude00)"), "\xed\xa0\xbd\xf0\x9f\x98\x80");
}

TEST(JsonText, AnEscapeThatIsNoneStaysAsItIs) {
  for (const std::string text : {R"(\x41)", R"(\u12)", R"(\u12g4)", R"(\)", R"(a\)", R"(\u)"}) {
    EXPECT_EQ(UnescapeJson(text), text);
  }
}

TEST(JsonText, BytesThatAreNoUtf8StayAsTheyAre) {
  EXPECT_EQ(UnescapeJson("\xff\xc3\n\x01"), "\xff\xc3\n\x01");
}

TEST(JsonText, SpaceBetweenPartsGoesAndWithinStringsStays) {
  EXPECT_EQ(CompactJson("{ \"a b\" :\t[ 1 ,\r\n 2 ] , \"c\\\" d\" : { } }"), "{\"a b\":[1,2],\"c\\\" d\":{}}");
  EXPECT_EQ(CompactJson(""), "");
  EXPECT_EQ(CompactJson("\"cut  off"), "\"cut  off");
  EXPECT_EQ(CompactJson("\"cut \\"), "\"cut \\");
}

TEST(JsonText, WhatIsQuotedIsReadBackAsItWas) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  std::string quoted;
  AppendJsonString(quoted, all);
  EXPECT_EQ(UnescapeJson(std::string_view(quoted).substr(1, quoted.size() - 2)), all);
}

TEST(JsonText, EscapesWhatMayNotStandInAString) {
  std::string json = "x";
  AppendJsonString(json, std::string_view("a\"b\\c\n\t\0\xff", 9));
  EXPECT_EQ(json, "x\"a\\\"b\\\\c\\n\\u0009\\u0000\xff\"");
}

TEST(JsonText, NumbersAreAsShortAsTheyCanBe) {
  EXPECT_EQ(ShortestNumber(0.1), "0.1");
  EXPECT_EQ(ShortestNumber(-3), "-3");
  EXPECT_EQ(ShortestNumber(1e300), "1e+300");
  EXPECT_EQ(ShortestNumber(std::numeric_limits<double>::denorm_min()), "5e-324");
}

// The members as "key=value", then whether it was an object, whole.
std::string Members(const std::string& text, size_t most = 100, int most_nesting = kAnyNesting) {
  const auto padded = std::make_unique<char[]>(text.size() + kScanSlackBytes);  // who reads further is seen
  std::copy(text.begin(), text.end(), padded.get());
  std::string out;
  const auto see = [&](std::string_view k, std::string_view v) {
    out += std::string(k) + "=" + std::string(v) + " ";
    return --most > 0;
  };
  const bool whole = ForEachMember(padded.get(), padded.get() + text.size(), see, most_nesting);
  return out + (whole ? "whole" : "cut");
}

TEST(JsonText, MembersAreSeenAsTheyAreWritten) {
  EXPECT_EQ(Members("{}"), "whole");
  EXPECT_EQ(Members("{ \n }"), "whole");
  EXPECT_EQ(Members(R"({"a":1})"), "a=1 whole");
  EXPECT_EQ(Members("{ \"a\" : 1 ,\n\"b\\\"\" :\t[1, {\"c\": 2}] , \"\":\"x\\\\\" , \"d\":null}"),
            "a=1 b\\\"=[1, {\"c\": 2}] =\"x\\\\\" d=null whole");
  EXPECT_EQ(Members(R"({"a":-Infinity,"b":NaN,"c":1e-3}  trailing)"), "a=-Infinity b=NaN c=1e-3 whole");
}

TEST(JsonText, WhoSawEnoughSeesNoMore) {
  EXPECT_EQ(Members(R"({"a":1,"b":2,"c":)", 2), "a=1 b=2 whole");
}

TEST(JsonText, AnObjectThatIsNoneOrCutIsNotWhole) {
  for (const std::string text :
       {"", "[1]", "1", "{", "{1:2}", "{\"a\"}", "{\"a\" 1}", "{\"a\":}", "{\"a\":1", "{\"a\":1,", "{\"a\":1,}",
        "{\"a\":1 \"b\":2}", "{\"a\":word}", "{\"a\":[1}", "{\"a", "{\"a\":\"b"}) {
    EXPECT_TRUE(Members(text).ends_with("cut")) << text;
  }
  const std::string whole = R"({"a":{"b":[1,"}"]},"c":"d\"e"})";
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_TRUE(Members(whole.substr(0, size)).ends_with("cut")) << size;
  }
}

TEST(JsonText, NumbersThatAreNoneAreWordsHoweverTheyArePrinted) {
  for (const std::string word : {"nan", "-nan", "NaN", "NAN", "inf", "+inf", "-INF", "Infinity", "-infinity"}) {
    EXPECT_EQ(Members("{\"a\":" + word + ",\"b\":1}"), "a=" + word + " b=1 whole");
  }
  for (const std::string none : {"+", "na", "nul", "True", "+1", "infinit", "nano"}) {
    EXPECT_TRUE(Members("{\"a\":" + none + "}").ends_with("cut")) << none;
  }
}

TEST(JsonText, NestingHasTheLimitThatIsSaid) {
  const auto nested = [](int levels) {
    return "{\"a\":" + std::string(static_cast<size_t>(levels), '[') + std::string(static_cast<size_t>(levels), ']') +
           "}";
  };
  EXPECT_TRUE(Members(nested(20), 100, 20).ends_with("whole"));
  EXPECT_TRUE(Members(nested(21), 100, 20).ends_with("cut"));
  EXPECT_TRUE(Members(nested(100'000)).ends_with("whole"));
}

}  // namespace
}  // namespace kprof
