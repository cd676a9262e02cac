#include "client/cli/verbs/verb_peaks.h"

#include <gtest/gtest.h>

namespace kprof::cli {
namespace {

TEST(CeilingText, IsANumberWithAUnit) {
  for (const char* text : {"3021.5 GB/s", "3021.5GB/s", " 3021.5\tGB/s \r"}) {
    const std::optional<CeilingText> read = ParseCeiling(text);
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(read->value, 3021.5);
    EXPECT_EQ(read->unit, "GB/s");
  }
  EXPECT_EQ(ParseCeiling("7.8e2")->value, 780);
  EXPECT_EQ(ParseCeiling("7.8e2")->unit, "");
  for (const char* text : {"", " ", "fast", "GB/s 3", "-1 GB/s", "0 GB/s", "nan GB/s", "inf", "1e999", "1 GB/s of 2"}) {
    EXPECT_FALSE(ParseCeiling(text)) << text;
  }
}

TEST(CeilingText, IsTheLastLineThatSaysSo) {
  EXPECT_EQ(LastCeilingIn("warming up\nkprof-ceiling: 1 GB/s\nkprof-ceiling: 2 GB/s\nbye"), "2 GB/s");
  EXPECT_EQ(LastCeilingIn("  kprof-ceiling:3 TFLOP/s\r\n"), "3 TFLOP/s");
  EXPECT_EQ(LastCeilingIn("my kprof-ceiling: 1 GB/s\n"), std::nullopt);
  EXPECT_EQ(LastCeilingIn(""), std::nullopt);
}

TEST(CeilingText, NamesWhatIsMeasured) {
  EXPECT_EQ(CeilingKindOf("copy")->quantity, "memory_bandwidth");
  EXPECT_EQ(CeilingKindOf("bf16")->dtype, "bf16");
  EXPECT_EQ(CeilingKindOf("bf16")->accumulate, "fp32");
  EXPECT_EQ(CeilingKindOf("fp64")->accumulate, "fp64");
  EXPECT_EQ(CeilingKindOf("speed").status().code(), ErrorCode::kUsage);
}

}  // namespace
}  // namespace kprof::cli
