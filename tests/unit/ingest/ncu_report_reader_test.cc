#include "daemon/ingest/ncu/ncu_report_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "daemon/ingest/ncu/report_messages.h"
#include "daemon/ingest/ncu/report_rows.h"
#include "tests/fakes/ingest/batch_texts.h"
#include "tests/fakes/ingest/memory_text.h"
#include "tests/fakes/ingest/ncu_report_bytes.h"

namespace kprof {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr char kKernel[] = "void copy(float *)";

std::string NamedKernel() {
  return ProtoNumber(1, 4711) + ProtoText(5, "_Z4copyPf") + ProtoText(6, "copy") + ProtoText(7, kKernel) +
         ProtoText(10, ProtoNumber(1, 64) + ProtoNumber(2, 2) + ProtoNumber(3, 1)) +
         ProtoText(11, ProtoNumber(1, 256) + ProtoNumber(2, 1) + ProtoNumber(3, 1));
}

Status ReadReportInto(BatchTexts& texts, const std::string& content, const NcuReportLimits& limits = {}) {
  MemoryText text(content);
  return ReadNcuReport(text, texts, limits);
}

std::vector<std::string> RowsOf(const BatchTexts& texts, const std::string& table) {
  std::vector<std::string> rows;
  for (const std::string& row : texts.side_rows) {
    if (row.starts_with(table + " ")) rows.push_back(row.substr(table.size() + 1));
  }
  return rows;
}

ReportBlock SmallBlock() {
  return {.names = {"gpu__time_duration.sum", "launch__func_cache_config"},
          .results = {NamedKernel() + MetricResultOf(0, RealValue(2500)) +
                      MetricResultOf(1, TextValue("CachePreferNone"))}};
}

TEST(NcuReportReader, KeepsEveryLaunchWithItsMetricsAndUnits) {
  BatchTexts texts;
  ReportBlock block = SmallBlock();
  block.process = ProtoNumber(1, 4711) + ProtoText(2, "secret-host") + ProtoText(3, "/home/who/bin/bench");
  ReportBlock second{.names = {"dram__bytes.sum.per_second"},
                     .results = {NamedKernel() + MetricResultOf(0, RealValue(3000)) + MetricResultOf(2, WholeValue(7)) +
                                 ProtoNumber(14, 1'750'000'000) + ProtoNumber(22, 1) + ProtoNumber(23, 13)}};
  ASSERT_TRUE(ReadReportInto(texts, ReportHead() + BlockBytes(block) + BlockBytes(second)).ok());
  EXPECT_THAT(RowsOf(texts, "metric"), ElementsAre("void copy(float *) 0 gpu__time_duration.sum 2500 ns",
                                                   "void copy(float *) 1 gpu__time_duration.sum 3000 ns",
                                                   "void copy(float *) 1 dram__bytes.sum.per_second 7 byte/s"));
  EXPECT_THAT(RowsOf(texts, "kernel_text"),
              ElementsAre("void copy(float *) 0 launch__func_cache_config CachePreferNone"));
  EXPECT_THAT(
      RowsOf(texts, "kernel_launch"),
      ElementsAre(
          "0 void copy(float *) copy _Z4copyPf kernel 4711 bench NULL NULL NULL NULL NULL 64 2 1 256 1 1 NULL NULL",
          "1 void copy(float *) copy _Z4copyPf kernel 4711 bench NULL NULL NULL 1 13 64 2 1 256 1 1 "
          "1750000000000000000 NULL"));
  EXPECT_THAT(texts.warnings, IsEmpty());
  EXPECT_EQ(texts.facts.at("source.container_version"), "7");
  for (const std::string& row : texts.side_rows) EXPECT_THAT(row, Not(HasSubstr("secret-host")));
}

TEST(NcuReportReader, KeepsInstancesByTheirKeys) {
  BatchTexts texts;
  ReportBlock block{.names = {"inst_executed"}};
  block.results = {NamedKernel() + MetricResultOf(0, "",
                                                  InstanceOf(WholeValue(0x7f00'0000'1000), WholeValue(9)) +
                                                      InstanceOf(TextValue("FFMA"), RealValue(2.5)) +
                                                      InstanceOf(WholeValue(3), TextValue("word")))};
  ASSERT_TRUE(ReadReportInto(texts, ReportHead() + BlockBytes(block)).ok());
  EXPECT_THAT(RowsOf(texts, "kernel_instance"),
              ElementsAre("0 inst_executed NULL 139637976731648 9 NULL", "0 inst_executed FFMA NULL 2.5 NULL",
                          "0 inst_executed NULL 3 nan word"));
  EXPECT_THAT(RowsOf(texts, "metric"), IsEmpty());
}

TEST(NcuReportReader, KeepsRulesThatFiredAndTheSectionsMetrics) {
  BatchTexts texts;
  const std::string item =
      ProtoText(1, ProtoText(1, "Look at the @section:Memory:Memory Analysis@ of the @url:Guide:https://a/b@.") +
                       ProtoNumber(2, 4)) +
      ProtoText(8, ProtoText(2, "dram__x") + ProtoReal(3, 76.5) + ProtoText(5, "76.5 > 10")) +
      ProtoText(10, ProtoNumber(1, 2) + ProtoReal(2, 12.5));
  const std::string fired = ProtoText(1, "SOLBottleneck") + ProtoText(2, "Bottleneck") +
                            ProtoText(3, ProtoText(1, item)) + ProtoText(4, "SpeedOfLight");
  const std::string silent = ProtoText(1, "CPIStall") + ProtoText(4, "WarpStateStats");
  const std::string section =
      ProtoText(1, "SpeedOfLight") + ProtoText(2, "Speed") + ProtoNumber(3, 10) +
      ProtoText(4, ProtoText(2, ProtoText(1, "gpu__time_duration.sum") + ProtoText(2, "Duration")));
  ReportBlock block = SmallBlock();
  block.results[0] +=
      ProtoText(19, fired) + ProtoText(19, silent) + ProtoText(17, section) + ProtoText(17, ProtoText(1, "Bare"));
  ASSERT_TRUE(ReadReportInto(texts, ReportHead() + BlockBytes(block)).ok());
  EXPECT_THAT(
      RowsOf(texts, "kernel_rule"),
      ElementsAre("0 void copy(float *) SOLBottleneck Bottleneck SpeedOfLight OPT Look at the Memory Analysis of "
                  "the Guide (https://a/b). global 12.5 dram__x 76.5 76.5 > 10"));
  EXPECT_THAT(RowsOf(texts, "kernel_section"),
              ElementsAre("0 SpeedOfLight Speed 10 gpu__time_duration.sum Duration", "0 Bare NULL NULL NULL NULL"));
}

TEST(NcuReportReader, TellsOfTheSessionWhatIsNotPrivate) {
  BatchTexts texts;
  const std::string system =
      ProtoText(1, "Linux") + ProtoText(5, "secret-host") + ProtoText(7, ProtoText(2, "192.0.2.1"));
  ReportBlock block = SmallBlock();
  block.session =
      ProtoNumber(2, 1'750'000'000) + ProtoText(3, system) + ProtoText(4, system) +
      ProtoText(
          6, ProtoNumber(1, 1) + ProtoText(2, "H100") +
                 ProtoText(3, ProtoText(1, "device__attribute_multiprocessor_count") + ProtoText(2, WholeValue(132)))) +
      ProtoText(8, ProtoText(1, "CUDA Version") + ProtoText(2, "13.0")) + ProtoText(11, "ncu --set full python a.py");
  const std::string one = BlockBytes(block);
  block.results.clear();
  block.names.clear();
  ASSERT_TRUE(ReadReportInto(texts, ReportHead() + one + BlockBytes(block)).ok());
  EXPECT_EQ(texts.facts.at("source.versions"), R"({"CUDA Version":"13.0"})");
  EXPECT_EQ(texts.facts.at("source.command_line"), R"("ncu --set full python a.py")");
  EXPECT_EQ(texts.facts.at("source.system"), R"({"os":"Linux"})");
  EXPECT_EQ(texts.facts.at("base_unix_ns"), "1750000000000000000");
  EXPECT_THAT(RowsOf(texts, "device_attribute"),
              ElementsAre("1 name nan H100", "1 device__attribute_multiprocessor_count 132 NULL"));
  EXPECT_THAT(RowsOf(texts, "kernel_launch"), ElementsAre(HasSubstr(" 4711 NULL 1 H100 ")));
  for (const auto& [name, fact] : texts.facts) EXPECT_THAT(fact, Not(HasSubstr("secret-host")));
}

TEST(NcuReportReader, CountsValuesThatAreNotFinite) {
  BatchTexts texts;
  ReportBlock block = SmallBlock();
  block.results[0] += MetricResultOf(0, RealValue(std::numeric_limits<double>::quiet_NaN())) +
                      MetricResultOf(0, RealValue(std::numeric_limits<double>::infinity()));
  ASSERT_TRUE(ReadReportInto(texts, ReportHead() + BlockBytes(block)).ok());
  EXPECT_EQ(RowsOf(texts, "metric").size(), 1u);
  EXPECT_THAT(texts.warnings, ElementsAre("2 values are not finite (NaN, infinity): they are absent"));
}

TEST(NcuReportReader, WarnsOfAVersionThatIsNotKnown) {
  BatchTexts texts;
  ASSERT_TRUE(ReadReportInto(texts, ReportHead(9) + BlockBytes(SmallBlock())).ok());
  EXPECT_EQ(RowsOf(texts, "metric").size(), 1u);
  EXPECT_THAT(texts.warnings, ElementsAre(StartsWith("tool_version_unknown: its container has version 9")));
}

// Wherever it ends, what is whole before is there, or it is said that nothing is.
TEST(NcuReportReader, KeepsWhatIsWholeOfAReportThatEndsEarly) {
  const std::string first = ReportHead() + BlockBytes(SmallBlock());
  const std::string whole = first + BlockBytes(SmallBlock());
  for (size_t size = 0; size < whole.size(); ++size) {
    BatchTexts texts;
    const Status status = ReadReportInto(texts, whole.substr(0, size));
    EXPECT_EQ(status.ok(), size >= first.size()) << size;
    if (!status.ok()) {
      EXPECT_EQ(status.code(), ErrorCode::kBadInput);
    }
    if (size <= first.size()) continue;
    EXPECT_EQ(RowsOf(texts, "kernel_launch").size(), 1u);
    EXPECT_THAT(texts.warnings, ElementsAre("it ends within the block at byte " + std::to_string(first.size()) +
                                            "; what follows is missing"));
  }
}

TEST(NcuReportReader, BelievesNoSize) {
  const std::string small = ReportHead() + BlockBytes(SmallBlock());
  const std::string of_block = small + LittleEndian(0xfffffff0, 4) + "rest";
  BatchTexts texts;
  ASSERT_TRUE(ReadReportInto(texts, of_block).ok());
  EXPECT_THAT(texts.warnings, ElementsAre(HasSubstr("has a head of 4294967280 bytes")));

  // An entry that is larger than its block: the block's end counts.
  const std::string payload = LittleEndian(1000, 4) + "short";
  const std::string head = ProtoNumber(2, 1) + ProtoNumber(5, payload.size());
  BatchTexts of_entry;
  ASSERT_TRUE(ReadReportInto(of_entry, ReportHead() + SizedMessage(head) + payload + BlockBytes(SmallBlock())).ok());
  EXPECT_EQ(RowsOf(of_entry, "metric").size(), 1u);
  EXPECT_THAT(of_entry.warnings, ElementsAre("1 blocks hold fewer entries than they say"));

  BatchTexts of_limit;
  ReportBlock large = SmallBlock();
  large.results.push_back(NamedKernel() + ProtoText(99, std::string(5000, 'x')));
  ASSERT_TRUE(ReadReportInto(of_limit, ReportHead() + BlockBytes(large), {.entry_bytes = 4096}).ok());
  EXPECT_EQ(RowsOf(of_limit, "kernel_launch").size(), 1u);
  EXPECT_THAT(of_limit.warnings, ElementsAre(HasSubstr("1 entries have more than")));
}

TEST(NcuReportReader, TakesResultsOfRangesForLaunches) {
  BatchTexts texts;
  ReportBlock block{.names = {"gpu__time_duration.sum"}};
  block.ranges = {ProtoText(7, "step") + MetricResultOf(0, RealValue(9)), ProtoText(50, "of another shape")};
  ASSERT_TRUE(ReadReportInto(texts, ReportHead() + BlockBytes(block)).ok());
  EXPECT_THAT(RowsOf(texts, "kernel_launch"), ElementsAre(StartsWith("0 step NULL NULL range ")));
  EXPECT_THAT(texts.warnings, ElementsAre("1 results of ranges have no metrics that are known: they were left out"));
}

TEST(NcuReportReader, FailsWithoutAnyResult) {
  for (const std::string& content : {ReportHead(), std::string("NVR\0", 4), std::string("NVX\0....", 8)}) {
    BatchTexts texts;
    const Status status = ReadReportInto(texts, content);
    EXPECT_EQ(status.code(), ErrorCode::kBadInput);
    EXPECT_FALSE(status.remedy().empty());
  }
}

TEST(NcuReportReader, TellsInstructionsWithTheirRangesAndLines) {
  BatchTexts texts;
  ReportBlock block = SmallBlock();
  const auto instruction = [](uint64_t address, const std::string& sass, uint64_t line) {
    return ProtoText(12, ProtoNumber(1, address) + ProtoText(2, sass) + ProtoText(3, "mov") +
                             ProtoText(5, ProtoNumber(2, line) + ProtoText(4, "/src/copy.cu")));
  };
  const std::string stack = ProtoNumber(1, 0) + ProtoText(2, ProtoText(1, "step")) +
                            ProtoText(2, ProtoText(2, ProtoText(5, ProtoText(2, "attention"))));
  block.results[0] += instruction(0x1000, "MOV R1", 3) + instruction(0x1010, "LDG R2", 4) +
                      ProtoText(21, ProtoText(2, ProtoNumber(1, 5) + ProtoText(2, stack)));
  ASSERT_TRUE(ReadReportInto(texts, ReportHead() + BlockBytes(block)).ok());
  EXPECT_THAT(RowsOf(texts, "kernel_instruction"),
              ElementsAre("0 4096 0 MOV R1 mov /src/copy.cu 3", "0 4112 16 LDG R2 mov /src/copy.cu 4"));
  EXPECT_THAT(RowsOf(texts, "kernel_launch"), ElementsAre(HasSubstr(" step/attention")));
}

TEST(NcuReportReader, IsRecognisedByItsFirstBytes) {
  EXPECT_TRUE(LooksLikeNcuReport(ReportHead()));
  EXPECT_FALSE(LooksLikeNcuReport(std::string("NVR")));
  EXPECT_FALSE(LooksLikeNcuReport(std::string("NVRx\0\0\0\0", 8)));
}

TEST(ReportMessages, LinkMarksBecomeWords) {
  EXPECT_EQ(WithoutLinkMarks("a@b.c and 1 @ 2"), "a@b.c and 1 @ 2");
  EXPECT_EQ(WithoutLinkMarks("see @url:The Guide:https://x/#y@, then"), "see The Guide (https://x/#y), then");
  EXPECT_EQ(WithoutLinkMarks("@section:A:The A@"), "The A");
  EXPECT_EQ(WithoutLinkMarks("@"), "@");
  EXPECT_EQ(WithoutLinkMarks("@url:never closed"), "@url:never closed");
}

TEST(ReportRows, BareNamesOfKernels) {
  struct Case {
    const char* kernel;
    const char* name;
  };
  for (const Case& c : {Case{"void a::b::f<int, (bool)1>(float *, int)", "f"}, Case{"copy", "copy"},
                        Case{"copy_blocked[v1,abc](Array<long long, 1>)", "copy_blocked"},
                        Case{"(anonymous namespace)::g(int)", "g"}, Case{"void (anonymous namespace)::h<3>(int)", "h"},
                        Case{"std::enable_if<true, void>::type a<T>(int)", "a"}, Case{"", ""}}) {
    EXPECT_EQ(BareKernelName(c.kernel), c.name) << c.kernel;
  }
}

}  // namespace
}  // namespace kprof
