#include "daemon/analysis/report/report_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "daemon/analysis/report/report_configuration.h"
#include "daemon/analysis/report/report_words.h"

namespace kprof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;

Report SampleReport() {
  Report report;
  report.run_id = "01jd";
  report.tool = "ncu";
  report.kernel = "mla";
  report.version = "v4";
  report.device = "NVIDIA H100 80GB HBM3";
  report.clocks = "locked clocks";
  report.configuration = {{"b", "32"}, {"s", "16"}, {"t", "4096"}, {"dtype", "bfloat16"}};
  ReportStage& stage = report.stages.emplace_back();
  stage.name = "mla_decode<128>";
  stage.launches = 20;
  stage.duration_ns = 419'250;
  stage.total_ns = 8'385'000;
  stage.tensor_percent = 12.34;
  stage.dram_percent = 84.06;
  stage.occupancy_percent = 25;
  stage.bottleneck = "memory";
  stage.issue = "low_l2_hit_rate";
  stage.flop_per_byte = 20;
  stage.tflop_per_s = 50;
  stage.attainable_tflop_per_s = 67;
  stage.gb_per_s = 2500;
  ReportStage& second = report.stages.emplace_back();
  second.name = "combine | merge";
  second.launches = 20;
  second.duration_ns = 10'000;
  second.total_ns = 200'000;
  report.bottleneck = "Memory";
  report.root_cause = "mla_decode<128> takes 98 % of the time. Data is read twice.";
  report.opportunities = {
      {"low_l2_hit_rate", 12.5, "l2_hit_percent=41.2 %", "L2 hits 41.2 %", "Swizzle blocks", "ncu"}};
  report.roof = {989, 3350, "H100-SXM5-80GB (table)"};
  return report;
}

// The words that scripts look for: docs/reports.md.
TEST(ReportFiles, HaveTheHeadingsAndTablesOfTheContract) {
  EXPECT_EQ(WriteReportMarkdown(SampleReport()),
            "## Profile: mla v4\n"
            "\n"
            "### Configuration\n"
            "| b | s | t | dtype |\n"
            "|---|---|---|-------|\n"
            "| 32 | 16 | 4096 | bfloat16 |\n"
            "\n"
            "### Stages\n"
            "| Stage | Duration (us) | TC% | DRAM% | Occ% | Bottleneck | Key Issue |\n"
            "|-------|---------------|-----|-------|------|------------|-----------|\n"
            "| mla_decode<128> | 419.25 | 12.3 | 84.1 | 25.0 | memory | low_l2_hit_rate |\n"
            "| combine \\| merge | 10.00 | -- | -- | -- | -- | -- |\n"
            "\n"
            "### Bottleneck: Memory-bound\n"
            "Root cause: mla_decode<128> takes 98 % of the time. Data is read twice.\n"
            "\n"
            "### Top 3 Opportunities (ranked by estimated impact)\n"
            "1. low_l2_hit_rate — est. 12.5% gain — trigger: l2_hit_percent=41.2 %\n"
            "   Swizzle blocks\n"
            "\n"
            "### vs Baseline (if applicable)\n"
            "None was given: --baseline RUN.\n"
            "\n"
            "Run 01jd, tool ncu, NVIDIA H100 80GB HBM3, locked clocks.\n");
}

TEST(ReportFiles, HaveTheRowOfTheConfigurationWithoutParameters) {
  Report report = SampleReport();
  report.configuration = {{"dtype", "bf16"}, {"heads", "8"}};
  EXPECT_THAT(WriteReportMarkdown(report), HasSubstr("| b | s | t | dtype | heads |\n"
                                                     "|---|---|---|-------|-------|\n"
                                                     "| -- | -- | -- | bf16 | 8 |\n"));
  report.configuration.clear();
  EXPECT_THAT(WriteReportMarkdown(report), HasSubstr("| -- | -- | -- | -- |\n\nNo parameters"));
}

TEST(ReportFiles, CutNamesThatFillALine) {
  Report report = SampleReport();
  report.kernel = "flash::flash_fwd_kernel<" + std::string(300, 'x') + ">";
  EXPECT_THAT(WriteReportMarkdown(report),
              testing::MatchesRegex("## Profile: flash::flash_fwd_kernel<x{1,60}.{0,9}v4\n(.|\n)*"));
}

TEST(ReportFiles, ShowTheBaselineBesideTheRun) {
  Report report = SampleReport();
  report.baseline_id = "01jc";
  report.changes = {{"Duration", "us", 500, 419.25}, {"TC Util", "%", std::nullopt, 12.34}};
  EXPECT_THAT(WriteReportMarkdown(report), HasSubstr("| Metric | Previous | Current | Change |\n"
                                                     "|--------|----------|---------|--------|\n"
                                                     "| Duration (us) | 500.00 | 419.25 | -16.2 % |\n"
                                                     "| TC Util (%) | -- | 12.34 | -- |\n"
                                                     "\nPrevious: run 01jc.\n"));
}

TEST(ReportFiles, TellWhereTheTimeOfATraceWent) {
  Report report = SampleReport();
  report.timeline = {{"compute", 50.0}, {"idle", 25.0}};
  ReportDeviceTime& device = report.devices.emplace_back();
  device.rank = 1;
  device.device = 3;
  device.total_ns = 8e6;
  device.compute_ns = 4e6;
  device.communication_ns = 3e6;
  device.hidden_communication_ns = 1e6;
  device.idle_ns = 2e6;
  device.host_wait_ns = 1.2e6;
  device.kernel_wait_ns = 0.4e6;
  report.launches = {{1, 200, 50, 4, 1e6, 4e6}};
  report.gaps = {{1, 3, 2.5e6, 90'000, "host_wait", "sync: cudaDeviceSynchronize", "void gemm<4>(float*)", ""}};
  EXPECT_THAT(
      WriteReportMarkdown(report),
      HasSubstr(
          "\n### Timeline\n"
          "| Time | Share |\n"
          "|------|-------|\n"
          "| compute | 50.0 % |\n"
          "| idle | 25.0 % |\n"
          "\n#### Devices\n"
          "| Rank | Device | Time (ms) | Compute% | Communication% | Copies% | Idle% | Host wait% | Kernel wait% | "
          "Other idle% |\n"
          "|------|--------|-----------|----------|----------------|---------|-------|------------|--------------|-"
          "------------|\n"
          "| 1 | 3 | 8.000 | 50.0 | 37.5 | 0.0 | 25.0 | 15.0 | 5.0 | 5.0 |\n"
          "\n#### Overlap\n"
          "| Rank | Device | Work | Time (ms) | Hidden (ms) | Exposed (ms) | Hidden% |\n"
          "|------|--------|------|-----------|-------------|--------------|---------|\n"
          "| 1 | 3 | communication | 3.000 | 1.000 | 2.000 | 33.3 |\n"
          "\n#### Launches\n"
          "| Rank | Launches | Short% | Delayed% | Mean call (us) | Mean delay (us) |\n"
          "|------|----------|--------|----------|----------------|-----------------|\n"
          "| 1 | 200 | 25.0 | 2.0 | 5.00 | 20.00 |\n"
          "\nShort: the work took less time than its call. Delayed: it began more than 100 us after its call.\n"
          "\n#### Longest Gaps\n"
          "| Rank | Device | Begin (ms) | Gap (us) | Cause | Host | Before | After |\n"
          "|------|--------|------------|----------|-------|------|--------|-------|\n"
          "| 1 | 3 | 2.500 | 90.00 | host_wait | sync: cudaDeviceSynchronize | gemm<4> | -- |\n"
          "\n### Bottleneck: "));
  EXPECT_THAT(WriteReportJson(report),
              HasSubstr("\"timeline\":{\"devices\":[{\"rank\":1,\"device\":3,\"total_ns\":8000000,"));
  EXPECT_THAT(WriteReportJson(SampleReport()), HasSubstr("\"timeline\":null,"));
}

TEST(ReportFiles, GiveTheBlockOfADevelopmentLog) {
  Report report = SampleReport();
  report.baseline_id = "01jc";
  report.changes = {{"Duration", "us", 500, 419.25}, {"Achieved GB/s", "", 2000, 2500}};
  EXPECT_EQ(WriteDevelopmentLog(report),
            "**Performance** (NVIDIA H100 80GB HBM3, locked clocks, bfloat16, b=32, s=16, t=4096):\n"
            "\n"
            "| Metric            | Value   | vs Previous |\n"
            "| ----------------- | ------- | ----------- |\n"
            "| Duration          | 419.25 μs | 16.2% faster |\n"
            "| Achieved TFLOPs/s | 50.00   | --          |\n"
            "| Achieved GB/s     | 2500.00 | +25.0%      |\n"
            "| Occupancy         | 25%     | --          |\n"
            "| TC Util           | 12%     | --          |\n"
            "\n"
            "**Bottleneck**: Memory-bound\n"
            "\n"
            "**Issues**:\n"
            "- low_l2_hit_rate: L2 hits 41.2 %.\n"
            "\n"
            "**Insights**:\n"
            "- mla_decode<128> takes 98 % of the time. Data is read twice.\n"
            "- Swizzle blocks\n");
}

TEST(ReportFiles, TellInADevelopmentLogWhatIsDoubtfulAndAHintOnce) {
  Report report = SampleReport();
  report.opportunities.push_back({"other", 5, "x=1", "Another.", "Swizzle blocks", "ncu"});
  report.trust = {{"conditions_differ", "clocks of the baseline: none"}};
  report.notes = {"stage a: more FLOP/s than the device can do", "a timeline does not tell"};
  const std::string log = WriteDevelopmentLog(report);
  EXPECT_EQ(log.find("- Swizzle blocks\n"), log.rfind("- Swizzle blocks\n"));
  EXPECT_TRUE(
      log.ends_with("- Doubt: clocks of the baseline: none\n"
                    "- Doubt: stage a: more FLOP/s than the device can do\n"));
}

TEST(ReportFiles, AreJsonWithoutNumbersThatJsonHasNot) {
  Report report = SampleReport();
  report.stages.front().tensor_percent = std::nan("");
  report.stages.front().name = "a \"b\"\n\\";
  const std::string json = WriteReportJson(report);
  EXPECT_THAT(json, HasSubstr("{\"schema\":\"kprof.report.v1\",\"run\":\"01jd\""));
  EXPECT_THAT(json, HasSubstr("\"name\":\"a \\\"b\\\"\\u000a\\\\\""));
  EXPECT_THAT(json, HasSubstr("\"tensor_percent\":null"));
  EXPECT_THAT(json, HasSubstr("\"dram_percent\":84.06,"));
  EXPECT_EQ(std::count(json.begin(), json.end(), '\n'), 1);
}

TEST(ReportFiles, DrawAStageWhereItsIntensityPutsIt) {
  const std::string svg = DrawRoofline(SampleReport());
  EXPECT_THAT(svg, HasSubstr("989 TFLOP/s, 3350 GB/s, ridge 295 FLOP/byte"));
  EXPECT_THAT(svg, HasSubstr("<title>mla_decode&lt;128&gt;: 50.00 TFLOP/s at 20.00 FLOP/byte</title>"));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  const std::string typed = TypeRoofline(SampleReport());
  EXPECT_THAT(typed, HasSubstr("  A  mla_decode<128>: 50.00 TFLOP/s at 20.00 FLOP/byte\n"));
  EXPECT_THAT(typed, HasSubstr("/"));
}

TEST(ReportFiles, ShowWhatRunsReachedBesideThePeaks) {
  Report report = SampleReport();
  report.roof.measured_tflop_per_s = 612;
  report.roof.measured_gb_per_s = 2900;
  report.roof.measured_dtype = "bf16";
  report.roof.measured_confidence = "high";
  report.roof.measured_text = "run 01gemm at 2025-06-15T15:06:40Z";
  EXPECT_THAT(WriteReportMarkdown(report),
              HasSubstr("| combine \\| merge | 10.00 | -- | -- | -- | -- | -- |\n"
                        "\nMeasured ceiling: 612.0 TFLOP/s bf16, 2.90 TB/s (run 01gemm at 2025-06-15T15:06:40Z).\n"
                        "\n### Bottleneck: Memory-bound\n"));
  EXPECT_THAT(
      WriteReportJson(report),
      HasSubstr("\"roof\":{\"tflop_per_s\":989,\"gb_per_s\":3350,\"source\":\"H100-SXM5-80GB (table)\","
                "\"measured_tflop_per_s\":612,\"measured_gb_per_s\":2900,\"measured_dtype\":\"bf16\","
                "\"measured_confidence\":\"high\",\"measured_source\":\"run 01gemm at 2025-06-15T15:06:40Z\"}"));
}

size_t CountOf(const std::string& text, const std::string& what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++count;
  return count;
}

// Each line is there as far as it is known, from one end of the chart to the other one.
TEST(ReportFiles, DrawWhatRunsReachedDashed) {
  Report report = SampleReport();
  EXPECT_EQ(CountOf(DrawRoofline(report), "stroke-dasharray"), 0u);
  report.roof.measured_tflop_per_s = 612;
  EXPECT_EQ(CountOf(DrawRoofline(report), "stroke-dasharray"), 1u);
  EXPECT_THAT(DrawRoofline(report), HasSubstr("measured (dashed): 612 TFLOP/s<"));
  report.roof.measured_gb_per_s = 2900;
  const std::string svg = DrawRoofline(report);
  EXPECT_EQ(CountOf(svg, "stroke-dasharray"), 2u);
  EXPECT_THAT(svg, HasSubstr("measured (dashed): 612 TFLOP/s, 2900 GB/s<"));
  // From 2.9 TFLOP/s at 1 FLOP/byte to the ridge at 211, and on to the right: 4 decades of 670, 3 of 360.
  EXPECT_THAT(svg, HasSubstr("<line x1=\"70.0\" y1=\"344.5\" x2=\"459.3\" y2=\"65.6\""));
  EXPECT_THAT(svg, HasSubstr("<line x1=\"459.3\" y1=\"65.6\" x2=\"740.0\" y2=\"65.6\""));
  EXPECT_THAT(svg, HasSubstr("989 TFLOP/s, 3350 GB/s, ridge 295 FLOP/byte"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  report.roof.measured_tflop_per_s.reset();
  EXPECT_EQ(CountOf(DrawRoofline(report), "stroke-dasharray"), 1u);
  report.roof.measured_gb_per_s = 0;
  EXPECT_EQ(CountOf(DrawRoofline(report), "stroke-dasharray"), 0u);
}

TEST(ReportFiles, SayWhyThereIsNoRoofline) {
  Report report = SampleReport();
  report.roof = {};
  EXPECT_EQ(TypeRoofline(report), "No roofline: the device's peaks are not known\n");
  EXPECT_THAT(DrawRoofline(report), HasSubstr("No chart: the device's peaks are not known"));
  report = SampleReport();
  report.stages.front().flop_per_byte.reset();
  EXPECT_THAT(TypeRoofline(report), HasSubstr("--stages"));
}

TEST(ReportFiles, DrawStagesByTheirShareOfTheTime) {
  const std::string svg = DrawStages(SampleReport());
  EXPECT_THAT(svg, HasSubstr("97.7 %, 419.25 us"));
  EXPECT_THAT(svg, HasSubstr("2.3 %, 10.00 us"));
  EXPECT_THAT(svg, HasSubstr("fill=\"#9e9e9e\""));  // of the second nothing says what bounds it
}

TEST(ReportFiles, CountAKernelOnceBesideTheStageThatItIsOf) {
  Report report = SampleReport();
  ReportStage stage = report.stages.front();
  stage.name = "decode";
  stage.is_named = true;
  report.stages.insert(report.stages.begin(), stage);
  EXPECT_THAT(DrawStages(report), HasSubstr(">97.7 %, 419.25 us</text>\n<text x=\"252\" y=\"92.0\""));
}

TEST(ReportFiles, StandInTheListOnceEach) {
  std::vector<std::string_view> names;
  for (const ReportFile& file : ReportFiles()) {
    names.push_back(file.name);
    EXPECT_FALSE(file.write(SampleReport()).empty()) << file.name;
    EXPECT_FALSE(file.write(Report()).empty()) << file.name;
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

TEST(ReportConfiguration, HasBatchAndLengthsFirst) {
  std::vector<std::string> notes;
  EXPECT_THAT(
      ConfigurationOf(
          R"({"tool":"ncu","kernel":"mla","h":128,"dtype":"bfloat16","b":32,"causal":true,"tile":{"M":64,"warps":[4,8]},"s":16})",
          notes),
      ElementsAre(Pair("b", "32"), Pair("s", "16"), Pair("dtype", "bfloat16"), Pair("h", "128"), Pair("causal", "true"),
                  Pair("tile.M", "64"), Pair("tile.warps", "[4,8]")));
  EXPECT_THAT(notes, IsEmpty());
}

TEST(ReportConfiguration, OfNoJsonIsEmptyAndSaysSo) {
  std::vector<std::string> notes;
  EXPECT_THAT(ConfigurationOf("{b: 32", notes), IsEmpty());
  EXPECT_THAT(notes, ElementsAre(HasSubstr("params.json is no JSON")));
  notes.clear();
  EXPECT_THAT(ConfigurationOf("", notes), IsEmpty());
  EXPECT_THAT(ConfigurationOf("[1]", notes), IsEmpty());
  EXPECT_THAT(notes, IsEmpty());
}

TEST(ReportConfiguration, TellsTheTriggerOfAFinding) {
  EXPECT_EQ(
      TriggerOf(R"([{"metric":"duration_ns","value":5,"unit":"ns"},{"metric":"l2_hit","value":41.234,"unit":"%"}])"),
      "l2_hit=41.23 %");
  EXPECT_EQ(TriggerOf(R"([{"metric":"waves","value":0.5,"unit":""}])"), "waves=0.5");
  EXPECT_EQ(TriggerOf(R"([{"metric":"read","value":8969912,"unit":"byte"}])"), "read=8970 KB");
  EXPECT_EQ(TriggerOf(R"([{"metric":"time","value":4096,"unit":"ns"}])"), "time=4096 ns");
  // The whole of a Neuron trace is no reason, either.
  for (const char* const whole : {"wall_ns", "window_ns"}) {
    EXPECT_EQ(TriggerOf(std::string(R"([{"metric":")") + whole +
                        R"(","value":5,"unit":"ns"},{"metric":"transfer_ns","value":4,"unit":"ns"}])"),
              "transfer_ns=4 ns");
  }
  EXPECT_EQ(TriggerOf("nothing"), "");
}

TEST(ReportWords, GiveTheFirstSentence) {
  EXPECT_EQ(SentenceOf("it moves data: fuse it. More"), "It moves data: fuse it.");
  EXPECT_EQ(AdviceOf({.message = "Pad the tile.\nMore", .hint = "See the message"}), "Pad the tile. More");
  EXPECT_EQ(SentenceOf("8 of 32 bytes"), "8 of 32 bytes.");
  EXPECT_EQ(FirstSentence("L2 hits 41.2 %"), "L2 hits 41.2 %.");
  EXPECT_EQ(FirstSentence("Only 8.0 of 32 bytes are used. See the tables."), "Only 8.0 of 32 bytes are used.");
  EXPECT_EQ(FirstSentence(""), "");
}

TEST(ReportWords, MakeKernelsNamesShort) {
  EXPECT_EQ(ShortKernelName("void gemm<float, 4>(float const*, int (*)(int))"), "gemm<float, 4>");
  EXPECT_EQ(ShortKernelName("copy"), "copy");
  EXPECT_EQ(ShortKernelName("copy_blocked[v1,cw51cX](Array<long long, 1, C>)"), "copy_blocked");
  EXPECT_EQ(ShortKernelName("(x)"), "(x)");
}

}  // namespace
}  // namespace kprof
