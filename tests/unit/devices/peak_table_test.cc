#include "daemon/devices/peaks/peak_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kprof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const std::string kHeader = std::string(kPeakFileHeader) + "\n";

// Two of a family, whose names begin alike.
const std::string kTwo = kHeader +
                         "X-SXM,vendor,,,nvidia,,,,\n"
                         "X-SXM,architecture,,,Ex,,,,\n"
                         "X-SXM,compute_capability,,,9.0,,,,\n"
                         "X-SXM,core_kind,,,SM,,,,\n"
                         "X-SXM,name,,,NVIDIA X,,high,NVML,\n"
                         "X-SXM,name,,,NVIDIA X 80GB HBM3,,high,NVML,\n"
                         "X-SXM,dense_rate,bf16,fp32,989,TFLOP/s,high,a brief,a note\n"
                         "X-SXM,dense_rate,fp32,,67,TFLOP/s,medium,a brief,\n"
                         "X-SXM,memory_bandwidth,,,3350,GB/s,high,a brief,\n"
                         "X-PCIe,name,,,NVIDIA X PCIe,,high,NVML,\n"
                         "X-PCIe,vendor,,,nvidia,,,,\n"
                         "X-PCIe,memory_bandwidth,,,2000,GB/s,low,a page,\n";

PeakTable ParseOk(const std::string& text) {
  Result<PeakTable> table = PeakTable::Parse(text, "p.csv");
  EXPECT_TRUE(table.ok()) << table.status().ToString();
  return table.ok() ? *table : PeakTable();
}

PeakTable OverriddenOk(const std::string& text) {
  Result<PeakTable> table = PeakTable::Overridden(ParseOk(kTwo), kHeader + text, "o.csv");
  EXPECT_TRUE(table.ok()) << table.status().ToString();
  return table.ok() ? *table : PeakTable();
}

TEST(PeakTable, ReadsAllOfADevice) {
  const PeakTable table = ParseOk(kTwo);
  ASSERT_THAT(table.devices(), SizeIs(2));
  const DevicePeaks& device = table.devices()[0];
  EXPECT_EQ(device.device, "X-SXM");
  EXPECT_EQ(device.vendor, "nvidia");
  EXPECT_EQ(device.architecture, "Ex");
  EXPECT_EQ(device.compute_capability, "9.0");
  EXPECT_EQ(device.core_kind, "SM");
  EXPECT_THAT(device.peaks, SizeIs(3));
  const Peak rate{.quantity = "dense_rate",
                  .dtype = "bf16",
                  .accumulate = "fp32",
                  .value = 989,
                  .unit = "TFLOP/s",
                  .confidence = PeakConfidence::kHigh,
                  .source = "a brief",
                  .note = "a note",
                  .origin = PeakOrigin::kTable};
  EXPECT_EQ(*device.Find(kDenseRate, "bf16", "fp32"), rate);
  EXPECT_EQ(device.Find(kDenseRate, "fp32")->confidence, PeakConfidence::kMedium);
  EXPECT_THAT(table.warnings(), IsEmpty());
}

TEST(PeakTable, FindsByTheWholeNameAlone) {
  const PeakTable table = ParseOk(kTwo);
  struct Case {
    DeviceKind kind;
    const char* name;
    const char* device;
  };
  const Case cases[] = {
      {DeviceKind::kNvidia, "NVIDIA X", "X-SXM"},
      {DeviceKind::kNvidia, "nvidia x 80gb hbm3", "X-SXM"},
      {DeviceKind::kNvidia, "  NVIDIA   X  80GB HBM3 ", "X-SXM"},
      {DeviceKind::kNvidia, "NVIDIA X PCIe", "X-PCIe"},
      {DeviceKind::kNvidia, "NVIDIA X PCI", ""},
      {DeviceKind::kNvidia, "NVIDIA X PCIe 80GB", ""},
      {DeviceKind::kNvidia, "NVIDIA X 80GB", ""},
      {DeviceKind::kNvidia, "NVIDIAX", ""},
      {DeviceKind::kNvidia, "X-SXM", ""},
      {DeviceKind::kNvidia, "X", ""},
      {DeviceKind::kNvidia, "", ""},
      {DeviceKind::kAmd, "NVIDIA X", ""},
      {DeviceKind::kNeuron, "NVIDIA X", ""},
      {DeviceKind::kCpu, "NVIDIA X", ""},
  };
  for (const Case& c : cases) {
    const DevicePeaks* found = table.Find(c.kind, c.name);
    EXPECT_EQ(found == nullptr ? "" : found->device, c.device) << c.name;
  }
}

TEST(PeakTable, NamesTheLineThatMakesNoSense) {
  struct Case {
    const char* line;  // the fourth
    const char* what;
    const char* why;
    const char* remedy;
  };
  const std::string start = kHeader + "A,vendor,,,nvidia,,,,\nA,name,,,NVIDIA A,,,,\n";
  const Case cases[] = {
      {"A,dense_rate,bf16,fp32,many,TFLOP/s,high,x,", "p.csv:4", "A: the value 'many' is not a number", "write it as"},
      {"A,dense_rate,bf16,fp32,,TFLOP/s,high,x,", "p.csv:4", "A: the value '' is not a number", "write it as 989"},
      {"A,dense_rate,bf16,fp32,9 8,TFLOP/s,high,x,", "p.csv:4", "A: the value '9 8' is not a number", "write it as"},
      {"A,dense_rate,bf16,fp32,0x10,TFLOP/s,high,x,", "p.csv:4", "A: the value '0x10' is not a number", "write it as"},
      {"A,dense_rate,bf16,fp32,\"9,8\",TFLOP/s,high,x,", "p.csv:4", "A: the value '9,8' is not a number", "write it"},
      {"A,dense_rate,bf16,fp32,1e999,TFLOP/s,high,x,", "p.csv:4", "A: the value '1e999' is not a number that can", ""},
      {"A,dense_rate,bf16,fp32,inf,TFLOP/s,high,x,", "p.csv:4", "A: the value is not finite", "give it in TFLOP/s"},
      {"A,dense_rate,bf16,fp32,nan,TFLOP/s,high,x,", "p.csv:4", "A: the value is not finite", "give it in TFLOP/s"},
      {"A,dense_rate,bf16,fp32,0,TFLOP/s,high,x,", "p.csv:4", "A: the value 0 is not above 0", "give it in TFLOP/s"},
      {"A,dense_rate,bf16,fp32,-1,TFLOP/s,high,x,", "p.csv:4", "A: the value -1 is not above 0", "give it in TFLOP/s"},
      {"A,memory_bandwidth,,,1.792e6,GB/s,high,x,", "p.csv:4", "A: the value 1.792e+06 is out of any device's", "GB/s"},
      {"A,sparse_rate,bf16,fp32,1979,TFLOP/s,high,x,", "p.csv:4", "says that it is a sparse rate",
       "give the dense one"},
      {"A,speed,,,1,count,high,x,", "p.csv:4", "A: the quantity 'speed' is not known", "use one of dense_rate"},
      {"A,memory_bandwidth_driver,,,2000,GB/s,high,x,", "p.csv:4", "is what the driver says", "memory_bandwidth"},
      {"A,dense_rate,bf16,fp32,989,TFLOP/s,sure,x,", "p.csv:4", "A: the confidence 'sure' is not known", "use high,"},
      {"A,dense_rate,bf16,fp32,989,TFLOP/s,,x,", "p.csv:4", "A: the confidence '' is not known", "use high, medium"},
      {"A,dense_rate,bf16,fp32,989,TFLOP/s,high,,", "p.csv:4", "A: the number has no source", "say who gives it"},
      {"A,vendor,,,nvidia,,,,", "p.csv:4", "A: line 2 says the same", "leave one of them"},
      {"A,name,,,nvidia  a,,,,", "p.csv:4", "A: line 3 says the same", "leave one of them"},
      {"A,name,,,,,,,", "p.csv:4", "A: the name is empty or too long", "from 1 to 128 bytes"},
      {"A,name,,,NVIDIA B,count,,,", "p.csv:4", "A: a name has neither dtype nor accumulate nor unit", "leave them"},
      {"A,architecture,,,,,,,", "p.csv:4", "A: the value of architecture is empty or too long", "from 1 to 128 bytes"},
      {"A,architecture,x,,Ada,,,,", "p.csv:4", "A: architecture has neither dtype nor accumulate nor unit", "leave"},
      {"A,core_kind,,,core,,,,", "p.csv:4", "A: the core kind 'core' is not known", "use SM, CU or NeuronCore"},
      {"A,compute_capability,,,90,,,,", "p.csv:4", "A: '90' is no compute capability", "write it as 9.0"},
      {"A,compute_capability,,,9.0.1,,,,", "p.csv:4", "A: '9.0.1' is no compute capability", "write it as 9.0"},
      {"A,compute_capability,,,sm_90,,,,", "p.csv:4", "A: 'sm_90' is no compute capability", "write it as 9.0"},
      {",memory_bandwidth,,,2000,GB/s,high,x,", "p.csv:4", "the device '' has no name that fits",
       "use letters, digits"},
      {"A B,memory_bandwidth,,,2000,GB/s,high,x,", "p.csv:4", "the device 'A B' has no name that fits", "use letters"},
      {"B,vendor,,,intel,,,,", "p.csv:4", "B: the vendor 'intel' is not known", "use nvidia, amd or aws"},
      {"B,vendor,,,nvidia,,,,", "p.csv:4", "B: it has no name", "add a line for its vendor and one for each name"},
      {"B,memory_bandwidth,,,2000,GB/s,high,x,", "p.csv:4", "B: it has no vendor", "add a line for its vendor"},
      {"B,vendor,,,nvidia,,,,\nB,name,,,NVIDIA A,,,,", "p.csv:5", "B: 'NVIDIA A' is the name of A",
       "change that device"},
      {"A,memory_bandwidth,,,2000,GB/s,high,x,\nA,memory_bandwidth,,,2039,GB/s,high,x,", "p.csv:5",
       "A: line 4 says the same", "leave one of them"},
      {"A,memory_bandwidth,,,1000,GB/s,high,x,\nA,dense_rate,bf16,fp32,1200,TFLOP/s,high,x,", "p.csv:5",
       "A: 1200 TFLOP/s of bf16 and 1000 GB/s make a ridge point of 1200 FLOP/B, outside of 50 to 1000", "by 1000"},
      {"A,dense_rate,fp16,fp32,20,TFLOP/s,high,x,\nA,memory_bandwidth,,,1000,GB/s,high,x,", "p.csv:4",
       "A: 20 TFLOP/s of fp16 and 1000 GB/s make a ridge point of 20 FLOP/B, outside of 50 to 1000", "by 1000"},
  };
  for (const Case& c : cases) {
    const Status status = PeakTable::Parse(start + c.line + "\n", "p.csv").status();
    EXPECT_EQ(status.code(), ErrorCode::kBadInput) << c.line;
    EXPECT_EQ(status.what(), c.what) << c.line;
    EXPECT_THAT(status.why(), HasSubstr(c.why)) << c.line;
    EXPECT_THAT(status.remedy(), HasSubstr(c.remedy)) << c.line;
  }
}

TEST(PeakTable, RefusesWhatIsNoFileOfPeaks) {
  EXPECT_EQ(PeakTable::Parse("", "p.csv").status().ToString(),
            "p.csv:1: the header is missing; begin with the line " + std::string(kPeakFileHeader));
}

TEST(PeakTable, RefusesTooManyDevices) {
  std::string text = kHeader;
  for (size_t i = 0; i <= PeakTable::kMostDevices; ++i) {
    const std::string device = "D" + std::to_string(i);
    text.append(device).append(",vendor,,,amd,,,,\n").append(device).append(",name,,,").append(device).append(",,,,\n");
  }
  const Status status = PeakTable::Parse(text, "p.csv").status();
  EXPECT_EQ(status.ToString(), "p.csv:2002: D1000: it is one device too many; leave at most 1000");
}

TEST(PeakTable, WarnsOfWhatLooksLikeASparseRate) {
  const PeakTable table =
      ParseOk(kHeader +
              "A,vendor,,,nvidia,,,,\nA,name,,,NVIDIA A,,,,\n"
              "A,dense_rate,bf16,fp32,1979,TFLOP/s,high,x,\nA,memory_bandwidth,,,3350,GB/s,high,x,\n");
  EXPECT_THAT(table.warnings(),
              ElementsAre("p.csv:4: A: 1979 TFLOP/s of bf16 and 3350 GB/s make a ridge point of 590.746 FLOP/B, above "
                          "450: the rate looks like a sparse figure; make sure that it is the dense one"));
  EXPECT_EQ(table.devices()[0].Find(kDenseRate, "bf16", "fp32")->value, 1979) << "a warning refuses nothing";
}

TEST(PeakTable, AnOverrideReplacesOneNumberAsAWhole) {
  const PeakTable table = OverriddenOk("X-SXM,dense_rate,bf16,fp32,800,TFLOP/s,medium,ours,\n");
  const DevicePeaks* device = table.Find(DeviceKind::kNvidia, "NVIDIA X");
  ASSERT_NE(device, nullptr);
  const Peak rate{.quantity = "dense_rate",
                  .dtype = "bf16",
                  .accumulate = "fp32",
                  .value = 800,
                  .unit = "TFLOP/s",
                  .confidence = PeakConfidence::kMedium,
                  .source = "ours",
                  .origin = PeakOrigin::kOverride};
  EXPECT_EQ(*device->Find(kDenseRate, "bf16", "fp32"), rate) << "the table's note is not of this number";
  EXPECT_THAT(device->peaks, SizeIs(3));
  EXPECT_EQ(device->Find(kMemoryBandwidth)->origin, PeakOrigin::kTable);
}

TEST(PeakTable, AnOverrideAddsNumbersNamesAndDevices) {
  const PeakTable table = OverriddenOk(
      "X-SXM,dense_rate,fp8,fp32,1979,TFLOP/s,high,ours,\n"
      "X-SXM,name,,,NVIDIA X custom,,,,\n"
      "X-SXM,name,,,NVIDIA X,,,,it has that one already\n"
      "Y,vendor,,,amd,,,,\n"
      "Y,name,,,AMD Y,,,,\n"
      "Y,memory_bandwidth,,,5300,GB/s,high,ours,\n");
  EXPECT_THAT(table.devices(), SizeIs(3));
  const DevicePeaks* device = table.Find(DeviceKind::kNvidia, "nvidia x custom");
  ASSERT_NE(device, nullptr);
  EXPECT_EQ(device->device, "X-SXM");
  EXPECT_EQ(device->Find(kDenseRate, "fp8", "fp32")->origin, PeakOrigin::kOverride);
  ASSERT_NE(table.Find(DeviceKind::kAmd, "AMD Y"), nullptr);
  EXPECT_EQ(table.Find(DeviceKind::kAmd, "AMD Y")->device, "Y");
  EXPECT_EQ(table.Find(DeviceKind::kNvidia, "NVIDIA X PCIe")->device, "X-PCIe");
}

TEST(PeakTable, AnEmptyOverrideChangesNothing) {
  EXPECT_EQ(OverriddenOk("").devices(), ParseOk(kTwo).devices());
}

TEST(PeakTable, AnOverrideIsRefusedForWhatDoesNotFitTheTable) {
  struct Case {
    const char* text;
    const char* what;
    const char* why;
  };
  const Case cases[] = {
      {"X-SXM,vendor,,,amd,,,,", "o.csv:2", "X-SXM: its vendor is nvidia"},
      {"X-SXM,name,,,NVIDIA X PCIe,,,,", "o.csv:2", "X-SXM: 'NVIDIA X PCIe' is the name of X-PCIe"},
      {"x-sxm,memory_bandwidth,,,3350,GB/s,high,ours,", "o.csv:2", "x-sxm: it has no vendor"},
      {"X-SXM,memory_bandwidth,,,335,GB/s,high,ours,", "o.csv:2", "make a ridge point of 2952.24 FLOP/B, outside of"},
      {"X-SXM,dense_rate,bf16,fp32,20,TFLOP/s,high,ours,", "o.csv:2", "make a ridge point of 5.97015 FLOP/B, outside"},
  };
  for (const Case& c : cases) {
    const Status status = PeakTable::Overridden(ParseOk(kTwo), kHeader + c.text + "\n", "o.csv").status();
    EXPECT_EQ(status.code(), ErrorCode::kBadInput) << c.text;
    EXPECT_EQ(status.what(), c.what) << c.text;
    EXPECT_THAT(status.why(), HasSubstr(c.why)) << c.text;
  }
}

}  // namespace
}  // namespace kprof
