// Stages of reports: of kernels on several devices each has its own verdict and advice, and each type of number a roof.
#include "daemon/analysis/report/kernel_stages.h"

#include <gmock/gmock.h>

#include "daemon/analysis/report/report_files.h"
#include "tests/unit/analysis/sample_report.h"

namespace kprof {
namespace {

using testing::HasSubstr;
using testing::Not;

class KernelStagesTest : public testing::Test {
 protected:
  SampleReport& sample() { return sample_; }
  Report Make(const std::string& policy = "") {
    trace_.Take(sample_.Finish());
    RunRow run;
    run.id = "r1";
    run.tool = "import";
    ReportedRun of{run, AnalysisTraces({trace_.part(0)}, {"r1"}), "", ""};
    of.policy = policy;
    Result<Report> report = MakeReport(of, nullptr, {});
    EXPECT_TRUE(report.ok()) << report.status().ToString();
    return *std::move(report);
  }

 private:
  SampleTrace trace_;
  SampleReport sample_{trace_.NewPath()};
};

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

}  // namespace
}  // namespace kprof
