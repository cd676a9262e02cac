#include "daemon/devices/peaks/device_peaks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "daemon/devices/peaks/peak_checks.h"

namespace kprof {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

DevicePeaks H100() {
  return {.device = "H100",
          .vendor = "nvidia",
          .peaks = {{.quantity = "memory_bandwidth", .value = 3350, .unit = "GB/s", .source = "a brief"},
                    {.quantity = "dense_rate",
                     .dtype = "bf16",
                     .accumulate = "fp32",
                     .value = 989,
                     .unit = "TFLOP/s",
                     .source = "a brief"}}};
}

MeasuredCeiling Bandwidth(double value) {
  return {.quantity = "memory_bandwidth",
          .value = value,
          .unit = "GB/s",
          .run_id = "01hq3v5n0aaaaaaa",
          .unix_ns = 1'795'255'200'000'000'000};
}

MeasuredCeiling Rate(double value) {
  MeasuredCeiling ceiling = Bandwidth(value);
  ceiling.quantity = "dense_rate";
  ceiling.dtype = "bf16";
  ceiling.accumulate = "fp32";
  ceiling.unit = "TFLOP/s";
  return ceiling;
}

TEST(MeasuredPeaks, StandBesideThePeaks) {
  Result<DevicePeaks> device = WithMeasuredCeiling(H100(), Bandwidth(3080));
  ASSERT_TRUE(device.ok()) << device.status().ToString();
  EXPECT_THAT(device->peaks, SizeIs(3));
  EXPECT_EQ(device->Find(kMemoryBandwidth)->value, 3350);
  const Peak* measured = device->FindMeasured(kMemoryBandwidth);
  ASSERT_NE(measured, nullptr);
  EXPECT_EQ(measured->value, 3080);
  EXPECT_EQ(measured->origin, PeakOrigin::kMeasured);
  EXPECT_EQ(measured->source, "run 01hq3v5n0aaaaaaa at 2026-11-21T10:00:00Z");
  EXPECT_EQ(measured->note, "");
  EXPECT_THAT(CheckPeaks(*device), IsEmpty());
}

TEST(MeasuredPeaks, AreLessSureWhereTheirRunIsNotToBeTrusted) {
  MeasuredCeiling ceiling = Bandwidth(3080);
  ceiling.clocks = "lock=1500";
  EXPECT_EQ(WithMeasuredCeiling(H100(), ceiling)->FindMeasured(kMemoryBandwidth)->note, "with --clocks lock=1500");
  ceiling.doubts = "power_capped, device_shared";
  Result<DevicePeaks> device = WithMeasuredCeiling(H100(), ceiling);
  ASSERT_TRUE(device.ok());
  const Peak* measured = device->FindMeasured(kMemoryBandwidth);
  EXPECT_EQ(measured->confidence, PeakConfidence::kMedium);
  EXPECT_EQ(measured->note, "with --clocks lock=1500; what speaks against its run: power_capped, device_shared");
}

TEST(MeasuredPeaks, TheLastOfAQuantityCounts) {
  DevicePeaks device = H100();
  for (double value : {700.0, 771.0, 750.0}) {
    Result<DevicePeaks> more = WithMeasuredCeiling(device, Rate(value));
    ASSERT_TRUE(more.ok()) << more.status().ToString();
    device = *more;
  }
  EXPECT_EQ(device.FindMeasured(kDenseRate, "bf16", "fp32")->value, 750);
  EXPECT_EQ(device.Find(kDenseRate, "bf16", "fp32")->value, 989);
}

TEST(MeasuredPeaks, OfAnUnknownPeakSaySo) {
  MeasuredCeiling ceiling = Rate(1500);
  ceiling.dtype = "fp8";
  Result<DevicePeaks> device = WithMeasuredCeiling(H100(), ceiling);
  ASSERT_TRUE(device.ok()) << device.status().ToString();
  EXPECT_EQ(device->FindMeasured(kDenseRate, "fp8", "fp32")->note, "there is no peak to hold it against");
}

TEST(MeasuredPeaks, MayBeALittleAboveThePeak) {
  EXPECT_TRUE(WithMeasuredCeiling(H100(), Bandwidth(3350 * 1.05)).ok());
  EXPECT_FALSE(WithMeasuredCeiling(H100(), Bandwidth(3350 * 1.05 + 1)).ok());
}

TEST(MeasuredPeaks, RefusesWhatCannotHaveBeenReached) {
  struct Case {
    MeasuredCeiling ceiling;
    const char* why;
  };
  MeasuredCeiling cores = Bandwidth(132);
  cores.quantity = "core_count";
  cores.unit = "count";
  MeasuredCeiling terabytes = Bandwidth(3.08);
  terabytes.unit = "TB/s";
  MeasuredCeiling no_dtype = Rate(700);
  no_dtype.dtype = "";
  const Case cases[] = {
      {Rate(1500), "1500 TFLOP/s is more than 1.05 times the peak of 989 (table: a brief)"},
      {Bandwidth(4000), "4000 GB/s is more than 1.05 times the peak of 3350 (table: a brief)"},
      {Bandwidth(0), "the value 0 is not above 0"},
      {Bandwidth(-3080), "the value -3080 is not above 0"},
      {Bandwidth(std::numeric_limits<double>::infinity()), "the value is not finite"},
      {Bandwidth(std::numeric_limits<double>::quiet_NaN()), "the value is not finite"},
      {cores, "'core_count' is nothing that is measured"},
      {terabytes, "the unit of memory_bandwidth is GB/s"},
      {no_dtype, "the dtype '' is not known"},
  };
  for (const Case& c : cases) {
    const Status status = WithMeasuredCeiling(H100(), c.ceiling).status();
    EXPECT_EQ(status.code(), ErrorCode::kBadInput) << c.why;
    EXPECT_EQ(status.what(), "take the ceiling that run 01hq3v5n0aaaaaaa measured on H100");
    EXPECT_THAT(status.why(), HasSubstr(c.why));
    EXPECT_NE(status.remedy(), "") << c.why;
  }
}

}  // namespace
}  // namespace kprof
