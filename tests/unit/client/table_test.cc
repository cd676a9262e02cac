#include "client/cli/text/table.h"

#include <gtest/gtest.h>

namespace kprof::cli {
namespace {

TEST(Table, AlignsColumns) {
  std::string text;
  Table table({{"ID"}, {"AGE", Align::kRight}, {"COMMAND"}}, 0, [&](std::string_view line) { text += line; });
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
  Table table({{"ID"}, {"COMMAND"}}, 20, [&](std::string_view line) { text += line; });
  table.AddRow({"abcd", "python train.py --steps 10"});
  table.Finish();
  EXPECT_EQ(text,
            "ID    COMMAND\n"
            "abcd  python trai...\n");
}

TEST(Table, MakesCellsSafeForTerminals) {
  std::string text;
  Table table({{"LABEL"}}, 0, [&](std::string_view line) { text += line; });
  table.AddRow({"\x1b[2J\n"});
  table.Finish();
  EXPECT_EQ(text, "LABEL\n\\x1b[2J\\n\n");
}

TEST(Table, WritesRowsAsTheyComeOnceItKnowsTheWidths) {
  std::string text;
  Table table({{"N"}}, 0, [&](std::string_view line) { text += line; });
  for (int i = 0; i < 999; ++i) table.AddRow({std::to_string(i)});
  EXPECT_EQ(text, "");
  table.AddRow({"999"});
  EXPECT_TRUE(text.ends_with("999\n"));
  table.AddRow({"much longer than the rest"});
  EXPECT_TRUE(text.ends_with("much longer than the rest\n"));
}

}  // namespace
}  // namespace kprof::cli
