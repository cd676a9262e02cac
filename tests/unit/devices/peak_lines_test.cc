#include "daemon/devices/peaks/peak_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kprof {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const std::string kLinesHeader = std::string(kPeakFileHeader) + "\n";

TEST(PeakLines, ReadsFieldsWithTheNumberOfTheirLine) {
  Result<std::vector<PeakLine>> lines = ReadPeakLines("# a comment, \"\n\n" + kLinesHeader +
                                                          "  # another\n"
                                                          "A,dense_rate,bf16,fp32,989,TFLOP/s,high,\"x, \"\"y\"\"\",\n"
                                                          " B , name ,,, NVIDIA B ,, , ,a note\n",
                                                      "p.csv");
  ASSERT_TRUE(lines.ok()) << lines.status().ToString();
  ASSERT_THAT(*lines, SizeIs(2));
  const PeakLine& number = (*lines)[0];
  EXPECT_EQ(number.number, 5U);
  EXPECT_EQ(number.device, "A");
  EXPECT_EQ(number.quantity, "dense_rate");
  EXPECT_EQ(number.dtype, "bf16");
  EXPECT_EQ(number.accumulate, "fp32");
  EXPECT_EQ(number.value, "989");
  EXPECT_EQ(number.unit, "TFLOP/s");
  EXPECT_EQ(number.confidence, "high");
  EXPECT_EQ(number.source, "x, \"y\"");
  EXPECT_EQ(number.note, "");
  const PeakLine& name = (*lines)[1];
  EXPECT_EQ(name.number, 6U);
  EXPECT_EQ(name.device, "B");
  EXPECT_EQ(name.value, "NVIDIA B");
  EXPECT_EQ(name.note, "a note");
}

TEST(PeakLines, TakesTheEndsOfLinesThatEditorsWrite) {
  Result<std::vector<PeakLine>> lines =
      ReadPeakLines("\xef\xbb\xbf" + std::string(kPeakFileHeader) + "\r\nA,,,,,,,,\r\n\r\nB,,,,,,,,\"x\"", "p.csv");
  ASSERT_TRUE(lines.ok()) << lines.status().ToString();
  ASSERT_THAT(*lines, SizeIs(2));
  EXPECT_EQ((*lines)[1].note, "x");
  EXPECT_THAT(*ReadPeakLines(kLinesHeader, "p.csv"), IsEmpty());
}

TEST(PeakLines, NamesTheLineThatIsOutOfForm) {
  struct Case {
    std::string text;
    const char* what;
    const char* why;
    const char* remedy;
  };
  const std::string long_line = "# " + std::string(kMostPeakLineBytes, 'x');
  const Case cases[] = {
      {"", "p.csv:1", "the header is missing", "begin with the line device,quantity,dtype,"},
      {"\n# only this\n", "p.csv:2", "the header is missing", "begin with the line device,quantity"},
      {"A,name,,,NVIDIA A,,,,\n", "p.csv:1", "the header is missing", "begin with the line device,quantity"},
      {"device,quantity,dtype,value,unit\n", "p.csv:1", "the header is missing", "begin with the line device,quantity"},
      {kLinesHeader + "A,name,,,NVIDIA A,,,\n", "p.csv:2", "the line has 8 fields, not 9", "quote one that has commas"},
      {kLinesHeader + "\nA,name,,,NVIDIA A,,,,,\n", "p.csv:3", "the line has 10 fields, not 9",
       "they are device,quantity"},
      {kLinesHeader + "A,name,,,NVIDIA A,,,x,y, z\n", "p.csv:2", "the line has 10 fields, not 9", "quote one"},
      {kLinesHeader + "A,name,,,\"NVIDIA A,,,,\n", "p.csv:2", "a quote is not closed", "in quotes"},
      {kLinesHeader + "A,name,,,\"NVIDIA\" A,,,,\n", "p.csv:2", "there is text behind a closing quote", "in quotes"},
      {kLinesHeader + "A,name,,,NVIDIA \"A\",,,,\n", "p.csv:2", "there is a quote within a field",
       "write \"\" for a quote"},
      {kLinesHeader + "A,name,,,NVIDIA\tA,,,,\n", "p.csv:2", "not plain text in UTF-8: A,name,,,NVIDIA\\tA", "remove"},
      {kLinesHeader + std::string("A,name,,,\0,,,,\n", 15), "p.csv:2", "the line is not plain text in UTF-8", "remove"},
      {kLinesHeader + "A,name,,,\xff,,,,\n", "p.csv:2", "the line is not plain text in UTF-8: A,name,,,\\xff",
       "remove"},
      {kLinesHeader + "A,name,,,\xe2\x80\xae,,,,\n", "p.csv:2", "the line is not plain text in UTF-8", "remove"},
      {kLinesHeader + long_line, "p.csv:2", "the line has 4098 bytes", "leave at most 4096"},
      {std::string(kMostPeakFileLines + 1, '\n'), "p.csv:20001", "the file has too many lines", "leave at most 20000"},
      {std::string(kMostPeakFileBytes + 1, '\n'), "p.csv:1", "the file has 1048577 bytes", "leave at most 1048576"},
  };
  for (const Case& c : cases) {
    const Status status = ReadPeakLines(c.text, "p.csv").status();
    EXPECT_EQ(status.code(), ErrorCode::kBadInput) << c.why;
    EXPECT_EQ(status.what(), c.what) << c.why;
    EXPECT_THAT(status.why(), HasSubstr(c.why));
    EXPECT_THAT(status.remedy(), HasSubstr(c.remedy)) << c.why;
  }
}

// A file that was cut off has the lines before, or is refused: never half of a number.
TEST(PeakLines, TakesNoLineThatWasCutOff) {
  const std::string text = kLinesHeader + "A,dense_rate,bf16,fp32,989,TFLOP/s,high,\"x, y\",\"z\"\n";
  for (size_t size = 0; size < text.size() - 1; ++size) {
    Result<std::vector<PeakLine>> lines = ReadPeakLines(std::string_view(text).substr(0, size), "p.csv");
    // Behind the last comma it is whole, but for the note.
    const bool has_line = lines.ok() && !lines->empty();
    EXPECT_TRUE(!has_line || size >= text.size() - 4) << size;
  }
}

}  // namespace
}  // namespace kprof
