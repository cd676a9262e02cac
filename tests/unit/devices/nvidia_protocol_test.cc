#include "daemon/devices/nvidia/nvidia_protocol.h"

#include <gtest/gtest.h>

#include <vector>

namespace kprof {
namespace {

NvidiaIdentity FullIdentity() {
  NvidiaIdentity identity;
  identity.uuid = "GPU-0a1b";
  identity.name = "NVIDIA H200";
  identity.serial = "165";
  identity.pci = "00000000:1B:00.0";
  identity.architecture = "Hopper";
  identity.compute_capability = "9.0";
  identity.vbios = "96.00";
  identity.driver_version = "570.1";
  identity.nvml_version = "12.570.1";
  identity.cuda_version = "12.8";
  identity.minor_number = 0;
  identity.cuda_cores = 16896;
  identity.sm_count = 132;
  identity.memory_bus_bits = 6144;
  identity.memory_bytes = uint64_t{141} << 30;
  identity.max_sm_mhz = 1980;
  identity.max_memory_mhz = 3201;
  identity.memory_clocks_mhz = {3201, 1593};
  identity.sm_clocks_mhz = {1980, 1965, 345};
  identity.least_power_mw = 200'000;
  identity.most_power_mw = 700'000;
  identity.default_power_mw = 700'000;
  identity.slowdown_c = 89;
  identity.shutdown_c = 92;
  identity.most_gpu_c = 87;
  identity.nvlinks = {{0, true, "00000000:07:00.0"}, {1, false, ""}};
  return identity;
}

NvidiaState FullState() {
  NvidiaState state;
  state.memory_used_bytes = 1;
  state.mig = true;
  state.mig_instances = {{"MIG-1", 1, 0, 16, 1, 1, uint64_t{18} << 30}, {"MIG-2", {}, {}, {}, {}, {}, {}}};
  state.persistence = false;
  state.ecc = true;
  state.ecc_corrected = 5;
  state.ecc_uncorrected = 0;
  state.application_sm_mhz = 1980;
  state.power_limit_mw = 700'000;
  state.energy_mj = 1'000'000'000'000;
  state.processes = std::vector<NvidiaProcess>{{4711, false, 1 << 20}, {4712, true, {}}};
  return state;
}

NvidiaSample FullSample() {
  return {.mono_ns = 1,
          .took_ns = 2,
          .sm_mhz = 1500,
          .memory_mhz = 3201,
          .reasons = 4,
          .power_mw = 650'000,
          .temperature_c = 60,
          .gpu_percent = 100,
          .memory_percent = {}};
}

std::vector<NvidiaPacket> OneOfEach() {
  return {
      {1, NvidiaCount{}},
      {2, NvidiaOpen{3, "GPU-0a1b", {}}},
      {2, NvidiaOpen{3, "", {"GPU-1", "GPU-2"}}},
      {3, NvidiaReadIdentity{}},
      {4, NvidiaReadState{}},
      {5, NvidiaReadSample{}},
      {6, NvidiaWatch{100'000'000, 1'000'000'000}},
      {7, NvidiaCounted{8}},
      {8, NvidiaFailed{ErrorCode::kNotFound, "ask", "it is lost", "reboot"}},
      {9, NvidiaDone{}},
      {10, FullIdentity()},
      {11, FullState()},
      {12, FullSample()},
      {0, NvidiaSamples{{FullSample(), NvidiaSample{}}}},
      {0, NvidiaEvent{NvidiaEvent::Kind::kXid, 5, 79}},
      {0, NvidiaState{}},
      {0, NvidiaIdentity{}},
  };
}

TEST(NvidiaProtocol, BringsEachMessageAcrossAsItIs) {
  for (const NvidiaPacket& packet : OneOfEach()) {
    Result<NvidiaPacket> decoded = DecodeNvidiaPacket(EncodeNvidiaPacket(packet));
    ASSERT_TRUE(decoded.ok()) << packet.message.index() << ": " << decoded.status().ToString();
    EXPECT_EQ(*decoded, packet) << packet.message.index();
  }
}

TEST(NvidiaProtocol, RefusesWhatIsCutOffOrTooLong) {
  for (const NvidiaPacket& packet : OneOfEach()) {
    const std::string bytes = EncodeNvidiaPacket(packet);
    for (size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_FALSE(DecodeNvidiaPacket(std::string_view(bytes).substr(0, size)).ok()) << packet.message.index();
    }
    EXPECT_FALSE(DecodeNvidiaPacket(bytes + "x").ok()) << packet.message.index();
  }
}

TEST(NvidiaProtocol, RefusesATypeThatThereIsNot) {
  std::string bytes = EncodeNvidiaPacket({1, NvidiaCount{}});
  bytes[4] = 100;
  EXPECT_EQ(DecodeNvidiaPacket(bytes).status().code(), ErrorCode::kBadInput);
}

TEST(NvidiaProtocol, CutsListsThatNoPacketHasRoomFor) {
  NvidiaState state;
  state.processes.emplace(100'000, NvidiaProcess{1, false, 2});
  const std::string bytes = EncodeNvidiaPacket({1, state});
  EXPECT_LT(bytes.size(), kDevicePacketLimitBytes);
  Result<NvidiaPacket> decoded = DecodeNvidiaPacket(bytes);
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(std::get<NvidiaState>(decoded->message).processes->size(), 1024u);
}

TEST(NvidiaProtocol, AFailureIsNeverOk) {
  EXPECT_FALSE(StatusOf(NvidiaFailed{ErrorCode::kOk, "", "", ""}).ok());
}

}  // namespace
}  // namespace kprof
