#include "daemon/devices/peaks/peak_scaling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/devices/peaks/peak_checks.h"

namespace kprof {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint64_t kMib = 1 << 20;

Peak ScaledNumber(std::string_view quantity, double value, const std::string& unit) {
  return {.quantity = std::string(quantity),
          .value = value,
          .unit = unit,
          .confidence = PeakConfidence::kHigh,
          .source = "a brief"};
}

Peak Rate(const std::string& dtype, double value, std::string_view quantity = kDenseRate) {
  Peak peak = ScaledNumber(quantity, value, "TFLOP/s");
  peak.dtype = dtype;
  peak.accumulate = dtype == "fp32" ? "" : "fp32";
  return peak;
}

DevicePeaks ScaledH100() {
  DevicePeaks device{.device = "ScaledH100",
                     .vendor = "nvidia",
                     .core_kind = "SM",
                     .peaks = {Rate("bf16", 989), Rate("fp32", 67), ScaledNumber(kMemoryBandwidth, 3350, "GB/s"),
                               ScaledNumber(kMemorySize, 80, "GB"), ScaledNumber(kCoreCount, 132, "count"),
                               ScaledNumber(kL2Size, 50, "MB"), ScaledNumber(kMemoryBandwidthDriver, 3352.32, "GB/s")}};
  device.peaks.back().origin = PeakOrigin::kDriver;
  return device;
}

// A 3g.40gb: three slices of compute, four of memory.
MigShare ThreeSlices() {
  return {.sm_count = 42, .gpu_slices = 3, .compute_slices = 3, .memory_bytes = 40448 * kMib, .memory_slices = 4};
}

DevicePeaks Trainium2() {
  return {.device = "Trainium2",
          .vendor = "aws",
          .architecture = "NeuronCore-v3",
          .core_kind = "NeuronCore",
          .peaks = {Rate("bf16", 667), Rate("fp16", 667), Rate("bf16", 79, kCoreDenseRate),
                    ScaledNumber(kMemoryBandwidth, 2900, "GB/s"), ScaledNumber(kMemorySize, 96, "GB"),
                    ScaledNumber(kCoreCount, 8, "count"), ScaledNumber(kSbufSize, 224, "MiB")}};
}

TEST(PeakScaling, AMigInstanceHasItsShareOfEach) {
  Result<DevicePeaks> part = ScaledToMig(ScaledH100(), ThreeSlices());
  ASSERT_TRUE(part.ok()) << part.status().ToString();
  const Peak& rate = *part->Find(kDenseRate, "bf16", "fp32");
  EXPECT_DOUBLE_EQ(rate.value, 989.0 * 42 / 132);
  EXPECT_EQ(rate.origin, PeakOrigin::kScaled);
  EXPECT_EQ(rate.confidence, PeakConfidence::kHigh);
  EXPECT_EQ(rate.source, "scaled: 42 of 132 SMs; of 989 TFLOP/s (table): a brief");
  EXPECT_DOUBLE_EQ(part->Find(kDenseRate, "fp32")->value, 67.0 * 42 / 132);
  const Peak& bandwidth = *part->Find(kMemoryBandwidth);
  EXPECT_DOUBLE_EQ(bandwidth.value, 1675);
  EXPECT_EQ(bandwidth.source, "scaled: 4 of 8 memory slices; of 3350 GB/s (table): a brief");
  EXPECT_DOUBLE_EQ(part->Find(kMemoryBandwidthDriver)->value, 1676.16);
  EXPECT_EQ(part->Find(kMemoryBandwidthDriver)->source,
            "scaled: 4 of 8 memory slices; of 3352.32 GB/s (driver): a brief");
  EXPECT_DOUBLE_EQ(part->Find(kL2Size)->value, 25);
  EXPECT_EQ(part->Find(kCoreCount)->value, 42);
  EXPECT_DOUBLE_EQ(part->Find(kMemorySize)->value, 39.5);
  EXPECT_EQ(part->Find(kMemorySize)->unit, "GiB");
  EXPECT_THAT(CheckPeaks(*part), IsEmpty());
}

TEST(PeakScaling, LeavesOutWhatTheWholeDeviceWasMeasuredToReach) {
  DevicePeaks device = ScaledH100();
  device.peaks.push_back(Rate("bf16", 770));
  device.peaks.back().origin = PeakOrigin::kMeasured;
  EXPECT_EQ(ScaledToMig(device, ThreeSlices())->FindMeasured(kDenseRate, "bf16", "fp32"), nullptr);
}

TEST(PeakScaling, LeavesOutTheMemoryOfAMigInstanceThatIsNotKnown) {
  MigShare share = ThreeSlices();
  share.memory_bytes.reset();
  EXPECT_EQ(ScaledToMig(ScaledH100(), share)->Find(kMemorySize), nullptr);
}

TEST(PeakScaling, RefusesAMigInstanceWithoutPeaksOfItsOwn) {
  struct Case {
    MigShare share;
    const char* why;
  };
  const char* const no_instance = "it is not known whether the instance has a GPU instance of its own";
  const char* const no_sms = "it is not known how many SMs the instance has, or the device";
  const char* const no_memory = "it is not known which part of the memory the instance has";
  const Case cases[] = {
      {{.sm_count = 16, .gpu_slices = 3, .compute_slices = 1, .memory_slices = 4},
       "the compute instance has 1 of the 3 slices of its GPU instance, whose bandwidth is not its own"},
      {{.sm_count = 42, .gpu_slices = 3, .memory_slices = 4}, no_instance},
      {{.sm_count = 42, .compute_slices = 3, .memory_slices = 4}, no_instance},
      {{.gpu_slices = 3, .compute_slices = 3, .memory_slices = 4}, no_sms},
      {{.sm_count = 0, .gpu_slices = 3, .compute_slices = 3, .memory_slices = 4}, no_sms},
      {{.sm_count = 133, .gpu_slices = 3, .compute_slices = 3, .memory_slices = 4},
       "the instance has 133 SMs, and the device 132"},
      {{.sm_count = 42, .gpu_slices = 3, .compute_slices = 3}, no_memory},
      {{.sm_count = 42, .gpu_slices = 3, .compute_slices = 3, .memory_slices = 0}, no_memory},
      {{.sm_count = 42, .gpu_slices = 3, .compute_slices = 3, .memory_slices = 9}, no_memory},
  };
  for (const Case& c : cases) {
    const Status status = ScaledToMig(ScaledH100(), c.share).status();
    EXPECT_EQ(status.code(), ErrorCode::kBadInput) << c.why;
    EXPECT_EQ(status.what(), "scale the peaks of ScaledH100");
    EXPECT_EQ(status.why(), c.why);
    EXPECT_NE(status.remedy(), "") << c.why;
  }
}

TEST(PeakScaling, RefusesMigOfWhatDoesNotHaveIt) {
  EXPECT_THAT(ScaledToMig(Trainium2(), ThreeSlices()).status().why(), HasSubstr("it is no NVIDIA GPU"));
  DevicePeaks device = ScaledH100();
  std::erase_if(device.peaks, [](const Peak& peak) { return peak.quantity == kCoreCount; });
  EXPECT_EQ(ScaledToMig(device, ThreeSlices()).status().why(),
            "it is not known how many SMs the instance has, or the device");
}

// Profiles of A100-40GB, ScaledH100-80GB and H200, as nvidia-smi gives their memory.
TEST(PeakScaling, TellsMemorySlicesFromTheirSize) {
  struct Case {
    uint64_t instance_mib;
    uint64_t device_mib;
    std::optional<int> slices;
  };
  const Case cases[] = {
      {4864, 40960, 1},   {9856, 40960, 2},    {19968, 40960, 4}, {40192, 40960, 8},  {9984, 81559, 1},
      {20096, 81559, 2},  {40448, 81559, 4},   {81152, 81559, 8}, {16384, 143771, 1}, {33280, 143771, 2},
      {71168, 143771, 4}, {143360, 143771, 8}, {1, 81559, 1},     {81559, 81559, 8},  {0, 81559, {}},
      {9984, 0, {}},      {81560, 81559, {}},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(MemorySlicesOf(c.instance_mib * kMib, c.device_mib * kMib), c.slices) << c.instance_mib;
  }
  EXPECT_EQ(MemorySlicesOf(UINT64_MAX, UINT64_MAX), kMemorySlices);
}

TEST(PeakScaling, SomeCoresHaveTheirShareOfAChip) {
  Result<DevicePeaks> part = ScaledToCores(Trainium2(), {.logical_cores = 1, .physical_per_logical = 2});
  ASSERT_TRUE(part.ok()) << part.status().ToString();
  const Peak& of_cores = *part->Find(kDenseRate, "bf16", "fp32");
  EXPECT_DOUBLE_EQ(of_cores.value, 2 * 79);
  EXPECT_EQ(of_cores.source, "scaled: 2 of 8 cores (1 logical); of 79 TFLOP/s (table): a brief");
  const Peak& by_share = *part->Find(kDenseRate, "fp16", "fp32");
  EXPECT_DOUBLE_EQ(by_share.value, 667.0 * 2 / 8) << "no figure of one core";
  EXPECT_EQ(by_share.source, "scaled: 2 of 8 cores (1 logical); of 667 TFLOP/s (table): a brief");
  EXPECT_DOUBLE_EQ(part->Find(kMemoryBandwidth)->value, 725);
  EXPECT_EQ(part->Find(kMemoryBandwidth)->confidence, PeakConfidence::kMedium);
  EXPECT_EQ(by_share.confidence, PeakConfidence::kHigh);
  EXPECT_DOUBLE_EQ(part->Find(kMemorySize)->value, 24);
  EXPECT_DOUBLE_EQ(part->Find(kSbufSize)->value, 56);
  EXPECT_EQ(part->Find(kCoreCount)->value, 2);
  EXPECT_EQ(part->Find(kCoreDenseRate, "bf16", "fp32")->value, 79) << "one core is what it was";
  EXPECT_THAT(CheckPeaks(*part), IsEmpty());

  EXPECT_EQ(ScaledToCores(Trainium2(), {.logical_cores = 2})->Find(kCoreCount)->source,
            "scaled: 2 of 8 cores; of 8 count (table): a brief");
}

TEST(PeakScaling, AllCoresAreTheChip) {
  DevicePeaks device = Trainium2();
  device.peaks.push_back(Rate("bf16", 500));
  device.peaks.back().origin = PeakOrigin::kMeasured;
  EXPECT_EQ(*ScaledToCores(device, {.logical_cores = 8}), device);
  EXPECT_EQ(*ScaledToCores(device, {.logical_cores = 4, .physical_per_logical = 2}), device);
  EXPECT_EQ(
      ScaledToCores(device, {.logical_cores = 3, .physical_per_logical = 2})->FindMeasured(kDenseRate, "bf16", "fp32"),
      nullptr);
}

TEST(PeakScaling, RefusesCoresThatTheDeviceDoesNotHave) {
  struct Case {
    NeuronShare share;
    const char* why;
    const char* remedy;
  };
  const Case cases[] = {
      {{.logical_cores = 0}, "0 of its 8 cores cannot be used", "give the logical cores"},
      {{.logical_cores = -1}, "-1 of its 8 cores cannot be used", "give the logical cores"},
      {{.logical_cores = 9}, "9 of its 8 cores cannot be used", "give the logical cores"},
      {{.logical_cores = 5, .physical_per_logical = 2}, "10 of its 8 cores cannot be used", "and its LNC"},
      {{.logical_cores = INT32_MAX, .physical_per_logical = 2}, "4294967294 of its 8 cores cannot be used", "LNC"},
      {{.logical_cores = 1, .physical_per_logical = 4}, "it has no logical cores of 4 physical ones", "LNC is 1 or 2"},
      {{.logical_cores = 1, .physical_per_logical = 0}, "it has no logical cores of 0 physical ones", "LNC is 1 or 2"},
  };
  for (const Case& c : cases) {
    const Status status = ScaledToCores(Trainium2(), c.share).status();
    EXPECT_EQ(status.code(), ErrorCode::kBadInput) << c.why;
    EXPECT_EQ(status.why(), c.why);
    EXPECT_THAT(status.remedy(), HasSubstr(c.remedy)) << c.why;
  }
}

TEST(PeakScaling, RefusesLogicalCoresOfWhatHasNone) {
  DevicePeaks trainium1 = Trainium2();
  trainium1.architecture = "NeuronCore-v2";
  const Status status = ScaledToCores(trainium1, {.logical_cores = 1, .physical_per_logical = 2}).status();
  EXPECT_EQ(status.why(), "it has no logical cores of 2 physical ones");
  EXPECT_EQ(status.remedy(), "LNC is 1");
  EXPECT_TRUE(ScaledToCores(trainium1, {.logical_cores = 1}).ok());
}

TEST(PeakScaling, RefusesCoresOfWhatHasNone) {
  EXPECT_EQ(ScaledToCores(ScaledH100(), {.logical_cores = 1}).status().why(),
            "it is not known how many NeuronCores it has");
  DevicePeaks device = Trainium2();
  std::erase_if(device.peaks, [](const Peak& peak) { return peak.quantity == kCoreCount; });
  EXPECT_EQ(ScaledToCores(device, {.logical_cores = 1}).status().why(), "it is not known how many NeuronCores it has");
}

}  // namespace
}  // namespace kprof
