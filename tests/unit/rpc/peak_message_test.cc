#include "daemon/rpc/messages/device_message.h"

#include <gmock/gmock.h>

#include "daemon/devices/peaks/peak_table.h"

namespace kprof {
namespace {

using testing::HasSubstr;

const Device kDevice{.id = "0", .kind = DeviceKind::kNvidia, .name = "NVIDIA H200", .uuid = "GPU-1"};

DeviceFacts H200() {
  DeviceFacts facts{.kind = DeviceKind::kNvidia};
  facts.nvidia = NvidiaIdentity{.uuid = "GPU-1",
                                .name = "NVIDIA H200",
                                .compute_capability = "9.0",
                                .sm_count = 132,
                                .memory_bus_bits = 5120,
                                .memory_bytes = uint64_t{143771} << 20,
                                .max_memory_mhz = 3201};
  facts.nvidia_state = NvidiaState();
  return facts;
}

MeasuredCeiling Copy(double value) {
  return {.quantity = "memory_bandwidth", .value = value, .unit = "GB/s", .run_id = "01hx3m5qrstvwxyz", .unix_ns = 7};
}

class PeakMessageTest : public testing::Test {
 protected:
  PeakTable table_ = *LoadBuiltInPeaks();
};

TEST_F(PeakMessageTest, HasWhatTableAndDriverAndRunsSay) {
  const DevicePeaks peaks = PeaksOf(kDevice, H200(), table_, {Copy(4400)});
  ASSERT_NE(peaks.Find(kMemoryBandwidth), nullptr);
  EXPECT_EQ(peaks.Find(kMemoryBandwidth)->origin, PeakOrigin::kTable);
  EXPECT_EQ(peaks.Find(kMemoryBandwidthDriver)->origin, PeakOrigin::kDriver);
  EXPECT_EQ(peaks.FindMeasured(kMemoryBandwidth)->value, 4400);
  v1::Device message;
  FillPeaks(peaks, H200(), message);
  EXPECT_EQ(message.peaks_size(), static_cast<int>(peaks.peaks.size()));
}

TEST_F(PeakMessageTest, LeavesOutACeilingThatTodaysTableDoesNotBear) {
  const DevicePeaks peaks = PeaksOf(kDevice, H200(), table_, {Copy(9000)});
  EXPECT_EQ(peaks.FindMeasured(kMemoryBandwidth), nullptr);
  EXPECT_NE(peaks.Find(kMemoryBandwidth), nullptr);
}

TEST_F(PeakMessageTest, OfADeviceThatNoTableKnowsThereIsWhatItsDriverSays) {
  DeviceFacts facts = H200();
  facts.nvidia->name = "NVIDIA Z9000";
  const DevicePeaks peaks =
      PeaksOf({.id = "0", .kind = DeviceKind::kNvidia, .name = "NVIDIA Z9000"}, facts, table_, {});
  EXPECT_EQ(peaks.Find(kDenseRate, "bf16", "fp32"), nullptr);
  EXPECT_NE(peaks.Find(kCoreCount), nullptr);
}

TEST_F(PeakMessageTest, APartHasItsShareOrSaysWhyNot) {
  DeviceFacts facts = H200();
  facts.nvidia_state->mig = true;
  facts.nvidia_state->mig_instances = {
      {.uuid = "MIG-1", .sm_count = 60, .gpu_slices = 3, .compute_slices = 3, .memory_bytes = uint64_t{71424} << 20},
      {.uuid = "MIG-2"}};
  v1::Device message;
  message.mutable_nvidia()->add_mig_instances();
  message.mutable_nvidia()->add_mig_instances();
  FillPeaks(PeaksOf(kDevice, facts, table_, {Copy(4400)}), facts, message);
  EXPECT_GT(message.nvidia().mig_instances(0).peaks_size(), 0);
  EXPECT_EQ(message.nvidia().mig_instances(0).no_peaks(), "");
  for (const v1::Peak& peak : message.nvidia().mig_instances(0).peaks()) {
    EXPECT_NE(peak.origin(), "measured") << "what the whole reached says nothing of a part";
  }
  EXPECT_EQ(message.nvidia().mig_instances(1).peaks_size(), 0);
  EXPECT_NE(message.nvidia().mig_instances(1).no_peaks(), "");
}

TEST_F(PeakMessageTest, ACoreHasItsShareOrSaysWhyNot) {
  DeviceFacts facts{.kind = DeviceKind::kNeuron};
  facts.neuron = NeuronDevice{.chip = "Trainium2", .lnc = 2};
  const Device device{.id = "nd0", .kind = DeviceKind::kNeuron, .name = "Trainium2"};
  v1::Device message;
  message.mutable_neuron();
  FillPeaks(PeaksOf(device, facts, table_, {}), facts, message);
  EXPECT_GT(message.neuron().core_peaks_size(), 0);
  facts.neuron->chip = "Trainium99";
  message.Clear();
  message.mutable_neuron();
  FillPeaks(PeaksOf({.id = "nd0", .kind = DeviceKind::kNeuron, .name = "Trainium99"}, facts, table_, {}), facts,
            message);
  EXPECT_EQ(message.neuron().core_peaks_size(), 0);
  EXPECT_THAT(message.neuron().no_core_peaks(), HasSubstr("not known"));
}

}  // namespace
}  // namespace kprof
