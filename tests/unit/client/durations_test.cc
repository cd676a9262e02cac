#include "client/cli/text/amounts_and_times.h"

#include <gtest/gtest.h>

namespace kprof::cli {
namespace {

TEST(Durations, ReadsNumbersWithUnits) {
  EXPECT_EQ(ParseDurationMs("500ms").value(), 500);
  EXPECT_EQ(ParseDurationMs("10s").value(), 10'000);
  EXPECT_EQ(ParseDurationMs("5m").value(), 300'000);
  EXPECT_EQ(ParseDurationMs("2h").value(), 7'200'000);
}

TEST(Durations, RefusesEverythingElse) {
  for (const char* text : {"", "5", "s", "0s", "-1s", "+1s", "1.5s", "5 s", "5sec", "1h30m", "99999999999999999999s",
                           "9223372036854775807h", "10000h"}) {
    Result<int64_t> parsed = ParseDurationMs(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.status().code(), ErrorCode::kUsage);
  }
}

TEST(Durations, AreWrittenInTheUnitThatFits) {
  EXPECT_EQ(FormatDuration(-5), "0 s");
  EXPECT_EQ(FormatDuration(999), "999 ns");
  EXPECT_EQ(FormatDuration(812'000), "812 us");
  EXPECT_EQ(FormatDuration(45'300'000), "45.3 ms");
  EXPECT_EQ(FormatDuration(1'234'000'000), "1.234 s");
  EXPECT_EQ(FormatDuration(123'000'000'000), "2m 03s");
  EXPECT_EQ(FormatDuration(int64_t{5 * 3600 + 7 * 60} * 1'000'000'000), "5h 07m");
  EXPECT_EQ(FormatDuration(int64_t{3 * 86'400 + 4 * 3600} * 1'000'000'000), "3d 04h");
}

TEST(Durations, AgesHaveOneUnit) {
  EXPECT_EQ(FormatAge(-1), "0s");
  EXPECT_EQ(FormatAge(4'900'000'000), "4s");
  EXPECT_EQ(FormatAge(int64_t{200} * 1'000'000'000), "3m");
  EXPECT_EQ(FormatAge(int64_t{86'399} * 1'000'000'000), "23h");
  EXPECT_EQ(FormatAge(int64_t{12 * 86'400} * 1'000'000'000), "12d");
}

TEST(Durations, CanBeCompared) {
  struct Case {
    double ns;
    const char* text;
  };
  for (const Case& c :
       {Case{0, "0 ns"}, Case{17, "17 ns"}, Case{1.25, "1.25 ns"}, Case{999, "999 ns"}, Case{1000, "1.000 us"},
        Case{-12'345'678, "-12.346 ms"}, Case{999'999, "999.999 us"}, Case{999'999.9, "1.000 ms"},
        Case{1'234'567'890, "1.235 s"}, Case{12'345'678'000'000, "12,345.678 s"}}) {
    EXPECT_EQ(FormatComparableNs(c.ns), c.text);
  }
}

TEST(Numbers, AreGrouped) {
  EXPECT_EQ(Grouped("1"), "1");
  EXPECT_EQ(Grouped("123"), "123");
  EXPECT_EQ(Grouped("-1234"), "-1,234");
  EXPECT_EQ(Grouped("-123.4567"), "-123.4567");
  EXPECT_EQ(Grouped("1234567.891"), "1,234,567.891");
}

}  // namespace
}  // namespace kprof::cli
