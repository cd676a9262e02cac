// Findings of kernel reports: each rule with a report where it is one, one where it is not, and its numbers.
#include "daemon/analysis/findings/report_findings.h"

#include <gmock/gmock.h>

#include <set>

#include "tests/unit/analysis/sample_report.h"

namespace kprof {
namespace {

using testing::HasSubstr;

constexpr char kOccupancyName[] = "sm__warps_active.avg.pct_of_peak_sustained_active";
constexpr char kTheoreticalName[] = "sm__maximum_warps_per_active_cycle_pct";
constexpr char kWavesName[] = "launch__waves_per_multiprocessor";
constexpr char kL2HitName[] = "lts__t_sector_hit_rate.pct";
constexpr char kL1Name[] = "l1tex__throughput.avg.pct_of_peak_sustained_active";
constexpr char kIssueName[] = "smsp__average_warp_latency_per_inst_issued.ratio";

Numbers With(Numbers numbers, const Numbers& more) {
  numbers.insert(numbers.begin(), more.begin(), more.end());  // the first number of a metric counts
  return numbers;
}

Numbers Stalls(double latency, double scoreboard) {
  Numbers numbers = {{kIssueName, latency}};
  for (const char* reason : {"long_scoreboard", "short_scoreboard", "barrier", "math_pipe_throttle", "mio_throttle",
                             "lg_throttle", "wait"}) {
    const bool is_first = reason == std::string_view("long_scoreboard");
    numbers.emplace_back("smsp__average_warps_issue_stalled_" + std::string(reason) + "_per_issue_active.ratio",
                         is_first ? scoreboard : 1);
  }
  return numbers;
}

struct RuleCase {
  std::string code;
  std::string kernel;
  Numbers fires;
  double gain_percent;
  Numbers does_not;  // in place of some of them
};

std::vector<RuleCase> RuleCases() {
  const Numbers limits = {{"launch__occupancy_limit_registers", 2},
                          {"launch__occupancy_limit_shared_mem", 8},
                          {"launch__occupancy_limit_blocks", 32},
                          {"launch__occupancy_limit_warps", 16}};
  const Numbers no_flops = {{"smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", 0},
                            {"smsp__sass_thread_inst_executed_op_fmul_pred_on.sum", 0},
                            {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", 0}};
  return {
      {"low_tensor_use", "k", SolOf(1e5, 50, 45, {{kTensorName, 30}, {kDramName, 40}}), 50, {{kTensorName, 61}}},
      {"no_tensor_cores", "sgemm_64x64", SolOf(1e5, 80, 30, {{kTensorName, 0}}), 70, {{kTensorName, 6}}},
      {"low_dram_throughput", "k", SolOf(1e5, 10, 35, {{kDramName, 35}}), 50, {{kDramName, 71}, {kMemoryName, 71}}},
      {"poor_l2_reuse",
       "k",
       SolOf(1e5, 10, 80, {{kDramName, 80}, {kL2HitName, 60}, {kTensorName, 6}}),
       40,
       {{kL2HitName, 80.1}}},
      {"register_spilling",
       "k",
       SolOf(1e5, 50, 50, {{"l1tex__t_bytes_pipe_lsu_mem_local.sum", 100}, {"l1tex__t_bytes.sum", 1000}}),
       5,
       {{"l1tex__t_bytes_pipe_lsu_mem_local.sum", 0}}},
      {"uncoalesced_access",
       "k",
       SolOf(1e5, 10, 80,
             {{"memory_l2_theoretical_sectors_global", 400}, {"memory_l2_theoretical_sectors_global_ideal", 100}}),
       60,
       {{"memory_l2_theoretical_sectors_global_ideal", 380}}},
      {"bank_conflicts",
       "k",
       SolOf(1e5, 10, 80,
             {{"memory_l1_wavefronts_shared", 200}, {"memory_l1_wavefronts_shared_ideal", 100}, {kL1Name, 60}}),
       30,
       {{"memory_l1_wavefronts_shared_ideal", 190}}},
      {"copy_bound_kernel",
       "k",
       SolOf(1e5, 10, 90,
             With(no_flops, {{"dram__bytes_read.sum", 1e8}, {"dram__bytes_write.sum", 1e8}, {kDramName, 90}})),
       50,
       {{"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", 1e9}}},
      {"persisting_l2", "k", SolOf(1e5, 10, 90, {{"dram__bytes.sum", 4e8}}), 0, {{"dram__bytes.sum", 3e8}}},
      {"low_occupancy", "k", SolOf(1e5, 20, 30, {{kOccupancyName, 10}}), 60, {{kOccupancyName, 26}}},
      {"occupancy_limit",
       "k",
       SolOf(1e5, 20, 30, With(limits, {{kTheoreticalName, 50}})),
       50,
       {{kTheoreticalName, 51}}},
      {"occupancy_loss",
       "k",
       SolOf(1e5, 20, 30, {{kOccupancyName, 30}, {kTheoreticalName, 60}}),
       50,
       {{kOccupancyName, 50}}},
      {"few_waves", "k", SolOf(1e5, 20, 30, {{kWavesName, 0.6}}), 40, {{kWavesName, 1}}},
      {"tail_effect", "k", SolOf(1e5, 20, 30, {{kWavesName, 1.5}}), 25, {{kWavesName, 1.95}}},
      {"uneven_work",
       "k",
       SolOf(1e5, 20, 30, {{"sm__cycles_active.max", 1000}, {"sm__cycles_active.avg", 800}}),
       20,
       {{"sm__cycles_active.avg", 950}}},
      {"launch_bound_kernel", "k", SolOf(4000, 20, 30), 25, {{kDurationName, 5000}}},
      {"warp_stalls",
       "k",
       With(SolOf(1e5, 20, 30), Stalls(20, 10)),
       50,
       {{"smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio", 5}}},
      {"thread_divergence",
       "k",
       SolOf(1e5, 80, 30, {{"smsp__thread_inst_executed_per_inst_executed.ratio", 16}}),
       40,
       {{"smsp__thread_inst_executed_per_inst_executed.ratio", 24}}},
  };
}

class ReportFindingsTest : public ReportTest {};

TEST_F(ReportFindingsTest, EachRuleHasACase) {
  std::set<std::string> rules;
  for (const ReportRule& rule : ReportRules()) EXPECT_TRUE(rules.insert(rule.code).second) << rule.code;
  std::set<std::string> cases;
  for (const RuleCase& one : RuleCases()) cases.insert(one.code);
  EXPECT_EQ(rules, cases);
}

TEST(ReportFindings, EachRuleIsOneWhereItShouldBeAndNowhereElse) {
  for (const RuleCase& one : RuleCases()) {
    for (const bool fires : {true, false}) {
      SampleTrace trace;
      SampleReport report(trace.NewPath());
      report.AddLaunch(one.kernel, fires ? one.fires : With(one.fires, one.does_not));
      trace.Take(report.Finish());
      const Result<NamedAnswer> answer = AskReport("findings", trace.part(0));
      ASSERT_TRUE(answer.ok()) << answer.status().ToString();
      const size_t row = answer->Find("findings", "code", one.code);
      EXPECT_EQ(answer->Find("not_evaluated", "code", one.code), answer->rows("not_evaluated")) << one.code;
      if (!fires) {
        EXPECT_EQ(row, answer->rows("findings")) << one.code << " is no finding here";
        continue;
      }
      ASSERT_LT(row, answer->rows("findings")) << one.code;
      EXPECT_NEAR(answer->Real("findings", row, "gain_percent"), one.gain_percent, 1e-9) << one.code;
      const double ns = one.fires.front().first == kDurationName ? one.fires.front().second : 1e5;
      EXPECT_EQ(answer->Integer("findings", row, "gain_ns"), std::llround(one.gain_percent / 100 * ns)) << one.code;
      EXPECT_EQ(answer->Text("findings", row, "kernel"), one.kernel);
      EXPECT_THAT(answer->Text("findings", row, "evidence"), HasSubstr("\"value\":")) << one.code;
      EXPECT_THAT(answer->Text("findings", row, "source"), HasSubstr("https://")) << one.code;
    }
  }
}

TEST_F(ReportFindingsTest, AMissingMetricIsNotEvaluated) {
  report().AddLaunch("k", {{kDurationName, 1e5}});
  const NamedAnswer answer = Ask("findings");
  EXPECT_EQ(answer.rows("findings"), 0);
  const size_t row = answer.Find("not_evaluated", "code", "low_occupancy");
  ASSERT_LT(row, answer.rows("not_evaluated"));
  EXPECT_THAT(answer.Text("not_evaluated", row, "missing"), HasSubstr(kOccupancyName));
  EXPECT_EQ(answer.Integer("not_evaluated", row, "devices"), 1);
  // Those of traces are not asked of a report.
  EXPECT_EQ(answer.Find("not_evaluated", "code", "launch_bound"), answer.rows("not_evaluated"));
}

TEST_F(ReportFindingsTest, LargerGainsInTimeComeFirst) {
  report().AddLaunch("short", SolOf(1e5, 20, 30, {{kWavesName, 0.2}}));  // 80 % of 100 us
  report().AddLaunch("long", SolOf(1e6, 20, 30, {{kWavesName, 0.8}}));   // 20 % of 1 ms
  const NamedAnswer answer = Ask("findings");
  ASSERT_EQ(answer.rows("findings"), 2);
  EXPECT_EQ(answer.Text("findings", 0, "kernel"), "long");
  EXPECT_EQ(answer.Integer("findings", 0, "gain_ns"), 200'000);
  EXPECT_EQ(answer.Text("findings", 1, "kernel"), "short");
}

TEST_F(ReportFindingsTest, TheProfilersOwnRulesAreCarriedOver) {
  const int64_t first = report().AddLaunch("k", SolOf(1e5, 20, 30));
  const int64_t second = report().AddLaunch("k", SolOf(3e5, 20, 30));
  report().AddRule(first, "CPIStall", "OPT", "waits @section:WarpStateStats:a long time@ for L1", 40, kComputeName, 99);
  report().AddRule(second, "CPIStall", "OPT", "waits longer", 60, kComputeName, 99);
  report().AddRule(first, "Info", "INF", "nothing", 0);
  const NamedAnswer answer = Ask("findings");
  const size_t row = answer.Find("findings", "code", "ncu_CPIStall");
  ASSERT_LT(row, answer.rows("findings"));
  EXPECT_EQ(answer.Text("findings", row, "source"), "ncu");
  EXPECT_EQ(answer.Text("findings", row, "message"), "waits longer");  // of the launch with the larger estimate
  EXPECT_DOUBLE_EQ(answer.Real("findings", row, "gain_percent"), (40 * 1e5 + 60 * 3e5) / 4e5);
  EXPECT_EQ(answer.Integer("findings", row, "gain_ns"), 220'000);
  // The launch's own number, and not the rule's copy.
  EXPECT_THAT(answer.Text("findings", row, "evidence"), HasSubstr("\"value\":20"));
  EXPECT_EQ(answer.Find("findings", "code", "ncu_Info"), answer.rows("findings"));
}

TEST_F(ReportFindingsTest, EstimatesOfOneUnitStandBehindThoseOfTheKernel) {
  const int64_t launch = report().AddLaunch("k", SolOf(1e5, 20, 30));
  report().AddRule(launch, "HighPipeUtilization", "OPT", "a pipe is idle", 98, kComputeName, 20, "local");
  report().AddRule(launch, "CPIStall", "OPT", "waits", 40, kComputeName, 20);
  const NamedAnswer answer = Ask("findings");
  ASSERT_EQ(answer.rows("findings"), 2);
  EXPECT_EQ(answer.Text("findings", 0, "code"), "ncu_CPIStall");
  EXPECT_EQ(answer.Text("findings", 1, "code"), "ncu_HighPipeUtilization");
  EXPECT_DOUBLE_EQ(answer.Real("findings", 1, "gain_percent"), 98);
  EXPECT_TRUE(answer.IsNull("findings", 1, "gain_ns"));
}

// At the roofline there is no tail to be gained.
TEST_F(ReportFindingsTest, WhatIsMissingOfThePeakIsAllThatMoreBlocksGain) {
  report().AddLaunch("gemm", SolOf(1e5, 97, 40, {{kWavesName, 1.01}, {kTensorName, 96}}));
  const NamedAnswer answer = Ask("findings");
  const size_t row = answer.Find("findings", "code", "tail_effect");
  EXPECT_NEAR(answer.Real("findings", row, "gain_percent"), 3, 1e-9);
}

// What relieves one unit saves no more than the others leave.
TEST_F(ReportFindingsTest, OtherUnitsBoundWhatMemorySaves) {
  report().AddLaunch("k", SolOf(1e5, 88, 90,
                                {{kDramName, 90},
                                 {kL1Name, 90},
                                 {kL2HitName, 20},
                                 {kTensorName, 85},
                                 {"memory_l1_wavefronts_shared", 1000},
                                 {"memory_l1_wavefronts_shared_ideal", 100},
                                 {"memory_l2_theoretical_sectors_global", 400},
                                 {"memory_l2_theoretical_sectors_global_ideal", 100}}));
  const NamedAnswer answer = Ask("findings");
  const auto gain = [&answer](const char* code) {
    return answer.Real("findings", answer.Find("findings", "code", code), "gain_percent");
  };
  EXPECT_NEAR(gain("uncoalesced_access"), 12, 1e-9);  // compute is at 88 %
  EXPECT_NEAR(gain("bank_conflicts"), 10, 1e-9);      // DRAM at 90 %
  EXPECT_NEAR(gain("poor_l2_reuse"), 10, 1e-9);       // L1 at 90 %
}

// 10 blocks: no resource of an SM is short.
TEST_F(ReportFindingsTest, ASmallGridIsOneFinding) {
  report().AddLaunch("k", SolOf(1e5, 2, 3,
                                {{kTheoreticalName, 25},
                                 {kOccupancyName, 12},
                                 {kWavesName, 0.05},
                                 {"launch__occupancy_limit_registers", 2},
                                 {"launch__occupancy_limit_shared_mem", 8},
                                 {"launch__occupancy_limit_blocks", 32},
                                 {"launch__occupancy_limit_warps", 8}}));
  const NamedAnswer answer = Ask("findings");
  EXPECT_EQ(answer.rows("findings"), 1);
  EXPECT_EQ(answer.Text("findings", 0, "code"), "few_waves");
}

TEST_F(ReportFindingsTest, WhatTriggeredComesFirstInTheEvidence) {
  report().AddLaunch("k", With(SolOf(1e5, 20, 30), Stalls(20, 10)));
  const NamedAnswer answer = Ask("findings");
  const size_t row = answer.Find("findings", "code", "warp_stalls");
  EXPECT_THAT(answer.Text("findings", row, "evidence"),
              testing::StartsWith("[{\"metric\":\"smsp__average_warps_issue_stalled_long_scoreboard"));
}

TEST_F(ReportFindingsTest, AllThatLimitsTheOccupancyIsNamed) {
  report().AddLaunch("k", SolOf(1e5, 20, 30,
                                {{kTheoreticalName, 12.5},
                                 {"launch__occupancy_limit_registers", 1},
                                 {"launch__occupancy_limit_shared_mem", 1},
                                 {"launch__occupancy_limit_blocks", 32},
                                 {"launch__occupancy_limit_warps", 8}}));
  const NamedAnswer answer = Ask("findings");
  EXPECT_EQ(answer.Text("findings", answer.Find("findings", "code", "occupancy_limit"), "message"),
            "occupancy cannot be above 12.5 %: registers and shared memory allow 1 block on an SM");
}

// Nothing tells a copy from a kernel that reads data twice: a suspicion, that gains nothing.
TEST_F(ReportFindingsTest, WithoutArithmeticReuseIsASuspicion) {
  report().AddLaunch("k", SolOf(1e5, 10, 80, {{kDramName, 80}, {kL2HitName, 50}}));
  const NamedAnswer answer = Ask("findings");
  const size_t row = answer.Find("findings", "code", "poor_l2_reuse");
  EXPECT_DOUBLE_EQ(answer.Real("findings", row, "gain_percent"), 0);
  EXPECT_NE(answer.Text("findings", row, "message").find("no arithmetic is counted"), std::string::npos);
}

// As where loads and stores have the same trouble: the time of the launch is there once to be gained.
TEST_F(ReportFindingsTest, ALaunchCountsOnceForARuleThatSaysTwoThings) {
  const int64_t launch = report().AddLaunch("gemm", SolOf(1000, 50, 50));
  report().AddRule(launch, "Access", "OPT", "loads are scattered", 40, kComputeName, 20);
  report().AddRule(launch, "Access", "OPT", "stores are scattered", 44, kComputeName, 20);
  const NamedAnswer answer = Ask("findings");
  const size_t row = answer.Find("findings", "code", "ncu_Access");
  EXPECT_DOUBLE_EQ(answer.Real("findings", row, "gain_percent"), 44);
  EXPECT_EQ(answer.Integer("findings", row, "gain_ns"), 440);
  EXPECT_EQ(answer.Text("findings", row, "message").find("stores"), 0U);
}

TEST_F(ReportFindingsTest, MarksOfLinksAreTakenOutOfMessages) {
  const int64_t launch = report().AddLaunch("k", SolOf(1e5, 20, 30));
  report().AddRule(launch, "A", "WRN", "see @section:Occupancy:the occupancy@, mail a@b", 5);
  const NamedAnswer answer = Ask("findings");
  const size_t row = answer.Find("findings", "code", "ncu_A");
  ASSERT_LT(row, answer.rows("findings"));
  EXPECT_EQ(answer.Text("findings", row, "message"), "see the occupancy, mail a@b");
}

TEST_F(ReportFindingsTest, DiagnosisHasCategoryCausesWithEvidenceAndFixes) {
  report().AddLaunch("k", SolOf(1e5, 20, 30, {{kOccupancyName, 10}, {kWavesName, 1.5}}));
  const NamedAnswer answer = Ask("findings");
  ASSERT_EQ(answer.rows("diagnosis"), 1);
  EXPECT_EQ(answer.Text("diagnosis", 0, "category"), "underutilized");
  EXPECT_THAT(answer.Text("diagnosis", 0, "summary"), HasSubstr("compute 20.0 %, memory 30.0 %"));
  const std::string causes = answer.Text("diagnosis", 0, "root_causes");
  EXPECT_THAT(causes, HasSubstr("{\"cause\":\"Too few warps to hide latency\",\"evidence\":[{\"metric\":\"" +
                                std::string(kOccupancyName) +
                                "\",\"value\":10,\"interpretation\":\"Achieved occupancy, not healthy: > 25\"}"));
  EXPECT_THAT(causes, HasSubstr("\"fixes\":[{\"fix\":\"Reduce the tile size"));
  EXPECT_THAT(answer.Text("diagnosis", 0, "recommended_fixes"), testing::StartsWith("[\"Reduce the tile size"));
  EXPECT_THAT(answer.Text("diagnosis", 0, "reasoning"), HasSubstr("The last wave of blocks is not full"));
}

TEST_F(ReportFindingsTest, BytesOfAStageAboveThePeakAreSuspected) {
  report().AddLaunch("norm(float*)", SolOf(1e4, 20, 30));
  const NamedAnswer none = Ask("findings", {{"stages", R"({"norm": {"bytes": 3e7}})"}});
  EXPECT_EQ(none.Find("findings", "code", "persisting_l2"), none.rows("findings"));
  const NamedAnswer answer = Ask("findings", {{"stages", R"({"norm": {"bytes": 4e7}})"}});
  const size_t row = answer.Find("findings", "code", "persisting_l2");
  ASSERT_LT(row, answer.rows("findings"));
  EXPECT_THAT(answer.Text("findings", row, "message"), HasSubstr("4000 GB/s"));
}

TEST_F(ReportFindingsTest, SummaryShowsKernelsWithTheirBottleneckAndFindings) {
  report().AddLaunch("k", SolOf(1e5, 20, 80, {{kOccupancyName, 10}}));
  const NamedAnswer answer = Ask("summary");
  ASSERT_EQ(answer.rows("measured_kernels"), 1);
  EXPECT_EQ(answer.Text("measured_kernels", 0, "bottleneck"), "memory");
  EXPECT_EQ(answer.Text("measured_kernels", 0, "key_issue"), "low_occupancy");
  EXPECT_DOUBLE_EQ(answer.Real("measured_kernels", 0, "percent"), 100);
  ASSERT_EQ(answer.rows("findings"), 1);
  EXPECT_EQ(answer.Text("findings", 0, "code"), "low_occupancy");
  EXPECT_TRUE(answer.answer().notes().empty());
}

TEST_F(ReportFindingsTest, KernelsShowHealthyRanges) {
  report().AddLaunch(
      "k", SolOf(1e5, 20, 80, {{kOccupancyName, 10}, {kL2HitName, 90}, {"l1tex__t_bytes_pipe_lsu_mem_local.sum", 0}}));
  const NamedAnswer answer = Ask("kernels");
  ASSERT_EQ(answer.rows("kernels"), 1);
  EXPECT_EQ(answer.Text("kernels", 0, "unhealthy"), R"(["Achieved occupancy"])");
  const size_t bad = answer.Find("metrics", "metric", kOccupancyName);
  EXPECT_EQ(answer.Integer("metrics", bad, "is_healthy"), 0);
  EXPECT_EQ(answer.Text("metrics", bad, "issue"), "Register or shared-memory pressure");
  const size_t good = answer.Find("metrics", "metric", kL2HitName);
  EXPECT_EQ(answer.Integer("metrics", good, "is_healthy"), 1);
  EXPECT_TRUE(answer.IsNull("metrics", good, "issue"));
}

TEST_F(ReportFindingsTest, MetricsThatNobodyKnowsAreShownWhenAskedFor) {
  report().AddLaunch("k", SolOf(1e5, 20, 80, {{"smsp__mystery.sum", 3}}));
  EXPECT_EQ(Ask("kernels").Find("metrics", "metric", "smsp__mystery.sum"), Ask("kernels").rows("metrics"));
  const NamedAnswer answer = Ask("kernels", {{"metric", "mystery"}});
  const size_t row = answer.Find("metrics", "metric", "smsp__mystery.sum");
  ASSERT_LT(row, answer.rows("metrics"));
  EXPECT_DOUBLE_EQ(answer.Real("metrics", row, "value"), 3);
}

TEST_F(ReportFindingsTest, SourceHasTheLinesWithMostSamplesAndWhatTheyWaitFor) {
  const int64_t launch = report().AddLaunch("k", SolOf(1e5, 20, 80));
  const std::string stalled = "smsp__pcsamp_warps_issue_stalled_";
  report().AddInstance(launch, stalled + "long_scoreboard", 0x100, 30);
  report().AddInstance(launch, stalled + "long_scoreboard_not_issued", 0x100, 20);
  report().AddInstance(launch, stalled + "barrier", 0x110, 10);
  report().AddInstance(launch, stalled + "wait", 0x120, 60);
  report().AddInstance(launch, "inst_executed", 0x110, 128);
  report().AddInstruction(launch, 0x100, "LDG R1", "k.cu", 7);
  report().AddInstruction(launch, 0x110, "BAR", "k.cu", 7);
  report().AddInstruction(launch, 0x120, "FFMA", "k.cu", 9);
  report().AddSource("k.cu", 9, "acc += a * b;");
  const NamedAnswer answer = Ask("source");
  ASSERT_EQ(answer.rows("lines"), 2);
  EXPECT_EQ(answer.Integer("lines", 0, "line"), 9);
  EXPECT_EQ(answer.Text("lines", 0, "text"), "acc += a * b;");
  EXPECT_DOUBLE_EQ(answer.Real("lines", 0, "percent"), 60);
  EXPECT_DOUBLE_EQ(answer.Real("lines", 1, "samples"), 40);
  EXPECT_EQ(answer.Text("lines", 1, "top_stall"), "long_scoreboard");
  EXPECT_EQ(answer.Text("lines", 1, "stalls"), R"({"long_scoreboard":30,"barrier":10})");
  EXPECT_DOUBLE_EQ(answer.Real("lines", 1, "executed"), 128);
  EXPECT_TRUE(answer.IsNull("lines", 1, "text"));
  ASSERT_EQ(answer.rows("instructions"), 3);
  EXPECT_EQ(answer.Text("instructions", 1, "sass"), "LDG R1");
  EXPECT_DOUBLE_EQ(answer.Real("instructions", 1, "not_issued"), 20);
  EXPECT_EQ(answer.Text("stalls", 0, "reason"), "wait");
}

TEST_F(ReportFindingsTest, SourceSaysWhyItIsEmpty) {
  report().AddLaunch("k", SolOf(1e5, 20, 80));
  const NamedAnswer answer = Ask("source");
  EXPECT_EQ(answer.rows("lines"), 0);
  ASSERT_EQ(answer.answer().notes().size(), 1);
  EXPECT_THAT(answer.answer().notes().front(), HasSubstr("--source"));
}

}  // namespace
}  // namespace kprof
