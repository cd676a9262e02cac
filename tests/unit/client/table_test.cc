#include "client/cli/text/table.h"

#include <gtest/gtest.h>

namespace kprof::cli {
namespace {

TEST(Table, AlignsColumns) {
  std::string text;
  Table table({{"ID"}, {"AGE", Align::kRight}, {"COMMAND"}}, {}, [&](std::string_view line) { text += line; });
  table.AddRow({"a", "12s", "true"});
  table.AddRow({"gr\xc3\xbc\xc3\x9f", "3m", ""});
  table.Finish();
  EXPECT_EQ(text,
            "ID    AGE  COMMAND\n"
            "a     12s  true\n"
            "gr\xc3\xbc\xc3\x9f   3m\n");
}

TEST(Table, ShortensTheLastColumnToTheWidth) {
  std::string text;
  Table table({{"ID"}, {"COMMAND"}}, {.width = 20}, [&](std::string_view line) { text += line; });
  table.AddRow({"abcd", "python train.py --steps 10"});
  table.Finish();
  EXPECT_EQ(text,
            "ID    COMMAND\n"
            "abcd  python trai...\n");
}

TEST(Table, ShortensTheWidestColumnsThatMayBeCut) {
  std::string text;
  Table table({{"ID"}, {"NAME", Align::kLeft, Cut::kInMiddle}, {"NS", Align::kRight}}, {.width = 30},
              [&](std::string_view line) { text += line; });
  table.AddRow({"abcd", "void gemm<float, 128>(int)", "123456"});
  table.AddRow({"abcd", "void gemm<float, 256>(int)", "1"});
  table.Finish();
  EXPECT_EQ(text,
            "ID    NAME                  NS\n"
            "abcd  void ge...>(int)  123456\n"
            "abcd  voi...256>...nt)       1\n");
}

TEST(Table, LeavesOutColumnsWhereTheLineIsFull) {
  std::string text;
  Table table({{"A", Align::kRight}, {"B", Align::kRight}, {"C", Align::kRight}},
              {.width = 12, .leaves_out_columns = true}, [&](std::string_view line) { text += line; });
  table.AddRow({"12345", "67890", "1"});
  table.Finish();
  EXPECT_EQ(text, "    A      B\n12345  67890\n");
  EXPECT_EQ(table.LeftOut(), std::vector<std::string>{"C"});
}

TEST(Table, ColoursAreNoPartOfTheWidth) {
  std::string text;
  Table table({{"STATE"}, {"ID"}}, {.width = 40, .has_colours = true}, [&](std::string_view line) { text += line; });
  table.AddStyledRow({{"failed", TextStyle::kTrouble}, {"a"}});
  table.AddStyledRow({{"done"}, {"b"}});
  table.Finish();
  EXPECT_EQ(text, "STATE   ID\n\x1b[1;31mfailed\x1b[0m  a\ndone    b\n");
}

TEST(Table, MakesCellsSafeForTerminals) {
  std::string text;
  Table table({{"LABEL"}}, {}, [&](std::string_view line) { text += line; });
  table.AddRow({"\x1b[2J\n"});
  table.Finish();
  EXPECT_EQ(text, "LABEL\n\\x1b[2J\\n\n");
}

TEST(Table, WritesRowsAsTheyComeOnceItKnowsTheWidths) {
  std::string text;
  Table table({{"N"}}, {}, [&](std::string_view line) { text += line; });
  for (int i = 0; i < 999; ++i) table.AddRow({std::to_string(i)});
  EXPECT_EQ(text, "");
  table.AddRow({"999"});
  EXPECT_TRUE(text.ends_with("999\n"));
  table.AddRow({"much longer than the rest"});
  EXPECT_TRUE(text.ends_with("much longer than the rest\n"));
}

}  // namespace
}  // namespace kprof::cli
