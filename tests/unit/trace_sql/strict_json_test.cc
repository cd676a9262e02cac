#include "storage/trace_sql/tables/strict_json.h"

#include <gtest/gtest.h>

#include <string>

namespace kprof {
namespace {

std::string Strict(std::string_view text) {
  std::string json = "before:";
  AppendStrictJson(text, json);
  EXPECT_TRUE(json.starts_with("before:"));
  return json.substr(7);
}

TEST(StrictJson, LeavesJsonAsItIs) {
  for (const char* text : {"{}", "[]", R"([1,-2.5e-7,"a\u00e9\n\"b",true,false,null])", R"({"a":{"b":[[],{}]},"c":""})",
                           R"([ 1 , { "k" : 2 } ])", "[\"h\xc3\xa9\"]", R"(["\ud800"])"}) {
    EXPECT_EQ(Strict(text), text);
  }
}

TEST(StrictJson, MendsWhatToolsWrite) {
  EXPECT_EQ(Strict("[NaN,-Infinity,nan,0x1f,01]"), R"(["NaN","-Infinity","nan","0x1f","01"])");
  EXPECT_EQ(Strict("{\"k\x01\":\"tab\t\"}"), R"({"k\u0001":"tab\t"})");
  EXPECT_EQ(Strict(R"(["\x41","\u12","\'"])"), R"(["\\x41","\\u12","\\'"])");
  EXPECT_EQ(Strict("[\"\xf0\"]"), R"(["\\xf0"])");
  EXPECT_EQ(Strict(R"({"a":1,"a":2})"), R"({"a":1,"a":2})");
}

TEST(StrictJson, IsAStringWhereItIsNoListOrObject) {
  for (const char* text :
       {"",     "1",  "{",  "[",   "}",   "[1",    "[1,]",  "{\"a\"}",   "{\"a\":}",   "{1:2}", "[1 2]",
        "[1]]", "[}", "{]", "[:]", "{,}", "[\"a]", "[\"\\", "[\"a\":1]", "{\"a\":1,}", "[] []"}) {
    const std::string json = Strict(text);
    EXPECT_TRUE(json.size() >= 2 && json.front() == '"' && json.back() == '"') << text << " became " << json;
  }
  EXPECT_EQ(Strict("{\"a\""), R"("{\"a\"")");
}

TEST(StrictJson, IsAStringWhereItIsTooDeep) {
  const auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_EQ(Strict(nested(kMostJsonNesting)), nested(kMostJsonNesting));
  EXPECT_EQ(Strict(nested(kMostJsonNesting + 1)), '"' + nested(kMostJsonNesting + 1) + '"');
  EXPECT_EQ(Strict(nested(300'000)).size(), 600'002U);
}

}  // namespace
}  // namespace kprof
