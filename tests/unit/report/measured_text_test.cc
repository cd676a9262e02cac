#include "daemon/analysis/report/measured_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "daemon/analysis/report/markdown_table.h"

namespace kprof {
namespace {

struct Measured {
  double value;
  const char* unit;
  const char* text;
};

TEST(MeasuredText, HasThreeDigitsOrSoAndAUnitThatFits) {
  constexpr Measured kCases[] = {
      {412'345, "ns", "412.3 us"},
      {21'058'944, "ns", "21.06 ms"},
      {999, "ns", "999 ns"},
      {7.5e12, "ns", "7,500 s"},
      {1.755e9, "hz", "1.75 GHz"},
      {585e3, "hz", "585 kHz"},
      {49'152, "byte", "49.15 KB"},
      {0, "byte", "0 B"},
      {1.23e12, "byte/s", "1.23 TB/s"},
      {49'152, "byte/block", "49.15 KB/block"},
      {61.839, "%", "61.84 %"},
      {100, "%", "100 %"},
      {12'319'469, "cycle", "12,319,469 cycle"},
      {0.0123, "", "0.0123"},
      {933.13, "", "933.1"},
      {1234.5, "", "1,235"},
      {-1234.5, "", "-1,235"},
      {1e-7, "", "1e-07"},
      {3e18, "inst", "3e+18 inst"},
      {HUGE_VAL, "ns", "-- s"},
  };
  for (const Measured& each : kCases) EXPECT_EQ(MeasuredText(each.value, each.unit), each.text) << each.value;
}

TEST(MarkdownTable, HasColumnsBelowEachOther) {
  MarkdownTable table({"Name", "Value>", "Nothing"});
  table.AddRow({"a|b", "1"});
  table.AddRow({"µs", "1,000"});
  EXPECT_EQ(table.Text(),
            "| Name | Value |\n"
            "|------|------:|\n"
            "| a\\|b |     1 |\n"
            "| µs   | 1,000 |\n");
  EXPECT_EQ(MarkdownTable({"Name"}).Text(), "");
}

TEST(MarkdownTable, IsNotWidenedByOneLongCell) {
  MarkdownTable table({"A", "B"});
  table.AddRow({std::string(100, 'x'), "1"});
  table.AddRow({"y", "2"});
  const std::string text = table.Text();
  EXPECT_EQ(text.substr(text.rfind("| y")), "| y" + std::string(59, ' ') + " | 2 |\n");
}

}  // namespace
}  // namespace kprof
