#include "daemon/devices/peaks/peak_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "daemon/devices/peaks/peak_checks.h"

namespace kprof {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

PeakTable BuiltIn() {
  Result<PeakTable> table = LoadBuiltInPeaks();
  EXPECT_TRUE(table.ok()) << table.status().ToString();
  return table.ok() ? *table : PeakTable();
}

TEST(BuiltInPeaks, MakesSenseThroughout) {
  const PeakTable table = BuiltIn();
  EXPECT_THAT(table.devices(), SizeIs(21));
  EXPECT_THAT(table.warnings(), IsEmpty());
  for (const DevicePeaks& device : table.devices()) {
    EXPECT_THAT(CheckPeaks(device), IsEmpty()) << device.device;
    EXPECT_NE(device.architecture, "") << device.device;
    EXPECT_NE(device.core_kind, "") << device.device;
    EXPECT_EQ(device.compute_capability.empty(), device.vendor != "nvidia") << device.device;
    EXPECT_NE(device.Find(kDenseRate, "bf16", "fp32"), nullptr) << device.device;
    EXPECT_NE(device.Find(kDenseRate, "fp32"), nullptr) << device.device;
    for (std::string_view quantity : {kMemoryBandwidth, kMemorySize, kCoreCount}) {
      EXPECT_NE(device.Find(quantity), nullptr) << device.device << " " << quantity;
    }
    for (const Peak& peak : device.peaks) {
      EXPECT_EQ(peak.origin, PeakOrigin::kTable);
      EXPECT_NE(peak.source, "") << device.device << " " << PeakText(peak);
    }
  }
}

// All that the build put into the program is the file.
TEST(BuiltInPeaks, IsTheFileOfTheRepository) {
  std::ifstream file(KPROF_SOURCE_DIR "/daemon/devices/peaks/peaks.csv", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  Result<PeakTable> table = PeakTable::Parse(text, "peaks.csv");
  ASSERT_TRUE(table.ok()) << table.status().ToString();
  EXPECT_EQ(BuiltIn().devices(), table->devices());
}

TEST(BuiltInPeaks, KnowsDevicesByTheirRuntimesNames) {
  struct Case {
    DeviceKind kind;
    const char* name;
    const char* device;
  };
  const Case cases[] = {
      {DeviceKind::kNvidia, "NVIDIA A100-SXM4-40GB", "A100-SXM4-40GB"},
      {DeviceKind::kNvidia, "A100-SXM4-40GB", "A100-SXM4-40GB"},
      {DeviceKind::kNvidia, "NVIDIA A100-SXM4-80GB", "A100-SXM4-80GB"},
      {DeviceKind::kNvidia, "A100-SXM-80GB", "A100-SXM4-80GB"},
      {DeviceKind::kNvidia, "NVIDIA A100 80GB PCIe", "A100-PCIe-80GB"},
      {DeviceKind::kNvidia, "NVIDIA H100 80GB HBM3", "H100-SXM5-80GB"},
      {DeviceKind::kNvidia, "NVIDIA H100 PCIe", "H100-PCIe-80GB"},
      {DeviceKind::kNvidia, "NVIDIA H100 NVL", "H100-NVL-94GB"},
      {DeviceKind::kNvidia, "NVIDIA H200", "H200-SXM-141GB"},
      {DeviceKind::kNvidia, "NVIDIA B200", "B200-SXM"},
      {DeviceKind::kNvidia, "NVIDIA B300 SXM6 AC", "B300-HGX"},
      {DeviceKind::kNvidia, "NVIDIA GB300", "GB300-per-GPU"},
      {DeviceKind::kNvidia, "NVIDIA L40S", "L40S"},
      {DeviceKind::kNvidia, "NVIDIA L4", "L4"},
      {DeviceKind::kNvidia, "NVIDIA GeForce RTX 4090", "RTX-4090"},
      {DeviceKind::kNvidia, "NVIDIA GeForce RTX 5090", "RTX-5090"},
      {DeviceKind::kNvidia, "NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "RTX-PRO-6000-WS"},
      {DeviceKind::kNvidia, "NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTX-PRO-6000-SE"},
      {DeviceKind::kAmd, "AMD Instinct MI300X", "MI300X"},
      {DeviceKind::kNeuron, "trn1", "Trainium1"},
      {DeviceKind::kNeuron, "Trainium1", "Trainium1"},
      {DeviceKind::kNeuron, "Inf2", "Inferentia2"},
      {DeviceKind::kNeuron, "Trainium2", "Trainium2"},
      {DeviceKind::kNeuron, "Trn3", "Trainium3"},
      // Others, whatever their names begin with.
      {DeviceKind::kNvidia, "NVIDIA A100-PCIE-40GB", ""},
      {DeviceKind::kNvidia, "NVIDIA H100", ""},
      {DeviceKind::kNvidia, "NVIDIA H200 NVL", ""},
      {DeviceKind::kNvidia, "NVIDIA L40", ""},
      {DeviceKind::kNvidia, "NVIDIA GeForce RTX 4090 D", ""},
      {DeviceKind::kNvidia, "NVIDIA GeForce RTX 4090 Laptop GPU", ""},
      {DeviceKind::kNvidia, "NVIDIA A100-SXM4-40GB MIG 1g.5gb", ""},
  };
  const PeakTable table = BuiltIn();
  for (const Case& c : cases) {
    const DevicePeaks* found = table.Find(c.kind, c.name);
    EXPECT_EQ(found == nullptr ? "" : found->device, c.device) << c.name;
  }
}

// What public tables get wrong: sparse rates, shaders' rates, other devices' bandwidths.
TEST(BuiltInPeaks, HasTheDenseRatesOfTheTensorCores) {
  struct Case {
    const char* name;
    const char* dtype;
    const char* accumulate;
    double value;
    PeakConfidence confidence;
  };
  const Case cases[] = {
      {"NVIDIA H100 80GB HBM3", "bf16", "fp32", 989, PeakConfidence::kHigh},
      {"NVIDIA H100 80GB HBM3", "tf32", "fp32", 494.5, PeakConfidence::kHigh},
      {"NVIDIA H100 80GB HBM3", "fp32", "", 67, PeakConfidence::kHigh},
      {"NVIDIA H100 PCIe", "fp16", "fp32", 756, PeakConfidence::kHigh},
      {"NVIDIA H100 NVL", "bf16", "fp32", 835.5, PeakConfidence::kMedium},
      {"NVIDIA B200", "fp4", "fp32", 9000, PeakConfidence::kHigh},
      {"NVIDIA B200", "fp32", "", 75, PeakConfidence::kMedium},
      {"NVIDIA GB300", "bf16", "fp32", 2500, PeakConfidence::kLow},
      {"NVIDIA GeForce RTX 4090", "fp16", "fp32", 165.2, PeakConfidence::kHigh},
      {"NVIDIA GeForce RTX 4090", "fp16", "fp16", 330.3, PeakConfidence::kHigh},
      {"NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "bf16", "fp32", 503.8, PeakConfidence::kLow},
      {"NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "fp32", "", 126, PeakConfidence::kMedium},
  };
  const PeakTable table = BuiltIn();
  for (const Case& c : cases) {
    const DevicePeaks* device = table.Find(DeviceKind::kNvidia, c.name);
    ASSERT_NE(device, nullptr) << c.name;
    const Peak* rate = device->Find(kDenseRate, c.dtype, c.accumulate);
    ASSERT_NE(rate, nullptr) << c.name << " " << c.dtype;
    EXPECT_EQ(rate->value, c.value) << c.name << " " << c.dtype;
    EXPECT_EQ(rate->confidence, c.confidence) << c.name << " " << c.dtype;
  }
  EXPECT_EQ(table.Find(DeviceKind::kNvidia, "NVIDIA A100 80GB PCIe")->Find(kMemoryBandwidth)->value, 1935);
  EXPECT_EQ(table.Find(DeviceKind::kNvidia, "NVIDIA B200")->Find(kMemoryBandwidth)->value, 7672);
  EXPECT_EQ(table.Find(DeviceKind::kNvidia, "NVIDIA H200")->Find(kL2Size)->confidence, PeakConfidence::kLow);
}

TEST(BuiltInPeaks, CountsTheMemoryOfNeuronDevicesAsAwsDoes) {
  const PeakTable table = BuiltIn();
  for (const DevicePeaks& device : table.devices()) {
    if (device.vendor != "aws") continue;
    ASSERT_NE(device.Find(kMemorySize), nullptr) << device.device;
    EXPECT_EQ(device.Find(kMemorySize)->unit, "GiB") << device.device;
  }
}

TEST(BuiltInPeaks, CallsNoScratchpadACache) {
  const PeakTable table = BuiltIn();
  for (const char* name : {"trn1", "inf2", "trn2", "trn3"}) {
    const DevicePeaks* device = table.Find(DeviceKind::kNeuron, name);
    ASSERT_NE(device, nullptr) << name;
    EXPECT_EQ(device->Find(kL2Size), nullptr) << name;
    EXPECT_NE(device->Find(kSbufSize), nullptr) << name;
  }
}

}  // namespace
}  // namespace kprof
