#include "client/cli/text/amounts_and_times.h"

#include <gtest/gtest.h>

#include <limits>

namespace kprof::cli {
namespace {

TEST(NumberText, HasNoExponentForWholeNumbers) {
  EXPECT_EQ(NumberText(1.5e9), "1500000000");
  EXPECT_EQ(NumberText(-9007199254740992.0), "-9007199254740992");
  EXPECT_EQ(NumberText(0), "0");
}

TEST(NumberText, IsTheShortestThatReadsBack) {
  EXPECT_EQ(NumberText(0.1), "0.1");
  EXPECT_EQ(NumberText(1e300), "1e+300");
  EXPECT_EQ(NumberText(1.0 / 3), "0.3333333333333333");
}

TEST(NumberText, NamesWhatIsNoNumber) {
  EXPECT_EQ(NumberText(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(NumberText(std::numeric_limits<double>::quiet_NaN()), "nan");
}

}  // namespace
}  // namespace kprof::cli
