#include "daemon/ingest/ncu/ncu_csv_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "daemon/ingest/ncu/metric_units.h"
#include "tests/fakes/ingest/batch_texts.h"
#include "tests/fakes/ingest/memory_text.h"

namespace kprof {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr char kLeading[] =
    "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Context\",\"Stream\",\"Block Size\","
    "\"Grid Size\",\"Device\",\"CC\"";
constexpr char kDetails[] =
    ",\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\",\"Rule Name\",\"Rule Type\",\"Rule "
    "Description\",\"Estimated Speedup Type\",\"Estimated Speedup\"\n";

std::string LaunchCells(int id, const std::string& kernel = "void copy<float>(float *, int)") {
  return "\"" + std::to_string(id) + "\",\"4711\",\"/usr/bin/bench\",\"secret-host\",\"" + kernel +
         "\",\"1\",\"7\",\"(256, 1, 1)\",\"(1,024, 2, 1)\",\"0\",\"9.0\"";
}
std::string MetricLine(int id, const std::string& section, const std::string& name, const std::string& unit,
                       const std::string& value) {
  return LaunchCells(id) + ",\"" + section + "\",\"" + name + "\",\"" + unit + "\",\"" + value + "\",\n";
}
std::string AskedLine(const std::string& name, const std::string& unit, const std::string& value) {
  return MetricLine(0, "Command line profiler metrics", name, unit, value);
}
std::string DetailsOf(const std::string& rows) {
  return std::string(kLeading) + kDetails + rows;
}

Status ReadCsvInto(BatchTexts& texts, const std::string& content) {
  MemoryText text(content);
  return ReadNcuCsv(text, texts, 1 << 20);
}

// The values of the metrics, "name=value unit".
std::vector<std::string> MetricsOf(const BatchTexts& texts) {
  std::vector<std::string> metrics;
  for (const std::string& row : texts.side_rows) {
    const std::string begin = "metric void copy<float>(float *, int) ";
    if (row.starts_with(begin)) metrics.push_back(row.substr(begin.size()));
  }
  return metrics;
}

TEST(NcuCsvReader, GivesMetricsTheirIdentifiersBySectionAndLabel) {
  BatchTexts texts;
  ASSERT_TRUE(
      ReadCsvInto(texts,
                  DetailsOf(MetricLine(0, "GPU Speed Of Light Throughput", "Memory Throughput", "%", "61.84") +
                            MetricLine(0, "Memory Workload Analysis", "Memory Throughput", "Gbyte/second", "196.50") +
                            MetricLine(0, "Launch Statistics", "Function Cache Configuration", "", "CachePreferNone") +
                            MetricLine(0, "A New Section", "Some Metric", "", "3")))
          .ok());
  EXPECT_THAT(MetricsOf(texts),
              ElementsAre("0 gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed 61.84 %",
                          "0 dram__bytes.sum.per_second 1.965e+11 byte/s", "0 Some Metric 3 "));
  EXPECT_THAT(texts.side_rows, Contains(HasSubstr("kernel_text void copy<float>(float *, int) 0 "
                                                  "launch__func_cache_config CachePreferNone")));
  EXPECT_THAT(texts.side_rows,
              Contains("kernel_section 0 MemoryWorkloadAnalysis Memory Workload Analysis 30 dram__bytes.sum.per_second "
                       "Memory Throughput"));
  EXPECT_THAT(texts.side_rows, Contains("kernel_section 0 A New Section A New Section NULL Some Metric Some Metric"));
  EXPECT_THAT(texts.side_rows,
              Contains("kernel_launch 0 void copy<float>(float *, int) copy NULL kernel 4711 bench 0 NULL 9.0 1 7 1024 "
                       "2 1 256 1 1 NULL NULL"));
  for (const std::string& row : texts.side_rows) EXPECT_THAT(row, Not(HasSubstr("secret-host")));
}

TEST(NcuCsvReader, KeepsRulesWithLineBreaksAndQuotesInTheirTexts) {
  BatchTexts texts;
  ASSERT_TRUE(
      ReadCsvInto(texts, DetailsOf(LaunchCells(0) +
                                   ",\"SpeedOfLight\",\"\",\"\",\"\",\"SOLBottleneck\",\"OPT\",\"Memory is "
                                   "\"\"busy\"\",\r\nlook there\",\"global\",\"12.50\"\n" +
                                   LaunchCells(0) +
                                   ",\"WarpStateStats\",\"\",\"\",\"\",\"CPIStall\",\"INF\",\"Check it\",\"\",\"\"\n"))
          .ok());
  EXPECT_THAT(texts.side_rows,
              Contains("kernel_rule 0 void copy<float>(float *, int) SOLBottleneck NULL SpeedOfLight OPT Memory is "
                       "\"busy\",\r\nlook there global 12.5 NULL nan NULL"));
  EXPECT_THAT(texts.side_rows, Contains("kernel_rule 0 void copy<float>(float *, int) CPIStall NULL WarpStateStats INF "
                                        "Check it NULL nan NULL nan NULL"));
  EXPECT_THAT(texts.warnings, IsEmpty());
}

TEST(NcuCsvReader, ReadsTheRawPageWithItsUnitsAndEveryLaunch) {
  BatchTexts texts;
  const std::string head =
      std::string(kLeading) + ",\"gpu__time_duration.sum\",\"dram__bytes.sum\",\"launch__func_cache_config\"\n";
  const std::string units = "\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"usecond\",\"Mbyte\",\"\"\n";
  ASSERT_TRUE(ReadCsvInto(texts, head + units + LaunchCells(0) + ",\"2.50\",\"1,234.5\",\"CachePreferNone\"\n" +
                                     LaunchCells(1) + ",\"3.5\",\"n/a\",\"CachePreferNone\"\n")
                  .ok());
  EXPECT_THAT(MetricsOf(texts), ElementsAre("0 gpu__time_duration.sum 2500 ns", "0 dram__bytes.sum 1234500000 byte",
                                            "1 gpu__time_duration.sum 3500 ns"));
  EXPECT_EQ(texts.facts.at("source.page"), "raw");
  EXPECT_THAT(texts.warnings, IsEmpty());
}

// A row of units is known by its empty number of a launch, whatever a kernel is called.
TEST(NcuCsvReader, TakesAKernelCalledBlockForNoRowOfUnits) {
  BatchTexts texts;
  const std::string head = std::string(kLeading) + ",\"gpu__time_duration.sum\"\n";
  ASSERT_TRUE(ReadCsvInto(texts, head + LaunchCells(0, "block_reduce") + ",\"2500\"\n").ok());
  EXPECT_THAT(texts.side_rows, Contains("metric block_reduce 0 gpu__time_duration.sum 2500 ns"));
}

struct StyleCase {
  const char* printed;
  const char* other;  // a number of the same text, written in one way alone
  const char* value;
};

TEST(NcuCsvReader, ReadsNumbersAsTheTextsLocaleWritesThem) {
  for (const StyleCase& c :
       {StyleCase{"1,234", "7.25", "1234"}, StyleCase{"1.234", "7.25", "1.234"}, StyleCase{"1.234", "65,77", "1234"},
        StyleCase{"1,234", "65,77", "1.234"}, StyleCase{"1.234.567,8", "17", "1234567.8"},
        StyleCase{"1,234,567.8", "17", "1234567.8"},
        StyleCase{"1\xe2\x80\xaf"
                  "234,5",
                  "17", "1234.5"},
        StyleCase{"1'234.5", "17", "1234.5"}, StyleCase{"0.125", "17", "0.125"}, StyleCase{"4.0e-05", "17", "4e-05"},
        StyleCase{"99.5%", "17", "99.5"}, StyleCase{"-3", "17", "-3"}}) {
    BatchTexts texts;
    ASSERT_TRUE(ReadCsvInto(texts, DetailsOf(AskedLine("a", "", c.printed) + AskedLine("b", "", c.other))).ok());
    EXPECT_THAT(MetricsOf(texts), Contains(std::string("0 a ") + c.value + " ")) << c.printed << " beside " << c.other;
  }
}

TEST(NcuCsvReader, ScalesUnitsToTheirBase) {
  BatchTexts texts;
  ASSERT_TRUE(
      ReadCsvInto(texts, DetailsOf(AskedLine("a", "Ghz", "1.5") + AskedLine("b", "msecond", "2") +
                                   AskedLine("c", "Kbyte/block", "1.02") + AskedLine("d", "cycle/nsecond", "1.5") +
                                   AskedLine("e", "register/thread", "32") + AskedLine("f", "Tbyte/s", "3.25")))
          .ok());
  EXPECT_THAT(MetricsOf(texts), ElementsAre("0 a 1.5e+09 hz", "0 b 2e+06 ns", "0 c 1020 byte/block", "0 d 1.5e+09 hz",
                                            "0 e 32 register/thread", "0 f 3.25e+12 byte/s"));
}

TEST(NcuCsvReader, PassesOverLinesOfOtherPrograms) {
  BatchTexts texts;
  ASSERT_TRUE(ReadCsvInto(texts, "\xef\xbb\xbf==PROF== Connected to process 4711 (bench)\nloss 1,5 \"ID\" 3\n" +
                                     DetailsOf("==PROF== Disconnected from process 4711\nstep \"3\n" +
                                               AskedLine("a", "", "1") + "done, 17\n" + AskedLine("b", "", "2")))
                  .ok());
  EXPECT_THAT(MetricsOf(texts), ElementsAre("0 a 1 ", "0 b 2 "));
  EXPECT_THAT(texts.warnings, ElementsAre("2 lines among the rows are of another program: they were left out"));
}

TEST(NcuCsvReader, TakesEachTableForItsOwnLaunches) {
  BatchTexts texts;
  ASSERT_TRUE(ReadCsvInto(texts, DetailsOf(AskedLine("a", "", "1")) + DetailsOf(AskedLine("a", "", "2"))).ok());
  EXPECT_THAT(MetricsOf(texts), ElementsAre("0 a 1 ", "1 a 2 "));
}

TEST(NcuCsvReader, KeepsInstancesBehindTheirMetric) {
  BatchTexts texts;
  ASSERT_TRUE(
      ReadCsvInto(texts, DetailsOf(AskedLine("a", "", "6 (1; 2; 3)") + AskedLine("b", "", "5 (MOV: 2; FFMA: 3)")))
          .ok());
  EXPECT_THAT(MetricsOf(texts), ElementsAre("0 a 6 ", "0 b 5 "));
  EXPECT_THAT(texts.side_rows, Contains("kernel_instance 0 a NULL 2 3 NULL"));
  EXPECT_THAT(texts.side_rows, Contains("kernel_instance 0 b FFMA NULL 3 NULL"));
}

TEST(NcuCsvReader, KeepsWhatIsWholeOfATextThatEndsEarly) {
  BatchTexts texts;
  const std::string whole = DetailsOf(AskedLine("a", "", "1") + LaunchCells(0) +
                                      ",\"SpeedOfLight\",\"\",\"\",\"\",\"SOLBottleneck\",\"OPT\",\"Memory is");
  ASSERT_TRUE(ReadCsvInto(texts, whole).ok());
  EXPECT_THAT(MetricsOf(texts), ElementsAre("0 a 1 "));
  EXPECT_THAT(texts.warnings, ElementsAre("1 rows are cut off, or of no launch: they were left out"));
}

TEST(NcuCsvReader, CountsValuesThatAreNotFinite) {
  BatchTexts texts;
  ASSERT_TRUE(
      ReadCsvInto(texts, DetailsOf(AskedLine("a", "", "nan") + AskedLine("b", "", "inf") + AskedLine("c", "", "1")))
          .ok());
  EXPECT_THAT(MetricsOf(texts), ElementsAre("0 c 1 "));
  EXPECT_THAT(texts.warnings, ElementsAre("2 values are not finite (NaN, infinity): they are absent"));
}

TEST(NcuCsvReader, SaysWhyThereIsNoLaunch) {
  struct Case {
    std::string text;
    const char* why;
  };
  for (const Case& c :
       {Case{"==PROF== Connected\n==ERROR== ERR_NVGPUCTRPERM - no permission\n",
             "ncu says: ==ERROR== ERR_NVGPUCTRPERM"},
        Case{DetailsOf(""), "its table has no launch"},
        Case{"\"Process ID\",\"Kernel Name\",\"Invocations\",\"Minimum\"\n", "it is a summary over launches"}}) {
    BatchTexts texts;
    const Status status = ReadCsvInto(texts, c.text);
    EXPECT_EQ(status.code(), ErrorCode::kBadInput);
    EXPECT_THAT(status.ToString(), HasSubstr(c.why));
    EXPECT_FALSE(status.remedy().empty());
  }
}

TEST(NcuCsvReader, IsRecognisedByItsHeadOrNcusOwnLines) {
  const auto looks = [](const std::string& text) { return LooksLikeNcuCsv(std::string_view(text).substr(0, 4096)); };
  EXPECT_TRUE(looks(DetailsOf("")));
  EXPECT_TRUE(looks("\xef\xbb\xbf" + DetailsOf("")));
  EXPECT_TRUE(looks("hello\n" + DetailsOf("")));
  EXPECT_TRUE(looks("==PROF== Connected to process 1 (a)\n" + std::string(8000, 'x')));
  EXPECT_TRUE(looks("ID;Process ID;Kernel Name;Metric Name;Metric Value\n"));
  EXPECT_FALSE(looks("ID,Name\n1,Kernel Name\n"));
  EXPECT_FALSE(looks("[]"));
  EXPECT_FALSE(looks(""));
}

// The identifiers that sections are known to show have the units that a real page prints.
TEST(NcuCsvReader, ReadsTheRealPageInFull) {
  const char* data = std::getenv("KPROF_TEST_DATA");
  const std::string path = std::string(data == nullptr ? "" : data) + "/ncu/t4_copy_blocked_details.csv";
  if (data == nullptr || !std::filesystem::exists(path)) GTEST_SKIP() << "needs KPROF_TEST_DATA";
  std::stringstream content;
  content << std::ifstream(path).rdbuf();
  BatchTexts texts;
  ASSERT_TRUE(ReadCsvInto(texts, content.str()).ok());
  EXPECT_THAT(texts.warnings, IsEmpty());
  const auto count = [&](const std::string& begin) {
    int64_t found = 0;
    for (const std::string& row : texts.side_rows) found += row.starts_with(begin) ? 1 : 0;
    return found;
  };
  EXPECT_EQ(count("kernel_launch "), 1);
  EXPECT_EQ(count("metric "), 71);
  EXPECT_EQ(count("kernel_text "), 1);
  EXPECT_EQ(count("kernel_rule "), 11);
  EXPECT_EQ(count("kernel_section "), 72);
  EXPECT_THAT(texts.side_rows,
              Contains(AllOf(StartsWith("metric copy_blocked["), HasSubstr(" 0 gpu__time_duration.sum 21058944 ns"))));
  EXPECT_THAT(texts.side_rows, Contains(HasSubstr(" 0 dram__bytes.sum.per_second 196456177859.63 byte/s")));
  EXPECT_THAT(texts.side_rows, Contains(HasSubstr(" 0 sm__throughput.avg.pct_of_peak_sustained_elapsed 1.3 %")));
  EXPECT_THAT(texts.side_rows, Contains(HasSubstr(" UncoalescedGlobalAccess NULL SourceCounters OPT ")));
  int64_t with_identifier = 0;
  for (const std::string& row : texts.side_rows) {
    if (row.starts_with("metric ") && row.find("__") != row.npos) ++with_identifier;
  }
  EXPECT_EQ(with_identifier, 67);  // all but those of PM sampling
}

TEST(MetricUnits, AreToldByTheNamesOfMetrics) {
  struct Case {
    const char* name;
    const char* unit;
  };
  for (const Case& c : {Case{"gpu__time_duration.sum", "ns"},
                        Case{"dram__bytes.sum.per_second", "byte/s"},
                        Case{"dram__bytes_read.sum", "byte"},
                        Case{"dram__bytes.sum.peak_sustained", "byte/cycle"},
                        Case{"gpc__cycles_elapsed.avg.per_second", "hz"},
                        Case{"sm__cycles_active.avg", "cycle"},
                        Case{"sm__inst_executed.avg.per_cycle_active", "inst/cycle"},
                        Case{"sm__throughput.avg.pct_of_peak_sustained_elapsed", "%"},
                        Case{"l1tex__t_sector_hit_rate.pct", "%"},
                        Case{"sm__maximum_warps_per_active_cycle_pct", "%"},
                        Case{"launch__registers_per_thread", "register/thread"},
                        Case{"launch__occupancy_limit_blocks", "block"},
                        Case{"launch__grid_size", ""},
                        Case{"launch__waves_per_multiprocessor", ""},
                        Case{"smsp__warps_active.avg.per_cycle_active", "warp"},
                        Case{"smsp__issue_active.avg.per_cycle_active", ""},
                        Case{"smsp__average_warp_latency_per_inst_issued.ratio", "cycle"},
                        Case{"smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio", "inst"},
                        Case{"lts__t_sectors_op_read.sum", "sector"},
                        Case{"TriageSCG.gpc__cycles_elapsed.sum", "cycle"},
                        Case{"breakdown:sm__throughput.avg.pct_of_peak_sustained_elapsed", ""},
                        Case{"device__attribute_display_name", ""},
                        Case{"", ""}}) {
    EXPECT_EQ(UnitOfMetric(c.name), c.unit) << c.name;
  }
}

}  // namespace
}  // namespace kprof
