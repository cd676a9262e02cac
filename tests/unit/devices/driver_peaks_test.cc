#include "daemon/devices/peaks/device_peaks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/devices/peaks/peak_checks.h"

namespace kprof {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

Peak Number(std::string_view quantity, double value, const std::string& unit) {
  return {.quantity = std::string(quantity), .value = value, .unit = unit, .source = "a brief"};
}

DevicePeaks B200() {
  return {.device = "B200-SXM",
          .vendor = "nvidia",
          .compute_capability = "10.0",
          .core_kind = "SM",
          .peaks = {Number(kMemoryBandwidth, 7672, "GB/s"), Number(kMemorySize, 180, "GB"),
                    Number(kCoreCount, 160, "count"), Number(kL2Size, 126, "MB")}};
}

DevicePeaks With(const DevicePeaks& device, const DriverFacts& facts) {
  Result<DevicePeaks> merged = WithDriverFacts(device, facts);
  EXPECT_TRUE(merged.ok()) << merged.status().ToString();
  return merged.ok() ? *merged : DevicePeaks();
}

TEST(DriverPeaks, TheDriversCountsAndSizesTakeTheTablesPlace) {
  const DevicePeaks device = With(
      B200(), {.compute_capability = "10.0", .core_count = 148, .memory_bytes = 191501434880, .l2_bytes = 132644864});
  EXPECT_EQ(device.peaks.size(), 4U);
  const Peak& cores = *device.Find(kCoreCount);
  EXPECT_EQ(cores.value, 148);
  EXPECT_EQ(cores.origin, PeakOrigin::kDriver);
  EXPECT_EQ(cores.confidence, PeakConfidence::kHigh);
  EXPECT_EQ(cores.source, "the driver");
  EXPECT_EQ(cores.note, "the table says 160 count: a brief");
  const Peak& memory = *device.Find(kMemorySize);
  EXPECT_NEAR(memory.value, 178.35, 0.005);
  EXPECT_EQ(memory.unit, "GiB");
  EXPECT_EQ(memory.source, "the driver: 191501434880 B");
  EXPECT_EQ(device.Find(kL2Size)->value, 126.5);
  EXPECT_EQ(device.Find(kL2Size)->unit, "MiB");
  EXPECT_EQ(device.Find(kMemoryBandwidth)->origin, PeakOrigin::kTable);
  EXPECT_THAT(CheckPeaks(device), IsEmpty());
}

TEST(DriverPeaks, BusAndClockMakeABandwidthBesideTheTables) {
  const DevicePeaks device = With(B200(), {.memory_bus_bits = 7680, .max_memory_mhz = 3996});
  EXPECT_EQ(device.Find(kMemoryBandwidth)->value, 7672);
  const Peak* of_driver = device.Find(kMemoryBandwidthDriver);
  ASSERT_NE(of_driver, nullptr);
  EXPECT_DOUBLE_EQ(of_driver->value, 7672.32);
  EXPECT_EQ(of_driver->unit, "GB/s");
  EXPECT_EQ(of_driver->origin, PeakOrigin::kDriver);
  EXPECT_EQ(of_driver->source, "the driver: 7680-bit x 3996 MHz x 2");
  EXPECT_THAT(CheckPeaks(device), IsEmpty());
}

TEST(DriverPeaks, BusAndClockMakeTheBandwidthWhereThereIsNone) {
  DevicePeaks device = B200();
  device.peaks.erase(device.peaks.begin());
  device = With(device, {.memory_bus_bits = 7680, .max_memory_mhz = 3996});
  ASSERT_NE(device.Find(kMemoryBandwidth), nullptr);
  EXPECT_DOUBLE_EQ(device.Find(kMemoryBandwidth)->value, 7672.32);
  EXPECT_EQ(device.Find(kMemoryBandwidth)->origin, PeakOrigin::kDriver);
  EXPECT_EQ(device.Find(kMemoryBandwidthDriver), nullptr);
}

TEST(DriverPeaks, TheSameFactsAgainChangeNothing) {
  const DriverFacts facts{.compute_capability = "10.0",
                          .core_count = 148,
                          .memory_bytes = 191501434880,
                          .l2_bytes = 132644864,
                          .memory_bus_bits = 7680,
                          .max_memory_mhz = 3996};
  const DevicePeaks once = With(B200(), facts);
  EXPECT_EQ(With(once, facts), once);
  const DevicePeaks bare = With(DevicePeaks{.device = "X"}, facts);
  EXPECT_EQ(With(bare, facts), bare);
}

TEST(DriverPeaks, WhatTheDriverDoesNotTellStays) {
  EXPECT_EQ(With(B200(), {}), B200());
  EXPECT_EQ(With(B200(), {.memory_bus_bits = 7680}), B200());
  EXPECT_EQ(With(B200(), {.max_memory_mhz = 3996}), B200());
}

TEST(DriverPeaks, WhatNoDeviceHasCountsAsNotTold) {
  EXPECT_EQ(
      With(B200(), {.core_count = 0, .memory_bytes = 0, .l2_bytes = 0, .memory_bus_bits = 0, .max_memory_mhz = 0}),
      B200());
  EXPECT_EQ(With(B200(), {.core_count = UINT32_MAX,
                          .memory_bytes = UINT64_MAX,
                          .l2_bytes = UINT64_MAX,
                          .memory_bus_bits = UINT32_MAX,
                          .max_memory_mhz = UINT32_MAX}),
            B200());
}

TEST(DriverPeaks, ADeviceOfAnotherCapabilityIsAnotherDevice) {
  const Status status = WithDriverFacts(B200(), {.compute_capability = "9.0", .core_count = 132}).status();
  EXPECT_EQ(status.code(), ErrorCode::kNotFound);
  EXPECT_EQ(status.why(), "its compute capability is 9.0, and that of B200-SXM is 10.0");
  EXPECT_THAT(status.remedy(), HasSubstr("[devices] peaks"));

  DevicePeaks unknown = B200();
  unknown.compute_capability.clear();
  EXPECT_TRUE(WithDriverFacts(unknown, {.compute_capability = "9.0"}).ok());
}

}  // namespace
}  // namespace kprof
