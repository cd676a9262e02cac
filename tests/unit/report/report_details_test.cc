#include "daemon/analysis/report/report_details.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <random>

#include "tests/unit/analysis/sample_report.h"

namespace kprof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr char kKernel[] = "void flash_fwd<128>(float*)";
constexpr char kLongScoreboard[] = "smsp__pcsamp_warps_issue_stalled_long_scoreboard";
constexpr char kBarrier[] = "smsp__pcsamp_warps_issue_stalled_barrier";

class ReportDetailsTest : public testing::Test {
 protected:
  SampleReport& report() {
    if (!report_) report_ = std::make_unique<SampleReport>(trace_.NewPath());
    return *report_;
  }
  Result<std::vector<ReportDetail>> TryToMake(std::vector<std::string> asked, TakeMemory take_memory = nullptr) {
    if (report_) trace_.Take(report_->Finish());
    report_.reset();
    ReportedRun of{run_,
                   AnalysisTraces(std::vector<TracePart>(trace_.parts().begin(), trace_.parts().end()),
                                  std::vector<std::string>(trace_.parts().size(), "r1"), std::move(take_memory)),
                   "", ""};
    Report made;
    made.run_id = "r1";
    made.tool = "ncu";
    made.kernel = "flash";
    return MakeReportDetails(of, made, asked, {});
  }
  std::vector<ReportDetail> Make(std::vector<std::string> asked = {}) {
    Result<std::vector<ReportDetail>> files = TryToMake(std::move(asked));
    EXPECT_TRUE(files.ok()) << files.status().ToString();
    return files.ok() ? *std::move(files) : std::vector<ReportDetail>();
  }
  // Its text; of one that is not there "none".
  std::string TextOf(const std::string& name) {
    const std::vector<ReportDetail> files = Make({name});
    return files.size() == 1 && files[0].name == name ? files[0].text : "none";
  }
  std::vector<std::string> NamesOf(const std::vector<ReportDetail>& files) {
    std::vector<std::string> names;
    for (const ReportDetail& file : files) names.push_back(file.name);
    return names;
  }
  // A kernel of four instructions on three lines, of which `from` is the first.
  void AddCode(int64_t launch, const std::string& file = "/src/flash.cu", int64_t from = 5) {
    const char* const kSass[] = {"LDG.E R4, [R2.64]", "BAR.SYNC 0x0", "FFMA R4, R4, R5, R6", "EXIT"};
    for (int64_t i = 0; i < 4; ++i) report().AddInstruction(launch, 0x100 + 16 * i, kSass[i], file, from + i / 2);
    report().AddInstance(launch, kLongScoreboard, 0x100, 70);
    report().AddInstance(launch, kBarrier, 0x110, 20);
    report().AddInstance(launch, kLongScoreboard, 0x120, 4);
    report().AddInstance(launch, std::string(kLongScoreboard) + "_not_issued", 0x100, 60);
    for (int64_t i = 0; i < 4; ++i) report().AddInstance(launch, "inst_executed", 0x100 + 16 * i, 4096);
    report().AddInstance(launch, "memory_l2_theoretical_sectors_global", 0x100, 32768);
    report().AddInstance(launch, "memory_l2_theoretical_sectors_global_ideal", 0x100, 8192);
    report().AddInstance(launch, "l1tex__t_bytes.sum", 3, 99);  // of a unit of the device: its number is no address
  }

  SampleTrace trace_;
  std::unique_ptr<SampleReport> report_;
  RunRow run_;
};

TEST_F(ReportDetailsTest, TellWhatWasMeasuredSectionBySection) {
  for (int i = 0; i < 2; ++i) {
    const int64_t launch = report().AddLaunch(kKernel, {{kDurationName, i == 0 ? 1000.0 : 3000.0},
                                                        {kDramName, i == 0 ? 40.0 : 80.0},
                                                        {"lts__t_sector_hit_rate.pct", 90},
                                                        {"some__counter.sum", 16'105'472},
                                                        {"some__other.sum", 0}});
    report().AddText(kKernel, launch, "launch__func_cache_config", "CachePreferNone");
    report().AddSection(launch, "MemoryWorkloadAnalysis", "Memory Workload Analysis", 30, "lts__t_sector_hit_rate.pct",
                        "L2 Hit Rate");
    report().AddSection(launch, "SpeedOfLight", "GPU Speed Of Light Throughput", 10, kDurationName, "Duration");
    report().AddSection(launch, "SpeedOfLight", "GPU Speed Of Light Throughput", 10, kDramName, "DRAM Throughput");
    report().AddRule(launch, "SOLBottleneck", "OPT", "Look at @section:X:the memory\ntable@.", 10 + 10 * i, "", 0,
                     "global", "SpeedOfLight");
  }
  report().AddRule(1, "Access", "WRN", "Sectors are wasted.", -1, "", 0, "", "MemoryWorkloadAnalysis_Tables");
  report().AddAttribute("multiprocessor_count", 132);
  EXPECT_EQ(TextOf("report-verbose.md"),
            "# Kernel report: flash\n"
            "\n"
            "Run r1, tool ncu: 2 launches of 1 kernel. Values are means over the launches of a kernel, percentages and "
            "rates by their time.\n"
            "\n"
            "| # | Kernel         | Launches | Time |   Share | Of a launch |\n"
            "|--:|----------------|---------:|-----:|--------:|------------:|\n"
            "| 1 | flash_fwd<128> |        2 | 4 us | 100.0 % |        2 us |\n"
            "\n"
            "## 1. flash_fwd<128>\n"
            "\n"
            "`void flash_fwd<128>(float*)`\n"
            "\n"
            "| Launch | Value                                         |\n"
            "|--------|-----------------------------------------------|\n"
            "| Device | NVIDIA H100 80GB HBM3, compute capability 9.0 |\n"
            "\n"
            "### GPU Speed Of Light Throughput\n"
            "\n"
            "| Metric          | Unit | Value | Min | Max | Healthy                             |\n"
            "|-----------------|------|------:|----:|----:|-------------------------------------|\n"
            "| Duration        | us   |     2 |   1 |   3 |                                     |\n"
            "| DRAM Throughput | %    |    70 |  40 |  80 | > 70: no (Compute or latency bound) |\n"
            "\n"
            "- **OPT** SOLBottleneck title, est. speedup 17.5 %: Look at the memory table.\n"
            "\n"
            "### Memory Workload Analysis\n"
            "\n"
            "| Metric      | Unit | Value | Healthy |\n"
            "|-------------|------|------:|---------|\n"
            "| L2 Hit Rate | %    |    90 | > 80    |\n"
            "\n"
            "- **WRN** Access title, in 1 of 2 launches: Sectors are wasted.\n"
            "\n"
            "### Launches\n"
            "\n"
            "Duration: least 1 us, median 1 us, most 3 us, 3.00 times the least.\n"
            "\n"
            "| Launch | Duration |   DRAM |\n"
            "|-------:|---------:|-------:|\n"
            "|      0 |     1 us | 40.0 % |\n"
            "|      1 |     3 us | 80.0 % |\n"
            "\n"
            "### Other metrics\n"
            "\n"
            "| Metric                    |           Value |\n"
            "|---------------------------|----------------:|\n"
            "| some__counter.sum         |      16,105,472 |\n"
            "| launch__func_cache_config | CachePreferNone |\n"
            "\n"
            "Zero: some__other.sum.\n"
            "\n"
            "## Device\n"
            "\n"
            "| Attribute            | Device 0 |\n"
            "|----------------------|---------:|\n"
            "| multiprocessor count |      132 |\n");
}

TEST_F(ReportDetailsTest, GroupMetricsOfAReportWithoutSections) {
  report().AddLaunch(kKernel, {{kDurationName, 412'000},
                               {kComputeName, 47.5},
                               {"launch__registers_per_thread", 168},
                               {"launch__shared_mem_per_block", 49'152},
                               {"launch__occupancy_limit_registers", 2},
                               {"launch__occupancy_limit_warps", 16},
                               {"smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio", 3},
                               {"smsp__average_warps_issue_stalled_membar_per_issue_active.ratio", 1}});
  const std::string text = TextOf("report-verbose.md");
  EXPECT_THAT(text, HasSubstr("| Registers per thread    | 168                                           |\n"
                              "| Shared memory per block | 49.15 KB                                      |\n"
                              "| Blocks per SM           | 2, limited by registers                       |\n"));
  EXPECT_THAT(text, HasSubstr("### Speed of light\n"
                              "\n"
                              "| Metric             | Unit | Value |\n"
                              "|--------------------|------|------:|\n"
                              "| Duration           | us   |   412 |\n"
                              "| Compute throughput | %    | 47.50 |\n"));
  EXPECT_THAT(text, HasSubstr("### Occupancy and launch\n"));
  EXPECT_THAT(text, HasSubstr("| Reason  | Cycles per instruction |  Share | A warp waits for         |\n"
                              "|---------|-----------------------:|-------:|--------------------------|\n"
                              "| barrier |                      3 | 75.0 % | other warps of its block |\n"
                              "| membar  |                      1 | 25.0 % | a memory barrier         |\n"));
  EXPECT_THAT(text, Not(HasSubstr("Other metrics")));
}

TEST_F(ReportDetailsTest, NameKernelsBeyondTheLongest) {
  for (int i = 0; i < 40; ++i) report().AddLaunch("k" + std::to_string(i), {{kDurationName, 1000.0 * (100 - i)}});
  const std::string text = TextOf("report-verbose.md");
  EXPECT_THAT(text, HasSubstr("\n## 32. k31\n"));
  EXPECT_THAT(text, Not(HasSubstr("\n## 33. ")));
  EXPECT_THAT(text, HasSubstr("| 33 | k32    |        1 |  68 us | 2.1 % |       68 us | kernels.csv |\n"));
}

TEST_F(ReportDetailsTest, MarkHotLinesOfTheSource) {
  AddCode(report().AddLaunch(kKernel, {{kDurationName, 1000}}));
  for (int line = 1; line <= 7; ++line)
    report().AddSource("/src/flash.cu", line, "  line " + std::to_string(line) + ";");
  EXPECT_EQ(TextOf("source-flash_fwd_128_.md"),
            "# Source: flash_fwd<128>\n"
            "\n"
            "`void flash_fwd<128>(float*)`\n"
            "\n"
            "94 samples of warps and 16,384 executed instructions on 4 instructions of machine code.\n"
            "Lines with 5 % of the samples or more are marked with >.\n"
            "\n"
            "## Hot lines\n"
            "\n"
            "| Line            | Samples | Share | Stall reasons                  | Executed | Text      |\n"
            "|-----------------|--------:|------:|--------------------------------|---------:|-----------|\n"
            "| /src/flash.cu:5 |      90 | 95.7% | long_scoreboard 70, barrier 20 |    8,192 | `line 5;` |\n"
            "\n"
            "## /src/flash.cu\n"
            "\n"
            "With 100.0 % of the samples.\n"
            "\n"
            "      line samples share top stall       executed global sectors excess  source\n"
            "         1                                                                 line 1;\n"
            "         2                                                                 line 2;\n"
            "         3                                                                 line 3;\n"
            "         4                                                                 line 4;\n"
            "    >    5      90 95.7% long_scoreboard    8,192         32,768 24,576    line 5;\n"
            "         6       4  4.3% long_scoreboard    8,192                          line 6;\n"
            "         7                                                                 line 7;\n"
            "\n"
            "## Hottest instructions\n"
            "\n"
            "| Offset | Instruction           | Line            | Samples | Share | Stall reasons      | Executed |\n"
            "|-------:|-----------------------|-----------------|--------:|------:|--------------------|---------:|\n"
            "|    0x0 | `LDG.E R4, [R2.64]`   | /src/flash.cu:5 |      70 | 74.5% | long_scoreboard 70 |    4,096 |\n"
            "|   0x10 | `BAR.SYNC 0x0`        | /src/flash.cu:5 |      20 | 21.3% | barrier 20         |    4,096 |\n"
            "|   0x20 | `FFMA R4, R4, R5, R6` | /src/flash.cu:6 |       4 |  4.3% | long_scoreboard 4  |    4,096 |\n"
            "|   0x30 | `EXIT`                | /src/flash.cu:6 |         |       |                    |    4,096 |\n"
            "\n"
            "All of its machine code: sass-flash_fwd_128_.csv.\n");
}

TEST_F(ReportDetailsTest, ShowOfALongSourceWhatIsAroundLinesWithSamples) {
  AddCode(report().AddLaunch(kKernel, {{kDurationName, 1000}}), "/src/flash.cu", 500);
  for (int line = 1; line <= 1000; ++line) report().AddSource("/src/flash.cu", line, "text " + std::to_string(line));
  const std::string text = TextOf("source-flash_fwd_128_.md");
  EXPECT_THAT(text, HasSubstr("    ... 496 lines\n"));
  EXPECT_THAT(text, HasSubstr("  text 497\n"));
  EXPECT_THAT(text, HasSubstr("  text 504\n    ... 496 lines\n"));
  EXPECT_THAT(text, Not(HasSubstr("text 505")));
}

TEST_F(ReportDetailsTest, ShowLinesWithoutTextByTheirNumbers) {
  AddCode(report().AddLaunch(kKernel, {{kDurationName, 1000}}));
  const std::string text = TextOf("source-flash_fwd_128_.md");
  EXPECT_THAT(text, HasSubstr("With 100.0 % of the samples. The report does not have its text.\n"
                              "\n"
                              "      line samples share top stall       executed global sectors excess\n"
                              "    >    5      90 95.7% long_scoreboard    8,192         32,768 24,576\n"
                              "         6       4  4.3% long_scoreboard    8,192\n"));
}

TEST_F(ReportDetailsTest, SayThatThereAreNoLines) {
  AddCode(report().AddLaunch(kKernel, {{kDurationName, 1000}}), "");
  const std::string text = TextOf("source-flash_fwd_128_.md");
  EXPECT_THAT(text, HasSubstr("No lines: the report does not say which line an instruction comes from; compile with "
                              "-lineinfo.\n\n## Hottest instructions\n"));
}

TEST_F(ReportDetailsTest, HaveMachineCodeAsCsvWithoutEmptyColumns) {
  AddCode(report().AddLaunch(kKernel, {{kDurationName, 1000}}));
  EXPECT_EQ(
      TextOf("sass-flash_fwd_128_.csv"),
      "address,offset_bytes,sass,file,line,samples,stall_long_scoreboard,stall_barrier,not_issued_long_scoreboard,"
      "inst_executed,memory_l2_theoretical_sectors_global,memory_l2_theoretical_sectors_global_ideal\r\n"
      "0x100,0,\"LDG.E R4, [R2.64]\",/src/flash.cu,5,70,70,0,60,4096,32768,8192\r\n"
      "0x110,16,BAR.SYNC 0x0,/src/flash.cu,5,20,0,20,0,4096,0,0\r\n"
      "0x120,32,\"FFMA R4, R4, R5, R6\",/src/flash.cu,6,4,4,0,0,4096,0,0\r\n"
      "0x130,48,EXIT,/src/flash.cu,6,0,0,0,0,4096,0,0\r\n");
}

TEST_F(ReportDetailsTest, AddLaunchesOfAKernelUp) {
  for (int i = 0; i < 3; ++i) AddCode(report().AddLaunch(kKernel, {{kDurationName, 1000}}));
  EXPECT_THAT(TextOf("source-flash_fwd_128_.md"),
              HasSubstr("282 samples of warps and 49,152 executed instructions on 4 instructions of machine code, 3 "
                        "launches added up.\n"));
}

TEST_F(ReportDetailsTest, GiveThePtxOfAKernel) {
  report().AddLaunch(kKernel, {{kDurationName, 1000}}, "NVIDIA L4", "", 0, "_Z5flashPf");
  const char* const kLines[] = {".version 8.4",
                                ".target sm_90",
                                ".visible .entry _Z5flashPf2(.param .u64 p) { ret; }",
                                "// .entry _Z5flashPf",
                                ".visible .entry _Z5flashPf(",
                                "  .param .u64 p // {",
                                ")",
                                "{",
                                "  { mov.u32 %r1, 1; }",
                                "  ret;",
                                "}",
                                ".visible .entry other() { ret; }"};
  int64_t line = 0;
  for (const char* text : kLines) report().AddSource("source 1.ptx", ++line, text, "ptx");
  report().AddSource("source 1.cu", 1, ".entry _Z5flashPf {");
  EXPECT_EQ(
      TextOf("ptx-flash_fwd_128_.ptx"),
      "// source 1.ptx, from line 5: the head of the module and this kernel. Other functions of the module are left "
      "out.\n"
      ".version 8.4\n"
      ".target sm_90\n"
      ".visible .entry _Z5flashPf(\n"
      "  .param .u64 p // {\n"
      ")\n"
      "{\n"
      "  { mov.u32 %r1, 1; }\n"
      "  ret;\n"
      "}\n");
}

TEST_F(ReportDetailsTest, HaveOneNameForAKernelInAllOfItsFiles) {
  const int64_t first = report().AddLaunch("f(int)", {{kDurationName, 2000}}, "NVIDIA L4", "", 0, "_Z1fi");
  const int64_t second = report().AddLaunch("f(float)", {{kDurationName, 1000}}, "NVIDIA L4", "", 0, "_Z1ff");
  report().AddInstance(first, "inst_executed", 0x10, 1);
  report().AddInstance(second, "inst_executed", 0x20, 1);
  report().AddSource("source 1.ptx", 1, ".entry _Z1ff() { ret; }", "ptx");  // the first one has none
  EXPECT_THAT(NamesOf(Make()),
              ElementsAre("report-verbose.md", "source-f.md", "source-f-2.md", "sass-f.csv", "sass-f-2.csv",
                          "ptx-f-2.ptx", "kernels.csv", "roofline.csv", "findings.csv"));
}

TEST_F(ReportDetailsTest, AreThoseThatAreAskedForAlone) {
  AddCode(report().AddLaunch(kKernel, {{kDurationName, 1000}}));
  EXPECT_THAT(NamesOf(Make({"source-flash_fwd_128_.md"})), ElementsAre("source-flash_fwd_128_.md"));
  EXPECT_THAT(NamesOf(Make({"sass-flash_fwd_128_.csv", "kernels.csv"})),
              ElementsAre("sass-flash_fwd_128_.csv", "kernels.csv"));
  EXPECT_THAT(Make({"source-other.md"}), IsEmpty());
}

TEST_F(ReportDetailsTest, NameFilesOfTiling) {
  run_.id = "01jd";
  run_.artifacts = {{"tiling.attention.json", 1500, "ff"}, {"report.ncu-rep", 10, "ff"}};
  report().AddLaunch(kKernel, {{kDurationName, 1000}});
  EXPECT_THAT(TextOf("report-verbose.md"), HasSubstr("\n## Tiling and compiled files\n"
                                                     "\n"
                                                     "| File                  |    Size |\n"
                                                     "|-----------------------|--------:|\n"
                                                     "| tiling.attention.json | 1.50 KB |\n"
                                                     "\n"
                                                     "One of them: kprofctl artifacts 01jd get NAME.\n"));
}

TEST_F(ReportDetailsTest, OfARunWithoutAReportAreNone) {
  trace_.Add({{0, 10, 0, "work", "cpu_op"}}, 10);
  EXPECT_THAT(NamesOf(Make({"report-verbose.md"})), IsEmpty());
  EXPECT_EQ(TextOf("source-x.md"), "none");
}

TEST_F(ReportDetailsTest, MemoryIsAskedFor) {
  const int64_t launch = report().AddLaunch(kKernel, {{kDurationName, 1000}});
  for (int i = 0; i < 2000; ++i) {
    report().AddNumber(kKernel, launch, "metric__" + std::to_string(i) + ".sum", i);
    report().AddInstance(launch, kLongScoreboard, 0x100 + 16 * i, 1);
  }
  for (const char* name : {"report-verbose.md", "source-flash_fwd_128_.md", "sass-flash_fwd_128_.csv"}) {
    const TakeMemory take = [left = int64_t{50'000}](int64_t bytes) mutable {
      left -= bytes;
      return left >= 0 ? OkStatus() : Fail(ErrorCode::kQueueFull, "take memory", "there is none");
    };
    EXPECT_EQ(TryToMake({name}, take).status().code(), ErrorCode::kQueueFull) << name;
  }
}

// Parts that lie: any number in any column.
TEST_F(ReportDetailsTest, OfBrokenReportsAreMadeOrRefused) {
  int made = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    std::mt19937_64 random(seed);
    SampleTrace trace;
    SamplePart part(trace.NewPath());
    const std::vector<std::string> texts = {"",
                                            kDurationName,
                                            kDramName,
                                            kLongScoreboard,
                                            "inst_executed",
                                            "ptx",
                                            "f(int)",
                                            "SpeedOfLight",
                                            "A_B",
                                            ".entry f(int) {",
                                            "a|b\n`",
                                            "local",
                                            "memory_l1_wavefronts_shared",
                                            "device__attribute_x"};
    for (const std::string& text : texts) part.StringNumber(text);
    uint32_t number = 0;
    for (const SideTable& table :
         {LaunchSideTable(), MetricSideTable(), TextMetricSideTable(), RuleSideTable(), InstanceSideTable(),
          InstructionSideTable(), SourceTextSideTable(), SectionSideTable(), DeviceAttributeSideTable()}) {
      SideRows rows(table);
      for (size_t row = 0; row < 1 + random() % 200; ++row) {
        std::vector<int64_t> values;
        for (const SideColumn& column : table.columns) {
          const double kReals[] = {0, 5, 1e308, -1e308, 1e-308, std::numeric_limits<double>::infinity(), NAN};
          const int64_t kIntegers[] = {0, 1, 2, 3, -1, kNoValue, kNoValue + 1, INT64_MAX, INT64_MAX - 2, 1 << 20};
          if (column.type == SideType::kText) {
            values.push_back(random() % 9 == 0 ? kNoValue : static_cast<int64_t>(random() % texts.size()));
          } else if (column.type == SideType::kReal) {
            values.push_back(std::bit_cast<int64_t>(kReals[random() % std::size(kReals)]));
          } else {
            values.push_back(kIntegers[random() % (random() % 4 == 0 ? std::size(kIntegers) : 3)]);
          }
        }
        rows.Add(values);
      }
      ASSERT_TRUE(part.writer().AddSideTable(number, table).ok());
      ASSERT_TRUE(part.writer().AddSideSegment(EncodeSideRows(number, rows, 0, rows.size())).ok());
      ++number;
    }
    trace.Take(part);
    const ReportedRun of{run_, AnalysisTraces({trace.part(0)}, {"r1"}), "", ""};
    const Result<std::vector<ReportDetail>> files = MakeReportDetails(of, Report(), {}, {});
    EXPECT_TRUE(files.ok() || files.status().code() == ErrorCode::kStorageBroken) << files.status().ToString();
    made += files.ok() ? static_cast<int>(files->size()) : 0;
  }
  EXPECT_GT(made, 40 * 5);
}

}  // namespace
}  // namespace kprof
