#include "client/cli/text/cells.h"

#include <gtest/gtest.h>

namespace kprof::cli {
namespace {

std::string Field(std::string_view text) {
  std::string out;
  AppendCsvField(out, text, true);
  return out;
}

TEST(Csv, QuotesOnlyWhatNeedsIt) {
  EXPECT_EQ(Field("plain text"), "plain text");
  EXPECT_EQ(Field("a,b"), "\"a,b\"");
  EXPECT_EQ(Field("say \"hi\""), "\"say \"\"hi\"\"\"");
  EXPECT_EQ(Field("two\nlines"), "\"two\nlines\"");
  EXPECT_EQ(Field(" indented"), "\" indented\"");
}

TEST(Csv, TellsEmptyTextFromAnAbsentValue) {
  std::string out;
  AppendCsvField(out, "", true);
  AppendCsvAbsent(out, false);
  AppendCsvField(out, "x", false);
  AppendCsvEnd(out);
  EXPECT_EQ(out, "\"\",,x\r\n");
}

}  // namespace
}  // namespace kprof::cli
