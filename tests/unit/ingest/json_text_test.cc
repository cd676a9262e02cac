#include "daemon/ingest/json_text.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace kprof {
namespace {

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

}  // namespace
}  // namespace kprof
