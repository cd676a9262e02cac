#include "daemon/devices/peaks/peak_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace kprof {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

Peak CheckedNumber(std::string_view quantity, double value, const std::string& unit) {
  return {.quantity = std::string(quantity), .value = value, .unit = unit, .source = "a test"};
}

Peak Rate(const std::string& dtype, const std::string& accumulate, double value) {
  Peak peak = CheckedNumber(kDenseRate, value, "TFLOP/s");
  peak.dtype = dtype;
  peak.accumulate = accumulate;
  return peak;
}

DevicePeaks Gpu(std::vector<Peak> peaks) {
  return {.device = "X", .vendor = "nvidia", .peaks = std::move(peaks)};
}

TEST(PeakChecks, TakesWhatDevicesHave) {
  const Peak fine[] = {
      Rate("bf16", "fp32", 989),
      Rate("fp16", "fp16", 330.3),
      Rate("fp4", "fp32", 15000),
      Rate("fp32", "", 30.3),
      Rate("fp32", "fp32", 163.4),
      Rate("fp64", "fp64", 67),
      CheckedNumber(kMemoryBandwidth, 300, "GB/s"),
      CheckedNumber(kMemoryBandwidth, 8000, "GB/s"),
      CheckedNumber(kMemorySize, 79.6, "GiB"),
      CheckedNumber(kMemorySize, 288, "GB"),
      CheckedNumber(kCoreCount, 2, "count"),
      CheckedNumber(kL2Size, 126.5, "MB"),
      CheckedNumber(kSbufSize, 48, "MiB"),
  };
  for (const Peak& peak : fine) {
    const std::optional<PeakComplaint> complaint = CheckPeak(peak);
    EXPECT_FALSE(complaint.has_value()) << PeakText(peak) << ": " << complaint->why;
  }
}

TEST(PeakChecks, RefusesWhatNoNumberIs) {
  struct Case {
    Peak peak;
    const char* why;
    const char* remedy;
  };
  const double infinity = std::numeric_limits<double>::infinity();
  const Case cases[] = {
      {Rate("bf16", "fp32", 0), "the value 0 is not above 0", "give it in TFLOP/s, from 0.1 to 50000 TFLOP/s"},
      {Rate("bf16", "fp32", -989), "the value -989 is not above 0", "give it in TFLOP/s"},
      {Rate("bf16", "fp32", infinity), "the value is not finite", "give it in TFLOP/s"},
      {Rate("bf16", "fp32", -infinity), "the value is not finite", "give it in TFLOP/s"},
      {Rate("bf16", "fp32", std::nan("")), "the value is not finite", "give it in TFLOP/s"},
      {Rate("bf16", "fp32", 989000), "the value 989000 is out of any device's range", "give it in TFLOP/s"},
      {Rate("bf16", "fp32", 989e12), "the value 9.89e+14 is out of any device's range", "give it in TFLOP/s"},
      {Rate("fp32", "", 67000), "the value 67000 is out of any device's range", "from 0.1 to 5000 TFLOP/s"},
      {Rate("bf16", "fp32", 0.000989), "is out of any device's range", "give it in TFLOP/s"},
      {CheckedNumber(kMemoryBandwidth, 1.792e6, "GB/s"), "is out of any device's range", "from 10 to 100000 GB/s"},
      {CheckedNumber(kMemoryBandwidth, 3.35, "GB/s"), "is out of any device's range", "from 10 to 100000 GB/s"},
      {CheckedNumber(kMemorySize, 81559, "GB"), "is out of any device's range", "from 0.5 to 8192 GB"},
      {CheckedNumber(kCoreCount, 131.5, "count"), "the value 131.5 is not a whole number", "count them"},
      {CheckedNumber(kL2Size, 52428800, "MB"), "is out of any device's range", "from 0.1 to 4096 MB"},
      {CheckedNumber("sparse_rate", 1979, "TFLOP/s"), "'sparse_rate' says that it is a sparse rate",
       "give the dense one"},
      {CheckedNumber("rate_with_Sparsity", 1979, "TFLOP/s"), "says that it is a sparse rate", "it is half"},
      {Rate("bf16 2:4", "fp32", 1979), "'bf16 2:4' says that it is a sparse rate", "give the dense one"},
      {Rate("bf16", "SPARSE", 1979), "'SPARSE' says that it is a sparse rate", "give the dense one"},
      {CheckedNumber("rate", 989, "TFLOP/s"), "the quantity 'rate' is not known",
       "use one of dense_rate, core_dense_rate"},
      {CheckedNumber("", 989, "TFLOP/s"), "the quantity '' is not known", "use one of dense_rate"},
      {CheckedNumber(kMemoryBandwidthDriver, 989, "GB/s"), "is what the driver says", "write it as memory_bandwidth"},
      {CheckedNumber(kMemoryBandwidth, 3.35, "TB/s"), "the unit of memory_bandwidth is GB/s, not 'TB/s'", "to GB/s"},
      {CheckedNumber(kL2Size, 50, "KB"), "the unit of l2_size is MB or MiB, not 'KB'", "convert it to MB or MiB"},
      {CheckedNumber(kDenseRate, 989, "TFLOP/s"), "the dtype '' is not known", "use one of fp64, fp32, tf32, bf16"},
      {Rate("int8", "fp32", 989), "the dtype 'int8' is not known", "use one of fp64, fp32, tf32, bf16"},
      {Rate("bf16", "", 82.6), "the rate of bf16 does not say what it accumulates in", "write fp32 or fp16"},
      {Rate("bf16", "int32", 989), "the accumulate 'int32' is not known", "use fp16, fp32 or fp64"},
  };
  for (const Case& c : cases) {
    const std::optional<PeakComplaint> complaint = CheckPeak(c.peak);
    ASSERT_TRUE(complaint.has_value()) << c.why;
    EXPECT_TRUE(complaint->refuses);
    EXPECT_THAT(complaint->why, HasSubstr(c.why));
    EXPECT_THAT(complaint->remedy, HasSubstr(c.remedy)) << c.why;
  }
}

TEST(PeakChecks, RefusesADtypeOfWhatHasNone) {
  Peak bandwidth = CheckedNumber(kMemoryBandwidth, 3350, "GB/s");
  bandwidth.dtype = "bf16";
  ASSERT_TRUE(CheckPeak(bandwidth).has_value());
  EXPECT_EQ(CheckPeak(bandwidth)->why, "memory_bandwidth has neither dtype nor accumulate");
}

// The slips that public tables have: see docs/peaks.md.
TEST(PeakChecks, HoldsRateAgainstBandwidth) {
  struct Case {
    double rate;
    double bandwidth;
    size_t complaints;
    bool refuses;
    const char* why;
  };
  const Case cases[] = {
      {989, 3350, 0, false, ""},
      {209.5, 1792, 0, false, ""},
      {50, 1000, 0, false, ""},
      {450, 1000, 0, false, ""},
      {1979, 3350, 1, false, "make a ridge point of 590.746 FLOP/B, above 450: the rate looks like a sparse figure"},
      {1000, 1000, 1, false, "make a ridge point of 1000 FLOP/B, above 450"},
      {1001, 1000, 1, true,
       "1001 TFLOP/s of bf16 and 1000 GB/s make a ridge point of 1001 FLOP/B, outside of 50 to 1000"},
      {49.9, 1000, 1, true, "make a ridge point of 49.9 FLOP/B, outside of 50 to 1000"},
      {19500, 1555, 1, true, "make a ridge point of 12540.2 FLOP/B"},
  };
  for (const Case& c : cases) {
    const std::vector<PeakComplaint> complaints =
        CheckPeaks(Gpu({CheckedNumber(kMemoryBandwidth, c.bandwidth, "GB/s"), Rate("bf16", "fp32", c.rate)}));
    ASSERT_THAT(complaints, SizeIs(c.complaints)) << c.rate << " / " << c.bandwidth;
    if (complaints.empty()) continue;
    EXPECT_EQ(complaints[0].refuses, c.refuses) << c.why;
    EXPECT_EQ(complaints[0].peak, 1U);
    EXPECT_EQ(complaints[0].beside, 0U);
    EXPECT_THAT(complaints[0].why, HasSubstr(c.why));
    EXPECT_NE(complaints[0].remedy, "");
  }
}

TEST(PeakChecks, TakesTheRidgeOfFp16WhereThereIsNoBf16) {
  const Peak bandwidth = CheckedNumber(kMemoryBandwidth, 3350, "GB/s");
  EXPECT_THAT(CheckPeaks(Gpu({bandwidth, Rate("fp16", "fp32", 1979)})), SizeIs(1));
  EXPECT_THAT(CheckPeaks(Gpu({bandwidth, Rate("fp16", "fp32", 1979), Rate("bf16", "fp32", 989)})), IsEmpty());
  EXPECT_THAT(CheckPeaks(Gpu({bandwidth, Rate("fp8", "fp32", 1979)})), IsEmpty()) << "of FP8 it says nothing";
  EXPECT_THAT(CheckPeaks(Gpu({Rate("bf16", "fp32", 1979)})), IsEmpty()) << "nothing to hold it against";
}

TEST(PeakChecks, FindsTheSameQuantityTwice) {
  Peak measured = Rate("bf16", "fp32", 700);
  measured.origin = PeakOrigin::kMeasured;
  EXPECT_THAT(CheckPeaks(Gpu({Rate("bf16", "fp32", 989), measured, measured, Rate("fp16", "fp32", 989)})), IsEmpty());

  const std::vector<PeakComplaint> complaints =
      CheckPeaks(Gpu({Rate("bf16", "fp32", 989), Rate("fp16", "fp32", 989), Rate("bf16", "fp32", 990)}));
  ASSERT_THAT(complaints, SizeIs(1));
  EXPECT_TRUE(complaints[0].refuses);
  EXPECT_EQ(complaints[0].peak, 2U);
  EXPECT_EQ(complaints[0].beside, 0U);
  EXPECT_EQ(complaints[0].why, "dense_rate bf16, accumulated in fp32 is there twice");
}

TEST(PeakChecks, ComplainsOfEachNumber) {
  const std::vector<PeakComplaint> complaints = CheckPeaks(
      Gpu({Rate("bf16", "fp32", -1), Rate("fp16", "fp32", 989), CheckedNumber(kMemoryBandwidth, 0, "GB/s")}));
  ASSERT_THAT(complaints, SizeIs(2));
  EXPECT_EQ(complaints[0].peak, 0U);
  EXPECT_EQ(complaints[1].peak, 2U);
}

}  // namespace
}  // namespace kprof
