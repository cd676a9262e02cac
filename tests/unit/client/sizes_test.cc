#include "client/cli/text/amounts_and_times.h"

#include <gtest/gtest.h>

#include <limits>

namespace kprof::cli {
namespace {

TEST(Sizes, AreWrittenInTheUnitThatFits) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(1023), "1023 B");
  EXPECT_EQ(FormatBytes(1536), "1.5 KiB");
  EXPECT_EQ(FormatBytes((1 << 20) - 1), "1.0 MiB");
  EXPECT_EQ(FormatBytes(std::numeric_limits<int64_t>::max()), "8.0 EiB");
}

TEST(Sizes, AmountsFollowTheirUnit) {
  EXPECT_EQ(FormatAmount(1.5e9, "ns"), "1.500 s");
  EXPECT_EQ(FormatAmount(2048, "bytes"), "2.0 KiB");
  EXPECT_EQ(FormatAmount(17, "count"), "17");
  EXPECT_EQ(FormatAmount(12.5, "percent"), "12.5 %");
  EXPECT_EQ(FormatAmount(3, "GB/s"), "3 GB/s");
  EXPECT_EQ(FormatAmount(std::numeric_limits<double>::infinity(), "ns"), "inf ns");
}

}  // namespace
}  // namespace kprof::cli
