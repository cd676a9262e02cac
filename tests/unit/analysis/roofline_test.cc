// What kernel reports become under the roofline's policies. Several tests are of a defect of other analyzers: the name
// says what is right.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "daemon/analysis/functions/kernel_reports/report_quantities.h"
#include "daemon/analysis/functions/kernel_reports/roofline_policies.h"
#include "tests/unit/analysis/sample_report.h"

namespace kprof {
namespace {

using testing::HasSubstr;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

class RooflineTest : public ReportTest {
 protected:
  std::string BottleneckOf(const RoofPercents& of, const std::string& policy = "sol-95-60") {
    const Result<ChosenPolicy> chosen = ChosenPolicy::Read(policy);
    EXPECT_TRUE(chosen.ok()) << chosen.status().ToString();
    return std::string(BottleneckName(chosen->Judge(of).bottleneck));
  }
};

TEST_F(RooflineTest, TheHigherThroughputIsTheBound) {
  EXPECT_EQ(BottleneckOf({.compute = 80, .memory = 40}), "compute");
  EXPECT_EQ(BottleneckOf({.compute = 40, .memory = 80}), "memory");
}

TEST_F(RooflineTest, ATieIsMemory) {
  EXPECT_EQ(BottleneckOf({.compute = 70, .memory = 70}), "memory");
}

TEST_F(RooflineTest, BothBelowTheLimitIsUnderutilized) {
  EXPECT_EQ(BottleneckOf({.compute = 59.999, .memory = 59.999}), "underutilized");
  EXPECT_EQ(BottleneckOf({.compute = 10, .memory = 60}), "memory");
  EXPECT_EQ(BottleneckOf({.compute = 60, .memory = 10}), "compute");
}

TEST_F(RooflineTest, BothHighIsBalancedUnderOnePolicyAlone) {
  const RoofPercents high = {.compute = 90, .memory = 90, .dram = 90, .tensor = 90};
  EXPECT_EQ(BottleneckOf(high), "memory");
  EXPECT_EQ(BottleneckOf(high, "tc60-dram70"), "balanced");
}

TEST_F(RooflineTest, TheOtherPolicyLooksAtTensorPipeAndDram) {
  const char* const kPolicy = "tc60-dram70";
  EXPECT_EQ(BottleneckOf({.compute = 90, .memory = 20, .dram = 71, .tensor = 60}, kPolicy), "memory");
  EXPECT_EQ(BottleneckOf({.compute = 20, .memory = 90, .dram = 70, .tensor = 61}, kPolicy), "compute");
  EXPECT_EQ(BottleneckOf({.compute = 90, .memory = 90, .dram = 70, .tensor = 60}, kPolicy), "underutilized");
  EXPECT_EQ(BottleneckOf({.compute = 90, .memory = 90}, kPolicy), "unknown");
}

TEST_F(RooflineTest, ParametersOfAPolicyCanBeSet) {
  EXPECT_EQ(BottleneckOf({.compute = 40, .memory = 30}, "sol-95-60,low=35"), "compute");
  const Result<ChosenPolicy> policy = ChosenPolicy::Read("sol-95-60,threshold=90,tensor=20");
  ASSERT_TRUE(policy.ok());
  const RoofVerdict verdict = policy->Judge({.compute = 92, .memory = 10, .tensor = 20});
  EXPECT_TRUE(verdict.at_roofline);
  EXPECT_EQ(verdict.uses_tensor_cores, false);
  EXPECT_EQ(policy->ParametersJson(), R"({"threshold":90,"tensor":20,"low":60,"hit":80})");
}

TEST_F(RooflineTest, UnknownPoliciesAndParametersAreNamed) {
  struct Case {
    const char* text;
    const char* said;
  };
  for (const Case& one : {Case{"sol", "there are sol-95-60, tc60-dram70"},
                          Case{"sol-95-60,tresh=9", "it has threshold, tensor, low, hit"},
                          Case{"sol-95-60,", "it has threshold, tensor, low, hit"},
                          Case{"sol-95-60,low=60,low=50", "there twice"}, Case{"sol-95-60,low=101", "from 0 to 100"},
                          Case{"sol-95-60,low=-1", "from 0 to 100"}, Case{"sol-95-60,low=nan", "from 0 to 100"},
                          Case{"sol-95-60,low=6x", "from 0 to 100"}, Case{"sol-95-60,low", "from 0 to 100"}}) {
    const Status status = ChosenPolicy::Read(one.text).status();
    EXPECT_EQ(status.code(), ErrorCode::kUsage) << one.text;
    EXPECT_THAT(status.ToString(), HasSubstr(one.said)) << one.text;
  }
}

TEST_F(RooflineTest, TheThresholdItselfIsAtTheRoofline) {
  report().AddLaunch("a", SolOf(1000, 95, 10));
  report().AddLaunch("b", SolOf(900, 94.99, 10));
  const NamedAnswer answer = Ask("roofline");
  EXPECT_EQ(answer.Integer("kernels", 0, "at_roofline"), 1);
  EXPECT_DOUBLE_EQ(answer.Real("kernels", 0, "headroom_percent"), 5);
  EXPECT_EQ(answer.Integer("kernels", 1, "at_roofline"), 0);
}

TEST_F(RooflineTest, TensorCoresAreInUseAboveFivePercentAndNullWithoutAMetric) {
  report().AddLaunch("a", SolOf(5000, 50, 50, {{kTensorName, 5.01}}));
  report().AddLaunch("b", SolOf(4000, 50, 50, {{kTensorName, 5.0}}));
  report().AddLaunch("c", SolOf(3000, 50, 50));
  const NamedAnswer answer = Ask("roofline");
  EXPECT_EQ(answer.Integer("kernels", 0, "uses_tensor_cores"), 1);
  EXPECT_EQ(answer.Integer("kernels", 1, "uses_tensor_cores"), 0);
  EXPECT_TRUE(answer.IsNull("kernels", 2, "uses_tensor_cores"));
}

// A capture may have asked for another one of the tensor pipe's metrics than an analyzer looks for.
TEST_F(RooflineTest, AnyMetricOfTheTensorPipeTellsOfItsUse) {
  int64_t ns = 9000;
  for (const std::string_view name : WordsOf(Quantity::kTensorPipe).names) {
    report().AddLaunch("by " + std::string(name), SolOf(static_cast<double>(ns--), 50, 50, {{std::string(name), 30}}));
  }
  const NamedAnswer answer = Ask("roofline");
  ASSERT_EQ(answer.rows("kernels"), WordsOf(Quantity::kTensorPipe).names.size());
  for (size_t i = 0; i < answer.rows("kernels"); ++i) {
    EXPECT_EQ(answer.Integer("kernels", i, "uses_tensor_cores"), 1) << answer.Text("kernels", i, "name");
  }
}

// A page has a metric for each operation of the pipe.
TEST_F(RooflineTest, TheBusiestOperationOfTheTensorPipeCounts) {
  report().AddLaunch("gemm_s8",
                     SolOf(1e5, 92, 30,
                           {{"sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_active", 0},
                            {"sm__pipe_tensor_op_imma_cycles_active.avg.pct_of_peak_sustained_active", 91},
                            {"sm__inst_executed_pipe_tensor_op_imma.avg.pct_of_peak_sustained_active", 99}}));
  const NamedAnswer answer = Ask("roofline");
  EXPECT_DOUBLE_EQ(answer.Real("kernels", 0, "tensor_percent"), 91);
  EXPECT_EQ(answer.Integer("kernels", 0, "uses_tensor_cores"), 1);
}

TEST_F(RooflineTest, OneMissingThroughputWarnsAndBothAreUnknown) {
  report().AddLaunch("no memory", {{kDurationName, 5000}, {kComputeName, 70}});
  report().AddLaunch("no compute", {{kDurationName, 4000}, {kMemoryName, 70}});
  report().AddLaunch("neither", {{kDurationName, 3000}});
  const NamedAnswer answer = Ask("roofline");
  EXPECT_EQ(answer.Text("kernels", 0, "bottleneck"), "compute");
  EXPECT_THAT(answer.Text("kernels", 0, "warnings"), HasSubstr("Memory SOL metric missing"));
  EXPECT_TRUE(answer.IsNull("kernels", 0, "memory_sol_percent"));
  EXPECT_EQ(answer.Text("kernels", 1, "bottleneck"), "memory");
  EXPECT_THAT(answer.Text("kernels", 1, "warnings"), HasSubstr("Compute SOL metric missing"));
  EXPECT_EQ(answer.Text("kernels", 2, "bottleneck"), "unknown");
  EXPECT_THAT(answer.Text("kernels", 2, "warnings"), HasSubstr("no SOL metrics"));
  EXPECT_TRUE(answer.IsNull("kernels", 2, "efficiency_percent"));
  EXPECT_EQ(answer.Integer("kernels", 2, "at_roofline"), 0);
}

TEST_F(RooflineTest, ThePolicyThatNeedsThroughputsAloneWarnsOfThem) {
  report().AddLaunch("k", {{kDurationName, 1000}, {kTensorName, 80}, {kDramName, 90}});
  report().AddLaunch("bare", {{kDurationName, 500}});
  const NamedAnswer pipes = Ask("roofline", {{"policy", "tc60-dram70"}});
  EXPECT_EQ(pipes.Text("kernels", 0, "bottleneck"), "balanced");
  EXPECT_THAT(pipes.Text("kernels", 0, "warnings"), testing::Not(HasSubstr("SOL")));
  EXPECT_TRUE(pipes.IsNull("kernels", 0, "efficiency_percent"));
  EXPECT_EQ(pipes.Text("kernels", 1, "bottleneck"), "unknown");
  EXPECT_EQ(pipes.Text("kernels", 1, "warnings"), R"(["Tensor and DRAM metrics missing"])");
  const NamedAnswer sol = Ask("roofline");
  EXPECT_EQ(sol.Text("kernels", 0, "bottleneck"), "unknown");
  EXPECT_THAT(sol.Text("kernels", 0, "warnings"), HasSubstr("no SOL metrics in NCU data"));
}

TEST_F(RooflineTest, DramIsToldApartFromL2) {
  report().AddLaunch("l2",
                     SolOf(5000, 20, 90, {{kDramName, 15}, {"lts__throughput.avg.pct_of_peak_sustained_elapsed", 90}}));
  report().AddLaunch("dram",
                     SolOf(4000, 20, 90, {{kDramName, 90}, {"lts__throughput.avg.pct_of_peak_sustained_elapsed", 50}}));
  report().AddLaunch("one that is not measured", SolOf(3000, 20, 90, {{kDramName, 15}}));
  const NamedAnswer answer = Ask("roofline");
  EXPECT_EQ(answer.Text("kernels", 0, "memory_level"), "l2");
  EXPECT_DOUBLE_EQ(answer.Real("kernels", 0, "dram_percent"), 15);
  EXPECT_EQ(answer.Text("kernels", 1, "memory_level"), "dram");
  EXPECT_TRUE(answer.IsNull("kernels", 2, "memory_level"));
}

TEST_F(RooflineTest, NumbersThatCannotBeAreGuardedAndSaid) {
  report().AddLaunch("a little above", SolOf(9000, 101.5, 40));
  report().AddLaunch("far above", SolOf(8000, 8700, 40));
  report().AddLaunch("negative", SolOf(7000, -3, 40));
  report().AddLaunch("not a number", SolOf(6000, kNaN, 40));
  report().AddLaunch("infinite", SolOf(5000, std::numeric_limits<double>::infinity(), 40));
  const int64_t text = report().AddLaunch("a text", {{kDurationName, 4000}, {kMemoryName, 40}});
  report().AddText("a text", text, kComputeName, "n/a");
  const NamedAnswer answer = Ask("roofline");
  EXPECT_DOUBLE_EQ(answer.Real("kernels", 0, "compute_sol_percent"), 100);
  EXPECT_DOUBLE_EQ(answer.Real("kernels", 0, "efficiency_percent"), 100);
  EXPECT_DOUBLE_EQ(answer.Real("kernels", 0, "headroom_percent"), 0);
  EXPECT_THAT(answer.Text("kernels", 0, "warnings"), HasSubstr("up to 101.5, taken as 100"));
  EXPECT_THAT(answer.Text("kernels", 1, "warnings"), HasSubstr("8700 is no percentage, left out"));
  EXPECT_THAT(answer.Text("kernels", 2, "warnings"), HasSubstr("-3 is no percentage, left out"));
  EXPECT_THAT(answer.Text("kernels", 5, "warnings"), HasSubstr("the text 'n/a' in place of a number"));
  for (size_t i = 1; i < 6; ++i) {
    EXPECT_TRUE(answer.IsNull("kernels", i, "compute_sol_percent")) << i;
    EXPECT_EQ(answer.Text("kernels", i, "bottleneck"), "underutilized") << i;
    EXPECT_THAT(answer.Text("kernels", i, "warnings"), HasSubstr("Compute SOL metric missing")) << i;
  }
}

TEST_F(RooflineTest, AllLaunchesCountByTheirTime) {
  report().AddLaunch("k", SolOf(1000, 10, 90));
  report().AddLaunch("k", SolOf(3000, 10, 50));
  report().AddLaunch("k", SolOf(2000, 10, 20));
  const NamedAnswer answer = Ask("roofline", {{"per-launch", "true"}});
  ASSERT_EQ(answer.rows("kernels"), 1);
  EXPECT_EQ(answer.Integer("kernels", 0, "launches"), 3);
  EXPECT_DOUBLE_EQ(answer.Real("kernels", 0, "duration_ns"), 2000);
  EXPECT_DOUBLE_EQ(answer.Real("kernels", 0, "total_ns"), 6000);
  EXPECT_DOUBLE_EQ(answer.Real("kernels", 0, "min_ns"), 1000);
  EXPECT_DOUBLE_EQ(answer.Real("kernels", 0, "p50_ns"), 2000);
  EXPECT_DOUBLE_EQ(answer.Real("kernels", 0, "max_ns"), 3000);
  EXPECT_DOUBLE_EQ(answer.Real("kernels", 0, "memory_sol_percent"), (90 * 1000 + 50 * 3000 + 20 * 2000) / 6000.0);
  EXPECT_DOUBLE_EQ(answer.Real("kernels", 0, "efficiency_min_percent"), 20);
  EXPECT_DOUBLE_EQ(answer.Real("kernels", 0, "efficiency_max_percent"), 90);
  EXPECT_EQ(answer.rows("launches"), 3);
}

TEST_F(RooflineTest, AllKernelsAreJudgedAndOnesCanBeChosen) {
  report().AddLaunch("at::native::copy", SolOf(1000, 10, 90));
  report().AddLaunch("mine<int>(float*)", SolOf(5000, 90, 10));
  const NamedAnswer all = Ask("roofline");
  ASSERT_EQ(all.rows("kernels"), 2);
  EXPECT_EQ(all.Text("kernels", 0, "name"), "mine<int>(float*)");
  const NamedAnswer one = Ask("roofline", {{"kernel", "copy"}});
  ASSERT_EQ(one.rows("kernels"), 1);
  EXPECT_EQ(one.Text("kernels", 0, "name"), "at::native::copy");
  const Status none = TryToAsk("roofline", {{"kernel", "theirs"}}).status();
  EXPECT_EQ(none.code(), ErrorCode::kUsage);
  EXPECT_THAT(none.ToString(), HasSubstr("mine<int>(float*)"));
}

TEST_F(RooflineTest, ResultsOfRangesAreToldApartByTheirRanges) {
  const char* const kDevice = "NVIDIA H100 80GB HBM3";
  report().AddRange("prefill", SolOf(1000, 90, 10), kDevice);
  report().AddRange("prefill", SolOf(3000, 70, 10), kDevice);
  report().AddRange("step/decode", SolOf(2000, 10, 90), kDevice);
  report().AddRange("", SolOf(100, 10, 10), kDevice);
  const NamedAnswer answer = Ask("roofline", {{"per-launch", "true"}});
  ASSERT_EQ(answer.rows("kernels"), 3);
  EXPECT_EQ(answer.Text("kernels", 0, "name"), "range prefill");
  EXPECT_EQ(answer.Integer("kernels", 0, "launches"), 2);
  EXPECT_DOUBLE_EQ(answer.Real("kernels", 0, "compute_sol_percent"), 75);
  EXPECT_EQ(answer.Text("kernels", 0, "bottleneck"), "compute");
  EXPECT_EQ(answer.Text("kernels", 1, "name"), "range step/decode");
  EXPECT_EQ(answer.Text("kernels", 1, "bottleneck"), "memory");
  EXPECT_EQ(answer.Text("kernels", 2, "name"), "range");
  EXPECT_EQ(answer.rows("launches"), 4);
  EXPECT_EQ(Ask("roofline", {{"kernel", "decode"}}).rows("kernels"), 1);
  EXPECT_EQ(Ask("kernels").Find("kernels", "name", "range prefill"), 0);
}

TEST_F(RooflineTest, LaunchesOfAKernelInOtherRangesAreOneKernel) {
  report().AddLaunch("k", SolOf(1000, 90, 10), "NVIDIA H100 80GB HBM3", "prefill");
  report().AddLaunch("k", SolOf(1000, 90, 10), "NVIDIA H100 80GB HBM3", "decode");
  EXPECT_EQ(Ask("roofline").rows("kernels"), 1);
}

TEST_F(RooflineTest, OtherDevicesOfOneKernelAreOtherRows) {
  report().AddLaunch("k", SolOf(1000, 10, 90), "NVIDIA H100 80GB HBM3", "", 0);
  report().AddLaunch("k", SolOf(2000, 90, 10), "NVIDIA L4", "", 1);
  const NamedAnswer answer = Ask("roofline");
  ASSERT_EQ(answer.rows("kernels"), 2);
  EXPECT_EQ(answer.Text("kernels", 0, "device_name"), "NVIDIA L4");
  const NamedAnswer one = Ask("roofline", {{"device", "0"}});
  ASSERT_EQ(one.rows("kernels"), 1);
  EXPECT_EQ(one.Text("kernels", 0, "bottleneck"), "memory");
  EXPECT_EQ(TryToAsk("roofline", {{"device", "7"}}).status().code(), ErrorCode::kUsage);
}

// 100 us; 989.4 dense TFLOP/s of bf16 and 3350 GB/s are the H100's peaks.
TEST_F(RooflineTest, CountersGiveAnAnalyticRoofline) {
  report().AddLaunch("gemm", SolOf(100'000, 80, 30,
                                   {{kTensorName, 60},
                                    {"sm__ops_path_tensor_src_bf16_dst_fp32.sum", 5e10},
                                    {"smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", 0},
                                    {"smsp__sass_thread_inst_executed_op_fmul_pred_on.sum", 0},
                                    {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", 0},
                                    {"dram__bytes_read.sum", 6e7},
                                    {"dram__bytes_write.sum", 4e7},
                                    {"lts__t_bytes.sum", 4e8}}));
  const NamedAnswer answer = Ask("roofline");
  EXPECT_EQ(answer.Text("kernels", 0, "dtype"), "bf16");
  EXPECT_DOUBLE_EQ(answer.Real("kernels", 0, "flops"), 5e10);
  EXPECT_DOUBLE_EQ(answer.Real("kernels", 0, "dram_bytes"), 1e8);
  EXPECT_DOUBLE_EQ(answer.Real("kernels", 0, "achieved_tflops"), 500);
  EXPECT_DOUBLE_EQ(answer.Real("kernels", 0, "achieved_gb_s"), 1000);
  EXPECT_DOUBLE_EQ(answer.Real("kernels", 0, "intensity_flop_per_byte"), 500);
  const double peak = answer.Real("kernels", 0, "peak_tflops");
  const double bandwidth = answer.Real("kernels", 0, "peak_gb_s");
  EXPECT_NEAR(peak, 989, 1);  // dense, not 1979
  EXPECT_NEAR(bandwidth, 3350, 5);
  EXPECT_NEAR(answer.Real("kernels", 0, "ridge_flop_per_byte"), 295, 1);  // FLOP/byte, not 0.295
  EXPECT_DOUBLE_EQ(answer.Real("kernels", 0, "attainable_tflops"), peak);
  EXPECT_DOUBLE_EQ(answer.Real("kernels", 0, "attainable_percent"), 100 * 500 / peak);
  EXPECT_EQ(answer.Text("kernels", 0, "peak_confidence"), "high");
  ASSERT_EQ(answer.rows("levels"), 2);
  EXPECT_EQ(answer.Text("levels", 1, "level"), "l2");
  EXPECT_DOUBLE_EQ(answer.Real("levels", 1, "intensity_flop_per_byte"), 125);
  EXPECT_TRUE(answer.IsNull("levels", 1, "peak_gb_s"));
}

TEST_F(RooflineTest, BelowTheRidgeBandwidthIsWhatCanBeHad) {
  report().AddLaunch("axpy", SolOf(100'000, 10, 80,
                                   {{"smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", 1e6},
                                    {"smsp__sass_thread_inst_executed_op_fmul_pred_on.sum", 1e6},
                                    {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", 4e6},
                                    {"dram__bytes.sum", 2e8}}));
  const NamedAnswer answer = Ask("roofline");
  EXPECT_EQ(answer.Text("kernels", 0, "dtype"), "fp32");
  EXPECT_DOUBLE_EQ(answer.Real("kernels", 0, "flops"), 1e7);  // a multiply-add is two
  EXPECT_DOUBLE_EQ(answer.Real("kernels", 0, "intensity_flop_per_byte"), 0.05);
  const double bandwidth = answer.Real("kernels", 0, "peak_gb_s");
  EXPECT_DOUBLE_EQ(answer.Real("kernels", 0, "attainable_tflops"), 0.05 * bandwidth / 1000);
  EXPECT_DOUBLE_EQ(answer.Real("kernels", 0, "attainable_percent"), 100 * 2000 / bandwidth);
}

// Those counters do not count Hopper's wgmma.
TEST_F(RooflineTest, AnActiveTensorPipeWithoutOperationsHasNoFlops) {
  report().AddLaunch("wgmma", SolOf(100'000, 80, 30,
                                    {{kTensorName, 70},
                                     {"sm__ops_path_tensor_src_bf16_dst_fp32.sum", 0},
                                     {"smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", 100},
                                     {"smsp__sass_thread_inst_executed_op_fmul_pred_on.sum", 100},
                                     {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", 100},
                                     {"dram__bytes.sum", 1e8}}));
  const NamedAnswer answer = Ask("roofline");
  EXPECT_TRUE(answer.IsNull("kernels", 0, "flops"));
  EXPECT_TRUE(answer.IsNull("kernels", 0, "attainable_percent"));
  EXPECT_THAT(answer.Text("kernels", 0, "warnings"), HasSubstr("its FLOP are not known"));
}

TEST_F(RooflineTest, ADeviceThatTheTableLacksHasTheReportsOwnPeaks) {
  report().AddLaunch("k",
                     SolOf(1000, 10, 80,
                           {{"dram__bytes.sum", 2e5},
                            {"dram__bytes.sum.peak_sustained", 64},
                            {"dram__cycles_elapsed.avg.per_second", 5e9}}),
                     "NVIDIA GeForce GTX 9999");
  const NamedAnswer answer = Ask("roofline");
  EXPECT_DOUBLE_EQ(answer.Real("kernels", 0, "peak_gb_s"), 320);
  EXPECT_EQ(answer.Text("kernels", 0, "bandwidth_confidence"), "medium");
  EXPECT_TRUE(answer.IsNull("kernels", 0, "peak_tflops"));
}

TEST_F(RooflineTest, StagesHaveTheWorkThatTheirMakerTells) {
  for (int i = 0; i < 10; ++i) {
    report().AddLaunch("split(float*)", SolOf(40'000, 50, 50), "NVIDIA H100 80GB HBM3", "step/attention");
    report().AddLaunch("merge(float*)", SolOf(5'000, 50, 50), "NVIDIA H100 80GB HBM3", "step/attention");
    report().AddLaunch("merge(float*)", SolOf(5'000, 50, 50), "NVIDIA H100 80GB HBM3", "step/attention");
    report().AddLaunch("norm(float*)", SolOf(10'000, 50, 50));
  }
  const NamedAnswer answer =
      Ask("roofline", {{"stages", R"({"attention": {"flops": 2e10, "bytes": 1e8, "dtype": "torch.bfloat16"},
      "norm": {"bytes": 6.7e7}, "other": {"flops": 1}})"}});
  ASSERT_EQ(answer.rows("stages"), 2);
  EXPECT_EQ(answer.Text("stages", 0, "found_by"), "range");
  EXPECT_DOUBLE_EQ(answer.Real("stages", 0, "times"), 10);
  EXPECT_DOUBLE_EQ(answer.Real("stages", 0, "duration_ns"), 50'000);
  EXPECT_DOUBLE_EQ(answer.Real("stages", 0, "achieved_tflops"), 400);
  EXPECT_DOUBLE_EQ(answer.Real("stages", 0, "achieved_gb_s"), 2000);
  EXPECT_DOUBLE_EQ(answer.Real("stages", 0, "intensity_flop_per_byte"), 200);
  EXPECT_EQ(answer.Text("stages", 0, "bound"), "memory");
  EXPECT_EQ(answer.Text("stages", 1, "found_by"), "function");
  EXPECT_THAT(answer.Text("stages", 1, "warnings"), HasSubstr("more bytes than DRAM can move"));
  EXPECT_THAT(answer.answer().notes(), testing::Contains(HasSubstr("stage 'other'")));
}

TEST_F(RooflineTest, AStageAboveThePeaksIsWarnedOf) {
  report().AddLaunch("k", SolOf(1000, 10, 80));
  const auto ask = [this](const std::string& cost) {
    return Ask("roofline", {{"stages", R"({"k": {"dtype": "bf16", )" + cost + "}}"}}).Text("stages", 0, "warnings");
  };
  const auto is_said = [](bool flops, bool bytes, bool percent) {
    const auto one = [](bool is, const char* text) {
      using Matcher = testing::Matcher<std::string>;
      return is ? Matcher(HasSubstr(text)) : Matcher(testing::Not(HasSubstr(text)));
    };
    return testing::AllOf(one(flops, "more FLOP/s than the device can do: the flops are too many, or `times` is wrong"),
                          one(bytes, "more bytes than DRAM can move"), one(percent, "attainable_percent is above 100"));
  };
  // A microsecond at the peaks is 989 MFLOP and 3.35 MB.
  EXPECT_THAT(ask(R"("flops": 9.8e8, "bytes": 3e6)"), is_said(false, false, false));
  EXPECT_THAT(ask(R"("flops": 9.9e8, "bytes": 3e6)"), is_said(true, false, true));
  EXPECT_THAT(ask(R"("flops": 9.9e8)"), is_said(true, false, false)) << "without bytes no roof is known";
  EXPECT_THAT(ask(R"("flops": 9.8e8, "bytes": 3.4e6)"), is_said(false, true, true));
  EXPECT_THAT(ask(R"("flops": 9.9e8, "bytes": 3e6, "times": 0.5)"), is_said(false, false, false));
}

TEST_F(RooflineTest, ExecutionsThatNobodyToldAreSaidInANote) {
  for (int i = 0; i < 12; ++i) report().AddLaunch("k", SolOf(1000, 10, 80));
  report().AddLaunch("once", SolOf(1000, 10, 80));
  const auto notes = [this](const std::string& stages) -> std::string {
    const NamedAnswer answer = Ask("roofline", {{"stages", stages}});
    return answer.answer().notes().empty() ? "" : answer.answer().notes().front();
  };
  EXPECT_EQ(notes(R"({"k": {"bytes": 1}})"),
            "stage 'k': 12 executions are counted, as its rarest kernel was launched so often; say `times` where that "
            "is wrong");
  EXPECT_EQ(notes(R"({"k": {"bytes": 1, "times": 3}})"), "");
  EXPECT_EQ(notes(R"({"once": {"bytes": 1}})"), "");
}

TEST_F(RooflineTest, AStageMayBeAPathOfRanges) {
  report().AddLaunch("k", SolOf(1000, 10, 80), "NVIDIA H100 80GB HBM3", "step/attention/qk");
  report().AddLaunch("k", SolOf(2000, 10, 80), "NVIDIA H100 80GB HBM3", "step/mlp/attention/qk");
  const auto launches_of = [this](const std::string& stage) {
    const NamedAnswer answer = Ask("roofline", {{"stages", "{\"" + stage + "\": {}}"}});
    return answer.rows("stages") == 0 || answer.Text("stages", 0, "found_by") != "range"
               ? 0.0
               : static_cast<double>(answer.Integer("stages", 0, "launches"));
  };
  EXPECT_EQ(launches_of("step/attention"), 1);
  EXPECT_EQ(launches_of("attention/qk"), 2);
  EXPECT_EQ(launches_of("step/attention/qk"), 1);
  EXPECT_EQ(launches_of("step/qk"), 0);
  EXPECT_EQ(launches_of("tep/attention"), 0);
}

TEST_F(RooflineTest, StagesAreTakenInEachFormThatACaptureTakes) {
  report().AddLaunch("k", SolOf(1000, 10, 80));
  for (const char* text : {R"({"k": {"flops": 8, "dtype": "bf16"}})", R"([{"name": "k", "flops": 8, "note": "x"}])",
                           R"({"dtype": "bfloat16", "stages": [{"name": "k", "flops": 8}]})"}) {
    const NamedAnswer answer = Ask("roofline", {{"stages", text}});
    ASSERT_EQ(answer.rows("stages"), 1) << text;
    EXPECT_DOUBLE_EQ(answer.Real("stages", 0, "flops"), 8) << text;
  }
}

TEST_F(RooflineTest, StagesThatAreNotWrittenRightAreRefusedWithTheirPlace) {
  report().AddLaunch("k", SolOf(1000, 10, 80));
  for (const char* text : {"[]", "{", "{}", R"({"a": 1})", R"({"a": {"flop": 1}})", R"({"a": {"flops": -1}})",
                           R"({"a": {"flops": 1e999}})", R"({"a": {}, "a": {}})", R"({"a": {"flops": 1} )",
                           R"({"a": {}} x)", R"({"": {}})"}) {
    const Status status = TryToAsk("roofline", {{"stages", text}}).status();
    EXPECT_EQ(status.code(), ErrorCode::kUsage) << text;
    EXPECT_THAT(status.ToString(), HasSubstr("byte ")) << text;
  }
}

TEST_F(RooflineTest, LaunchesWithoutATableOfThemCountAsWell) {
  report().AddLaunch("k", SolOf(1000, 10, 80), "");
  report().AddLaunch("k", SolOf(1000, 30, 80), "");
  const NamedAnswer answer = Ask("roofline");
  ASSERT_EQ(answer.rows("kernels"), 1);
  EXPECT_DOUBLE_EQ(answer.Real("kernels", 0, "compute_sol_percent"), 20);
  EXPECT_TRUE(answer.IsNull("kernels", 0, "device_name"));
  EXPECT_TRUE(answer.IsNull("kernels", 0, "peak_gb_s"));
}

TEST_F(RooflineTest, LaunchesWithoutATimeWeighAlikeAndANoteSaysSo) {
  report().AddLaunch("k", {{kComputeName, 10}, {kMemoryName, 80}});
  report().AddLaunch("k", {{kComputeName, 30}, {kMemoryName, 80}});
  const NamedAnswer answer = Ask("roofline");
  EXPECT_DOUBLE_EQ(answer.Real("kernels", 0, "compute_sol_percent"), 20);
  EXPECT_TRUE(answer.IsNull("kernels", 0, "duration_ns"));
  ASSERT_FALSE(answer.answer().notes().empty());
  EXPECT_THAT(answer.answer().notes().front(), HasSubstr("have no duration"));
}

}  // namespace
}  // namespace kprof
