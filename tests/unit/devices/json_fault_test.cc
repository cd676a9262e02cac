#include "daemon/devices/neuron/json_document.h"

#include <gtest/gtest.h>

#include <string>

namespace kprof {
namespace {

TEST(JsonFault, FindsNoneInWhatIsJson) {
  const char* const texts[] = {
      "{}",
      "[]",
      " null ",
      "true",
      "-0",
      "12.5e-3",
      "\"\\u00e9 \\n \xc3\xa9\"",
      "[1,[2,{\"a\":[]}],{\"b\":{\"c\":false}}]",
      "{\"a\" : 1 , \"b\":[ ] }\n",
      "1e400",
  };
  for (const char* text : texts) EXPECT_EQ(FindJsonFault(text), std::nullopt) << text;
}

TEST(JsonFault, IsTheFirstByteThatCannotStandThere) {
  struct Case {
    std::string text;
    size_t at;
  };
  const Case cases[] = {
      {"", 0},
      {"  ", 2},
      {"[1,2", 4},
      {"[1,]", 3},
      {"[,1]", 1},
      {"[1 2]", 3},
      {"[1}", 2},
      {"{\"a\":1,}", 7},
      {"{\"a\" 1}", 5},
      {"{a:1}", 1},
      {"{\"a\":}", 5},
      {"{,}", 1},
      {"nul", 3},
      {"nulx", 3},
      {"1 2", 2},
      {"01", 1},
      {"-", 1},
      {"1.", 2},
      {"1.e3", 2},
      {"1e+", 3},
      {"+1", 0},
      {"NaN", 0},
      {"\"abc", 4},
      {"\"a\nb\"", 2},
      {"\"\\x\"", 2},
      {"\"\\u12g4\"", 5},
      {"\"\\", 2},
      {"\"\xff\"", 1},
      {"[\"a\", \"\xc3\"]", 7},
      {"{}}", 2},
      {std::string("[1,\0]", 5), 3},
  };
  for (const Case& c : cases) EXPECT_EQ(FindJsonFault(c.text), c.at) << c.text;
}

TEST(JsonFault, TakesAnyDepth) {
  EXPECT_EQ(FindJsonFault(std::string(1 << 20, '[')), size_t{1} << 20);
}

}  // namespace
}  // namespace kprof
