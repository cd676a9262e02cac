// The ceilings that runs reached, beside a kernel's peaks: which device's they are, and how sure that is.
#include "daemon/analysis/functions/kernel_reports/measured_roof.h"

#include <gmock/gmock.h>

#include "tests/unit/analysis/sample_report.h"

namespace kprof {
namespace {

using testing::HasSubstr;

constexpr char kH100[] = "NVIDIA H100 80GB HBM3";

CeilingRow BandwidthCeiling(const std::string& key, double value, const std::string& name = kH100,
                            const std::string& doubts = "") {
  return {.device = key,
          .quantity = "memory_bandwidth",
          .unit = "GB/s",
          .value = value,
          .run_id = "01copy",
          .time_ns = 1'750'000'000'000'000'000,
          .clocks = "lock",
          .doubts = doubts,
          .device_name = name};
}

CeilingRow RateCeiling(const std::string& key, double value, const std::string& dtype = "bf16") {
  CeilingRow row = BandwidthCeiling(key, value);
  row.quantity = "dense_rate";
  row.dtype = dtype;
  row.accumulate = "fp32";
  row.unit = "TFLOP/s";
  row.run_id = "01gemm";
  return row;
}

class MeasuredRoofTest : public ReportTest {
 protected:
  // 500 TFLOP/s of bf16 and 1000 GB/s.
  void AddGemm(int64_t device = 0, const std::string& name = kH100) {
    report().AddLaunch("gemm" + std::to_string(device),
                       SolOf(100'000, 80, 30,
                             {{kTensorName, 60},
                              {"sm__ops_path_tensor_src_bf16_dst_fp32.sum", 5e10},
                              {"smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", 0},
                              {"smsp__sass_thread_inst_executed_op_fmul_pred_on.sum", 0},
                              {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", 0},
                              {"dram__bytes.sum", 1e8}}),
                       name, "", device);
  }
  void RanOn(std::vector<std::string> keys) { ceilings_.devices_of_runs["r1"] = std::move(keys); }
  // Of the only kernel, without a doubt about its peaks.
  NamedAnswer AskIt() {
    NamedAnswer answer = Ask("roofline");
    EXPECT_NEAR(answer.Real("kernels", 0, "peak_tflops"), 989, 1);
    EXPECT_NEAR(answer.Real("kernels", 0, "peak_gb_s"), 3350, 5);
    EXPECT_NEAR(answer.Real("kernels", 0, "attainable_percent"), 100 * 500 / 989.0, 0.1);
    return answer;
  }
  static void ExpectNone(const NamedAnswer& answer, size_t row = 0) {
    for (const char* column : {"measured_tflops", "measured_gb_s", "measured_confidence", "measured_source"}) {
      EXPECT_TRUE(answer.IsNull("kernels", row, column)) << column;
    }
  }
};

TEST_F(MeasuredRoofTest, ARunHasThoseOfItsDeviceBesideThePeaks) {
  AddGemm();
  RanOn({"GPU-1"});
  ceilings_.rows = {BandwidthCeiling("GPU-1", 2900), RateCeiling("GPU-1", 612), RateCeiling("GPU-1", 300, "tf32"),
                    BandwidthCeiling("GPU-2", 3000), RateCeiling("GPU-2", 700)};
  const NamedAnswer answer = AskIt();
  EXPECT_DOUBLE_EQ(answer.Real("kernels", 0, "measured_tflops"), 612);
  EXPECT_DOUBLE_EQ(answer.Real("kernels", 0, "measured_gb_s"), 2900);
  EXPECT_EQ(answer.Text("kernels", 0, "measured_confidence"), "high");
  EXPECT_EQ(answer.Text("kernels", 0, "measured_source"),
            "rate: run 01gemm at 2025-06-15T15:06:40Z; bandwidth: run 01copy at 2025-06-15T15:06:40Z");
}

TEST_F(MeasuredRoofTest, WithoutARecordThereIsNone) {
  AddGemm();
  RanOn({"GPU-1"});
  ExpectNone(AskIt());
}

TEST_F(MeasuredRoofTest, AnotherDevicesSaysNothingEvenIfItIsTheOnlyOneOfThatName) {
  AddGemm();
  RanOn({"GPU-1"});
  ceilings_.rows = {BandwidthCeiling("GPU-2", 2900), RateCeiling("GPU-2", 612)};
  ExpectNone(AskIt());
}

TEST_F(MeasuredRoofTest, OfSeveralDevicesEachKernelHasItsOwn) {
  AddGemm(0);
  AddGemm(1);
  AddGemm(2);
  AddGemm(3);
  RanOn({"GPU-a", "GPU-b", ""});
  ceilings_.rows = {BandwidthCeiling("GPU-a", 2900), BandwidthCeiling("GPU-b", 2800)};
  const NamedAnswer answer = Ask("roofline");
  ASSERT_EQ(answer.rows("kernels"), 4);
  const auto row_of = [&answer](const char* name) { return answer.Find("kernels", "name", name); };
  EXPECT_DOUBLE_EQ(answer.Real("kernels", row_of("gemm0"), "measured_gb_s"), 2900);
  EXPECT_DOUBLE_EQ(answer.Real("kernels", row_of("gemm1"), "measured_gb_s"), 2800);
  ExpectNone(answer, row_of("gemm2"));
  ExpectNone(answer, row_of("gemm3"));
}

TEST_F(MeasuredRoofTest, AReportFromElsewhereHasThoseOfTheOneDeviceOfItsName) {
  AddGemm();
  ceilings_.rows = {BandwidthCeiling("GPU-1", 2900, "nvidia h100 80GB hbm3"),
                    BandwidthCeiling("GPU-2", 300, "Tesla T4")};
  const NamedAnswer answer = AskIt();
  EXPECT_DOUBLE_EQ(answer.Real("kernels", 0, "measured_gb_s"), 2900);
  EXPECT_TRUE(answer.IsNull("kernels", 0, "measured_tflops"));
  EXPECT_EQ(answer.Text("kernels", 0, "measured_confidence"), "medium");
  EXPECT_THAT(answer.Text("kernels", 0, "measured_source"),
              HasSubstr("run 01copy at 2025-06-15T15:06:40Z, on the one NVIDIA H100 80GB HBM3 that has ceilings here"));
}

TEST_F(MeasuredRoofTest, OfTwoDevicesOfItsNameItHasNoneAndSaysSo) {
  AddGemm();
  ceilings_.rows = {BandwidthCeiling("GPU-1", 2900), RateCeiling("GPU-2", 612)};
  const NamedAnswer answer = AskIt();
  ExpectNone(answer);
  EXPECT_THAT(answer.Text("kernels", 0, "warnings"),
              HasSubstr("2 devices of the name NVIDIA H100 80GB HBM3 have measured ceilings"));
}

TEST_F(MeasuredRoofTest, OneThatWasRecordedWithoutANameIsFoundByItsKey) {
  AddGemm();
  RanOn({"GPU-1"});
  ceilings_.rows = {BandwidthCeiling("GPU-1", 2900, "")};
  EXPECT_DOUBLE_EQ(AskIt().Real("kernels", 0, "measured_gb_s"), 2900);
}

TEST_F(MeasuredRoofTest, OneThatWasRecordedWithoutANameIsNotFoundByAName) {
  AddGemm();
  ceilings_.rows = {BandwidthCeiling("GPU-1", 2900, "")};
  ExpectNone(AskIt());
}

TEST_F(MeasuredRoofTest, ADoubtOfItsRunIsADoubtOfTheCeiling) {
  AddGemm();
  RanOn({"GPU-1"});
  ceilings_.rows = {BandwidthCeiling("GPU-1", 2900, kH100, "power_capped"), RateCeiling("GPU-1", 612)};
  EXPECT_EQ(AskIt().Text("kernels", 0, "measured_confidence"), "medium");
}

// A MIG instance has a name of its own.
TEST_F(MeasuredRoofTest, WhatAWholeDeviceReachedSaysNothingOfAPart) {
  report().AddLaunch("k", SolOf(1000, 10, 90, {{"dram__bytes.sum", 1e5}}), "NVIDIA H100 80GB HBM3 MIG 3g.40gb");
  RanOn({"GPU-1"});
  ceilings_.rows = {BandwidthCeiling("GPU-1", 2900)};
  ExpectNone(Ask("roofline"));
}

TEST_F(MeasuredRoofTest, OneAboveThePeakIsNotShown) {
  AddGemm();
  RanOn({"GPU-1"});
  ceilings_.rows = {BandwidthCeiling("GPU-1", 3600), RateCeiling("GPU-1", 612)};
  const NamedAnswer answer = AskIt();
  EXPECT_TRUE(answer.IsNull("kernels", 0, "measured_gb_s"));
  EXPECT_DOUBLE_EQ(answer.Real("kernels", 0, "measured_tflops"), 612);
  EXPECT_EQ(answer.Text("kernels", 0, "measured_source"), "run 01gemm at 2025-06-15T15:06:40Z");
}

TEST_F(MeasuredRoofTest, StagesHaveThemToo) {
  AddGemm();
  RanOn({"GPU-1"});
  ceilings_.rows = {BandwidthCeiling("GPU-1", 2900), RateCeiling("GPU-1", 612)};
  const NamedAnswer answer =
      Ask("roofline", {{"stages", R"({"gemm0": {"flops": 5e10, "bytes": 1e8, "dtype": "bfloat16"}})"}});
  ASSERT_EQ(answer.rows("stages"), 1);
  EXPECT_DOUBLE_EQ(answer.Real("stages", 0, "measured_tflops"), 612);
  EXPECT_DOUBLE_EQ(answer.Real("stages", 0, "measured_gb_s"), 2900);
  EXPECT_EQ(answer.Text("stages", 0, "measured_confidence"), "high");
  EXPECT_THAT(answer.Text("stages", 0, "measured_source"), HasSubstr("01gemm"));
  EXPECT_NEAR(answer.Real("stages", 0, "peak_tflops"), 989, 1);
}

}  // namespace
}  // namespace kprof
