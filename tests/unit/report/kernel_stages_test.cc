// Stages of reports: of kernels on several devices each has its own verdict and advice, and each type of number a roof.
#include "daemon/analysis/report/kernel_stages.h"

#include <gmock/gmock.h>

#include "daemon/analysis/report/report_files.h"
#include "daemon/analysis/report/report_words.h"
#include "tests/unit/analysis/sample_report.h"

namespace kprof {
namespace {

using testing::HasSubstr;
using testing::Not;

class KernelStagesTest : public testing::Test {
 protected:
  SampleReport& sample() { return sample_; }
  Report Make(const std::string& policy = "", const std::string& stages = "") {
    trace_.Take(sample_.Finish());
    ReportedRun of = Reported(trace_);
    of.policy = policy;
    of.stages = stages;
    Result<Report> report = MakeReport(of, nullptr, {});
    EXPECT_TRUE(report.ok()) << report.status().ToString();
    return *std::move(report);
  }
  static ReportedRun Reported(SampleTrace& trace) {
    RunRow run;
    run.id = "r1";
    run.tool = "import";
    return {run, AnalysisTraces({trace.part(0)}, {"r1"}), "", ""};
  }

 private:
  SampleTrace trace_;
  SampleReport sample_{trace_.NewPath()};
};

// Kernels with the launches of each.
struct SampleVersion {
  SampleTrace trace;
  explicit SampleVersion(const std::vector<std::pair<std::string, std::vector<double>>>& kernels) {
    SampleReport report(trace.NewPath());
    for (const auto& [name, times] : kernels) {
      for (const double ns : times) report.AddLaunch(name, SolOf(ns, 50, 40));
    }
    trace.Take(report.Finish());
  }
};

Report CompareVersions(SampleVersion& before, SampleVersion& now) {
  const auto reported = [](SampleTrace& trace) {
    RunRow run;
    run.id = "r";
    return ReportedRun{run, AnalysisTraces({trace.part(0)}, {"r"}), "", ""};
  };
  const ReportedRun baseline = reported(before.trace);
  Result<Report> report = MakeReport(reported(now.trace), &baseline, {});
  EXPECT_TRUE(report.ok()) << report.status().ToString();
  return *std::move(report);
}

std::optional<double> ChangeOf(const Report& report, std::string_view metric) {
  for (const ReportChange& change : report.changes) {
    if (change.metric == metric) return ChangePercent(change);
  }
  return std::nullopt;
}

TEST_F(KernelStagesTest, AKernelOnTwoDevicesHasTwoVerdicts) {
  sample().AddLaunch("gemm(float*)", SolOf(9e5, 80, 20), "NVIDIA H100 80GB HBM3", "", 0);
  sample().AddLaunch("gemm(float*)", SolOf(8e5, 20, 90, {{kDramName, 50}}), "NVIDIA A100-SXM4-80GB", "", 1);
  const Report report = Make();
  ASSERT_EQ(report.stages.size(), 2U);
  EXPECT_EQ(report.stages[0].name, "gemm, NVIDIA H100 80GB HBM3");
  EXPECT_EQ(report.stages[0].bottleneck, "compute");
  EXPECT_EQ(report.stages[1].bottleneck, "memory");
  EXPECT_THAT(report.root_cause, Not(HasSubstr("DRAM")));
}

TEST_F(KernelStagesTest, EachTypeOfNumberHasARoof) {
  const Numbers bytes = {{"dram__bytes.sum", 1e8}};
  Numbers tensor = bytes;
  tensor.emplace_back("sm__ops_path_tensor_src_bf16_dst_fp32.sum", 6.5e11);
  Numbers plain = bytes;
  plain.emplace_back("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", 1e10);
  plain.emplace_back("smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", 0);
  plain.emplace_back("smsp__sass_thread_inst_executed_op_fmul_pred_on.sum", 0);
  sample().AddLaunch("plain", SolOf(2e6, 60, 20, plain));
  sample().AddLaunch("gemm", SolOf(1e6, 80, 20, tensor));
  const Report report = Make();
  ASSERT_EQ(report.roof.rates.size(), 2U);
  EXPECT_EQ(report.roof.tflop_per_s, 989);
  const std::string svg = DrawRoofline(report);
  EXPECT_THAT(svg, HasSubstr("bf16: 989 TFLOP/s"));
  EXPECT_THAT(svg, HasSubstr("fp32: 67 TFLOP/s"));
}

TEST_F(KernelStagesTest, WhatHasNothingToGainIsANote) {
  sample().AddLaunch("k", SolOf(1e5, 10, 90, {{"dram__bytes.sum", 4e8}}));
  const Report report = Make();
  for (const ReportOpportunity& one : report.opportunities) EXPECT_NE(one.name, "persisting_l2");
  EXPECT_THAT(report.notes, testing::Contains(HasSubstr("persisting_l2 of k: ")));
  EXPECT_FALSE(report.unasked.empty());
}

// Ours and Nsight Compute's see the same sectors.
TEST_F(KernelStagesTest, ACauseStandsOnce) {
  const int64_t launch = sample().AddLaunch(
      "k", SolOf(1e5, 10, 80,
                 {{"memory_l2_theoretical_sectors_global", 400}, {"memory_l2_theoretical_sectors_global_ideal", 100}}));
  sample().AddRule(launch, "UncoalescedGlobalAccess", "OPT", "Uncoalesced.", 55, kComputeName, 10);
  const Report report = Make();
  size_t found = 0;
  for (const ReportOpportunity& one : report.opportunities) found += one.name.find("ncoalesced") != std::string::npos;
  EXPECT_EQ(found, 1U);
}

// Memory throughput is that of the busiest memory, which need not be DRAM.
TEST_F(KernelStagesTest, ABusyL2IsNotTakenForDram) {
  sample().AddLaunch("k", SolOf(1e5, 20, 88,
                                {{kDramName, 12},
                                 {"lts__throughput.avg.pct_of_peak_sustained_elapsed", 88},
                                 {"l1tex__throughput.avg.pct_of_peak_sustained_active", 30}}));
  const Report report = Make();
  EXPECT_EQ(report.stages[0].memory_level, "l2");
  EXPECT_THAT(report.root_cause, HasSubstr("memory at 88.0 % (L2) of the device's peak"));
}

TEST_F(KernelStagesTest, TheHottestLineIsNoted) {
  const int64_t launch = sample().AddLaunch("k", SolOf(1e5, 20, 88));
  sample().AddInstruction(launch, 0x110, "LDG", "/src/k.cu", 7);
  sample().AddInstruction(launch, 0x120, "FADD", "/src/k.cu", 8);
  sample().AddInstance(launch, "smsp__pcsamp_warps_issue_stalled_long_scoreboard", 0x110, 30);
  sample().AddInstance(launch, "smsp__pcsamp_warps_issue_stalled_wait", 0x120, 10);
  EXPECT_THAT(Make().notes, testing::Contains("hottest line: /src/k.cu:7 has 75.0 % of the samples of k, most of them "
                                              "long_scoreboard: kprofctl analyze source r1"));
}

TEST_F(KernelStagesTest, ThePolicyIsTheCallers) {
  sample().AddLaunch("k", SolOf(1e5, 80, 10, {{kTensorName, 10}, {kDramName, 10}}));
  const Report report = Make("tc60-dram70");
  EXPECT_EQ(report.bottleneck, "Latency");
  EXPECT_THAT(report.policy, HasSubstr("tc60-dram70 version 1"));
}

// FLOP and bytes tell the side of the ridge, and throughputs what the kernel does there.
TEST_F(KernelStagesTest, AStageIsJudgedByWhatWasMeasured) {
  sample().AddLaunch("attention(float*)", SolOf(1e5, 18, 9, {{kTensorName, 15}, {kDramName, 4}}));
  const Report report =
      Make("", R"({"attention":{"flops":1e10,"bytes":1e7,"dtype":"bf16"}, "copy":{"flops":0,"bytes":1e6}})");
  EXPECT_EQ(report.stages[0].name, "attention");
  EXPECT_EQ(report.stages[0].bottleneck, "underutilized");
  EXPECT_EQ(report.bottleneck, "Latency");
}

TEST_F(KernelStagesTest, AStageWithoutThroughputsIsJudgedByItsWork) {
  sample().AddLaunch("attention(float*)", {{kDurationName, 1e5}});
  const Report report = Make("", R"({"attention":{"flops":1e10,"bytes":1e7,"dtype":"bf16"}})");
  EXPECT_EQ(report.stages[0].bottleneck, "compute");
}

TEST_F(KernelStagesTest, AStageThatOnlyMovesDataNeedsNoRate) {
  sample().AddLaunch("load(float*)", SolOf(1e4, 5, 60));
  const Report report = Make("", R"({"load":{"flops":0,"bytes":1e7,"dtype":"bf16"}})");
  ASSERT_TRUE(report.stages[0].attainable_percent);
  EXPECT_NEAR(*report.stages[0].attainable_percent, 100 * 1e7 / 3.35e12 * 1e9 / 1e4, 0.1);
  EXPECT_THAT(report.notes, Not(testing::Contains(HasSubstr("no peak"))));
}

TEST_F(KernelStagesTest, WithoutThroughputsTheCauseSaysSo) {
  sample().AddLaunch("k", {{"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", 5}});
  EXPECT_EQ(Make().root_cause,
            "k: the report has no throughput of compute and memory, so nothing says what bounds it, and no durations.");
}

TEST(ReportChanges, ASplitKernelIsComparedAsAWhole) {
  SampleVersion before({{"attn", {80'000}}, {"combine", {4'000}}});
  SampleVersion now({{"attn_qk", {55'000}}, {"attn_pv", {50'000}}, {"combine", {4'000}}});
  const Report report = CompareVersions(before, now);
  EXPECT_FALSE(ChangeOf(report, "Duration"));
  EXPECT_NEAR(*ChangeOf(report, "All stages"), 29.76, 0.01);
  const std::string log = WriteDevelopmentLog(report);
  EXPECT_THAT(log, HasSubstr("| Duration          | 109.00 μs | 29.8% slower |"));
  EXPECT_THAT(log, HasSubstr("- Doubt: the baseline has no attn_qk: all stages together are compared\n"));
}

TEST(ReportChanges, HowManyLaunchesWereProfiledDoesNotCount) {
  SampleVersion before({{"attn", {80'000}}, {"combine", {4'000}}});
  SampleVersion now({{"attn", {80'000, 80'000, 80'000}}, {"combine", {4'000}}});
  EXPECT_EQ(ChangeOf(CompareVersions(before, now), "All stages"), 0);
}

TEST(ReportChanges, TheOnlyKernelMayHaveAnotherName) {
  SampleVersion before({{"attn_v3", {80'000}}});
  SampleVersion now({{"attn_v4", {60'000}}});
  EXPECT_EQ(ChangeOf(CompareVersions(before, now), "Duration"), -25);
}

}  // namespace
}  // namespace kprof
