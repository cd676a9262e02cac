#include "daemon/devices/peaks/device_peaks.h"

#include <gtest/gtest.h>

namespace kprof {
namespace {

Peak Rate(const std::string& dtype, const std::string& accumulate, double value,
          PeakOrigin origin = PeakOrigin::kTable) {
  return {.quantity = std::string(kDenseRate),
          .dtype = dtype,
          .accumulate = accumulate,
          .value = value,
          .unit = "TFLOP/s",
          .origin = origin};
}

TEST(DevicePeaks, FindsByQuantityDtypeAndAccumulate) {
  const DevicePeaks device{.peaks = {Rate("fp16", "fp32", 165.2), Rate("fp16", "fp16", 330.3), Rate("fp32", "", 82.6)}};
  EXPECT_EQ(device.Find(kDenseRate, "fp16", "fp16")->value, 330.3);
  EXPECT_EQ(device.Find(kDenseRate, "fp16", "fp32")->value, 165.2);
  EXPECT_EQ(device.Find(kDenseRate, "fp32")->value, 82.6);
  EXPECT_EQ(device.Find(kDenseRate, "fp16"), nullptr) << "none accumulates in nothing";
  EXPECT_EQ(device.Find(kMemoryBandwidth), nullptr);
}

TEST(DevicePeaks, KeepsWhatWasMeasuredApart) {
  const DevicePeaks device{.peaks = {Rate("bf16", "fp32", 700, PeakOrigin::kMeasured), Rate("bf16", "fp32", 989),
                                     Rate("bf16", "fp32", 750, PeakOrigin::kMeasured)}};
  EXPECT_EQ(device.Find(kDenseRate, "bf16", "fp32")->value, 989);
  EXPECT_EQ(device.FindMeasured(kDenseRate, "bf16", "fp32")->value, 750) << "the last";
  EXPECT_EQ(device.FindMeasured(kDenseRate, "fp16", "fp32"), nullptr);
}

TEST(DevicePeaks, NamesConfidencesAndOrigins) {
  for (PeakConfidence confidence : {PeakConfidence::kLow, PeakConfidence::kMedium, PeakConfidence::kHigh}) {
    EXPECT_EQ(PeakConfidenceByName(PeakConfidenceName(confidence)), confidence);
  }
  EXPECT_EQ(PeakConfidenceByName("High"), std::nullopt);
  EXPECT_EQ(PeakOriginName(PeakOrigin::kTable), "table");
  EXPECT_EQ(PeakOriginName(PeakOrigin::kOverride), "override");
  EXPECT_EQ(PeakOriginName(PeakOrigin::kDriver), "driver");
  EXPECT_EQ(PeakOriginName(PeakOrigin::kMeasured), "measured");
  EXPECT_EQ(PeakOriginName(PeakOrigin::kScaled), "scaled");
}

TEST(DevicePeaks, SaysWhatANumberIsOf) {
  EXPECT_EQ(PeakText(Rate("bf16", "fp32", 989)), "dense_rate bf16, accumulated in fp32");
  EXPECT_EQ(PeakText(Peak{.quantity = "l2_size"}), "l2_size");
  EXPECT_EQ(PeakNumberText(989), "989");
  EXPECT_EQ(PeakNumberText(7672.32), "7672.32");
}

}  // namespace
}  // namespace kprof
