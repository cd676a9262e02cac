#include "daemon/devices/neuron/neuron_protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace kprof {
namespace {

using testing::SizeIs;

NeuronDevice Whole() {
  NeuronDevice device;
  device.index = 3;
  device.chip = "Trainium2";
  device.core_version = "v3";
  device.instance_type = "trn2.48xlarge";
  device.bdf = "0000:cc:00.0";
  device.serial_number = "a1b2";
  device.driver_version = "2.30.2";
  device.cpu_affinity = "0-7";
  device.numa_node = -1;
  device.connected = {1, 2};
  device.physical_cores = 8;
  device.lnc = 2;
  device.cores = {{.number = 4, .utilization_percent = 12.5, .flops = 1e12, .memory_bytes = 7, .pids = {11, 12}},
                  {.number = 5}};
  device.memory_bytes = 96LL << 30;
  device.memory_used_bytes = 5;
  device.processes = {{11, "python3 train.py", "2.30.51"}};
  device.runtimes = {{11, "tag", 5, 1, 2, 0.004, 0.006, 77, 88}};
  device.ecc = {1, 2, 3, 4, 5};
  device.execution_errors = 6;
  device.unhealthy_components = {"hbm"};
  device.power = NeuronPower{NeuronPower::Status::kValid, 1787754540, 0.32, 3.04, 1.57};
  device.notes = {"a note"};
  return device;
}

TEST(NeuronProtocol, GivesEachMessageBackAsItWas) {
  const NeuronMessage messages[] = {
      NeuronAsk{true}, NeuronMonitorFor{5},
      NeuronDone(),    NeuronDevice(),
      Whole(),         NeuronTold{2, true, true, {ErrorCode::kTimedOut, "a", "b", "c"}, {}}};
  for (const NeuronMessage& message : messages) {
    const NeuronPacket packet{7, message};
    Result<NeuronPacket> read = DecodeNeuronPacket(EncodeNeuronPacket(packet));
    ASSERT_TRUE(read.ok()) << message.index();
    EXPECT_EQ(*read, packet) << message.index();
  }
}

TEST(NeuronProtocol, RefusesWhatIsCutOrOfNoKnownForm) {
  const std::string bytes = EncodeNeuronPacket({7, Whole()});
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(DecodeNeuronPacket(bytes.substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(DecodeNeuronPacket(bytes + "x").ok());
  EXPECT_FALSE(DecodeNeuronPacket(std::string(64, '\xff')).ok());
}

// More than any node has: as parsers let through.
TEST(NeuronProtocol, HasRoomForAnyDevice) {
  NeuronDevice device = Whole();
  const std::string text(4096, 'x');
  for (auto* one : {&device.instance_type, &device.bdf, &device.serial_number, &device.driver_version}) *one = text;
  device.cores.clear();
  for (int number = 0; number < 256; ++number) {
    device.cores.push_back({number, 1.0, 1.0, 1, std::vector<int64_t>(1000, 1)});
  }
  device.connected.assign(2000, 1);
  device.processes.assign(5000, {1, text, text});
  device.runtimes.assign(5000, {1, text, 1, 1, 1, 1.0, 1.0, 1, 1});
  device.unhealthy_components.assign(5000, text);
  device.notes.assign(5000, text);
  const std::string bytes = EncodeNeuronPacket({7, device});
  EXPECT_LE(bytes.size(), kNeuronPacketLimitBytes);
  Result<NeuronPacket> read = DecodeNeuronPacket(bytes);
  ASSERT_TRUE(read.ok());
  EXPECT_THAT(std::get<NeuronDevice>(read->message).cores, SizeIs(256));
}

TEST(NeuronProtocol, KeepsAStatus) {
  const Status status = Fail(ErrorCode::kToolFailed, "ask neuron-ls", "it ended", "run it by hand");
  EXPECT_EQ(StatusOf(TroubleOf(status)).ToString(), status.ToString());
  EXPECT_TRUE(StatusOf(TroubleOf(OkStatus())).ok());
}

}  // namespace
}  // namespace kprof
