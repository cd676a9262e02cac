// The stand-in for NVML: who may set what, and what goes wrong as a script wants.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "tests/unit/devices/nvml_stand_in_fixture.h"

namespace kprof {
namespace {

class NvmlStandInFaults : public NvmlStandIn {};

TEST_F(NvmlStandInFaults, LetsThoseSetWhoMay) {
  Begin("h200");
  struct Case {
    const char* permission;
    nvml::Return root, others;
  };
  const Case cases[] = {
      {"root", nvml::kSuccess, nvml::kNoPermission},
      {"none", nvml::kNoPermission, nvml::kNoPermission},
      {"all", nvml::kSuccess, nvml::kSuccess},
  };
  const bool is_root = ::geteuid() == 0;
  for (const Case& table : cases) {
    SCOPED_TRACE(table.permission);
    model().Set(0, "permission " + std::string(table.permission));
    const nvml::Return expected = is_root ? table.root : table.others;
    EXPECT_EQ(nvml().set_persistence_mode(Handle(), nvml::kEnabled), expected);
    EXPECT_EQ(nvml().lock_gpu_clocks(Handle(), 1500, 1500), expected);
    EXPECT_EQ(nvml().reset_gpu_clocks(Handle()), expected);
    EXPECT_EQ(nvml().lock_memory_clocks(Handle(), 3201, 3201), expected);
    EXPECT_EQ(nvml().reset_memory_clocks(Handle()), expected);
    EXPECT_EQ(nvml().set_application_clocks(Handle(), 3201, 1500), expected);
    EXPECT_EQ(nvml().set_power_limit(Handle(), 500'000), expected);
    unsigned mhz = 0;
    EXPECT_EQ(nvml().clock(Handle(), nvml::kClockSm, &mhz), nvml::kSuccess) << "everybody may look";
    if (!is_root) continue;
    EXPECT_EQ(StatusOf([&] {
                KPROF_CHECK(::seteuid(65534) == 0);
                if (nvml().lock_gpu_clocks(Handle(), 1500, 1500) != table.others) ::_exit(1);
              }),
              0)
        << "another user";
  }
}

TEST_F(NvmlStandInFaults, LosesADevice) {
  Begin("h200,h200");
  const nvml::DeviceHandle lost = Handle(0);
  const nvml::DeviceHandle other = Handle(1);
  model().Set(0, "lost 1");
  unsigned number = 0;
  char text[96];
  nvml::Memory memory{};
  EXPECT_EQ(nvml().name(lost, text, sizeof(text)), nvml::kGpuIsLost);
  EXPECT_EQ(nvml().clock(lost, nvml::kClockSm, &number), nvml::kGpuIsLost);
  EXPECT_EQ(nvml().memory_info(lost, &memory), nvml::kGpuIsLost);
  EXPECT_EQ(nvml().lock_gpu_clocks(lost, 1500, 1500), nvml::kGpuIsLost);
  EXPECT_EQ(nvml().reset_gpu_clocks(lost), nvml::kGpuIsLost);
  nvml::DeviceHandle handle = nullptr;
  EXPECT_EQ(nvml().handle_by_index(0, &handle), nvml::kGpuIsLost);
  EXPECT_EQ(nvml().handle_by_uuid(model().Uuid(0).c_str(), &handle), nvml::kGpuIsLost);
  EXPECT_EQ(nvml().device_count(&number), nvml::kSuccess);
  EXPECT_EQ(number, 2u);
  EXPECT_EQ(nvml().lock_gpu_clocks(other, 1500, 1500), nvml::kSuccess);
  model().Set(0, "lost 0");
  EXPECT_EQ(nvml().name(lost, text, sizeof(text)), nvml::kSuccess);
}

TEST_F(NvmlStandInFaults, ShiftsIndexesWhenADeviceIsUnplugged) {
  Begin("h200,t4,l4");
  const nvml::DeviceHandle unplugged = Handle(1);
  model().Set(1, "unplug");
  unsigned count = 0;
  EXPECT_EQ(nvml().device_count(&count), nvml::kSuccess);
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(Name(Handle(1)), "NVIDIA L4");
  char text[96];
  EXPECT_EQ(nvml().name(unplugged, text, sizeof(text)), nvml::kGpuIsLost);
  nvml::DeviceHandle handle = nullptr;
  EXPECT_EQ(nvml().handle_by_uuid(model().Uuid(1).c_str(), &handle), nvml::kNotFound);
  EXPECT_EQ(nvml().handle_by_index(2, &handle), nvml::kInvalidArgument);
  model().Set(1, "plug");
  EXPECT_EQ(Name(Handle(1)), "Tesla T4");
}

TEST_F(NvmlStandInFaults, FailsAsAScriptWants) {
  Begin("h200,h200");
  unsigned mhz = 0;
  const auto clock = [&](unsigned index) { return nvml().clock(Handle(index), nvml::kClockSm, &mhz); };
  model().Set(0, "error nvmlDeviceGetClockInfo 999 2");
  EXPECT_EQ(clock(0), nvml::kUnknown);
  EXPECT_EQ(clock(1), nvml::kSuccess) << "another device";
  EXPECT_EQ(clock(0), nvml::kUnknown);
  EXPECT_EQ(clock(0), nvml::kSuccess) << "twice it was";
  model().Set(0, "error nvmlDeviceGetClockInfo 10");
  for (int i = 0; i < 5; ++i) EXPECT_EQ(clock(0), nvml::kTimeout);
  model().Set(0, "error nvmlDeviceGetClockInfo 0");
  EXPECT_EQ(clock(0), nvml::kSuccess);
  model().Set(1, "error all 17");
  EXPECT_EQ(clock(1), nvml::kOperatingSystem);
  EXPECT_EQ(nvml().lock_gpu_clocks(Handle(1), 1500, 1500), nvml::kOperatingSystem);
  EXPECT_EQ(model().State(1).locked_max, 0u) << "without an effect";
  model().SetNode("error nvmlDeviceGetCount 20 1");
  EXPECT_EQ(nvml().device_count(&mhz), nvml::kMemory);
  model().SetAll("error nvmlDeviceGetClockInfo 21");
  EXPECT_EQ(clock(0), nvml::kNoData);
  model().SetAll("faults_clear");
  EXPECT_EQ(clock(0), nvml::kSuccess);
  EXPECT_EQ(clock(1), nvml::kSuccess);
  model().SetNode("error nvmlInit_v2 4");
  EXPECT_EQ(nvml().init(), nvml::kNoPermission);
}

TEST_F(NvmlStandInFaults, TakesItsTimeAsAScriptWants) {
  using std::chrono::steady_clock;
  Begin("h200");
  const nvml::DeviceHandle handle = Handle();
  unsigned mhz = 0;
  const auto elapsed = [&] {
    const auto begin = steady_clock::now();
    EXPECT_EQ(nvml().clock(handle, nvml::kClockSm, &mhz), nvml::kSuccess);
    return steady_clock::now() - begin;
  };
  model().Set(0, "delay all 20000");
  EXPECT_GE(elapsed(), std::chrono::milliseconds(20));
  model().Set(0, "delay all 3000 9000");
  EXPECT_GE(elapsed(), std::chrono::milliseconds(3));
  model().Set(0, "delay all 0");
  model().Set(0, "hang nvmlDeviceGetClockInfo 30 1");
  EXPECT_GE(elapsed(), std::chrono::milliseconds(30));
}

TEST_F(NvmlStandInFaults, HangsWithoutHoldingOthersUp) {
  Begin("h200,h200");
  const nvml::DeviceHandle hanging = Handle(0);
  model().Set(0, "hang nvmlDeviceSetGpuLockedClocks 600000");
  nvml::Return returned = nvml::kUnknown;
  std::thread thread([&] { returned = nvml().lock_gpu_clocks(hanging, 1500, 1500); });
  while (model().Count("nvmlDeviceSetGpuLockedClocks") == 0) std::this_thread::yield();
  EXPECT_EQ(nvml().lock_gpu_clocks(Handle(1), 1200, 1200), nvml::kSuccess) << "another device";
  EXPECT_EQ(Clock(), 345u) << "another function of the same device";
  EXPECT_EQ(StatusOf([&] {
              if (nvml().reset_gpu_clocks(Handle(1)) != nvml::kSuccess) ::_exit(1);
            }),
            0)
      << "another process";
  EXPECT_EQ(model().State(0).locked_max, 0u) << "it has no effect yet";
  model().Set(0, "hang nvmlDeviceSetGpuLockedClocks 0");
  thread.join();
  EXPECT_EQ(returned, nvml::kSuccess);
  EXPECT_EQ(model().State(0).locked_max, 1500u);
}

}  // namespace
}  // namespace kprof
