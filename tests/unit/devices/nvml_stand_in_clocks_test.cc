// The stand-in for NVML: which clocks a device runs at, and why not at higher ones.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>

#include "tests/stand_ins/nvml/model_file.h"
#include "tests/unit/devices/nvml_stand_in_fixture.h"

namespace kprof {
namespace {

using nvml_stand_in::ModelLock;
using testing::AllOf;
using testing::ElementsAre;
using testing::Ge;
using testing::Le;

class NvmlStandInClocks : public NvmlStandIn {};

TEST_F(NvmlStandInClocks, ListsClocksFromTheHighestDown) {
  struct Case {
    const char* profile;
    unsigned memory_mhz;
    unsigned count, highest, next, lowest;
  };
  const Case cases[] = {
      {"h200", 3201, 110, 1980, 1965, 345}, {"a100", 1593, 81, 1410, 1395, 210},  {"t4", 405, 24, 645, 630, 300},
      {"p100", 715, 74, 1480, 1468, 556},   {"b200", 3996, 247, 1965, 1958, 120},
  };
  for (const Case& table : cases) {
    SCOPED_TRACE(table.profile);
    Begin(table.profile);
    const std::vector<unsigned> clocks = GraphicsClocks(table.memory_mhz);
    ASSERT_EQ(clocks.size(), table.count);
    EXPECT_EQ(clocks[0], table.highest);
    EXPECT_EQ(clocks[1], table.next);
    EXPECT_EQ(clocks.back(), table.lowest);
    EXPECT_TRUE(std::is_sorted(clocks.rbegin(), clocks.rend()));
  }
}

TEST_F(NvmlStandInClocks, SaysHowMuchRoomClocksTake) {
  Begin("h200");
  unsigned count = 1;
  unsigned clocks[2] = {};
  EXPECT_EQ(nvml().memory_clocks(Handle(), &count, clocks), nvml::kInsufficientSize);
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(nvml().memory_clocks(Handle(), &count, clocks), nvml::kSuccess);
  EXPECT_THAT(clocks, ElementsAre(3201, 1593));
  EXPECT_EQ(nvml().memory_clocks(Handle(), nullptr, clocks), nvml::kInvalidArgument);
  EXPECT_EQ(nvml().graphics_clocks(Handle(), 2619, &count, clocks), nvml::kNotFound) << "a clock of the H100";
}

// The reason why a daemon cannot trust a lock: tile-ai/TileOPs#1587.
TEST_F(NvmlStandInClocks, AnH200HoldsOfLocksWhatItsPowerAllows) {
  Begin("h200");
  model().Set(0, "load 100");
  struct Case {
    unsigned lock_mhz;
    unsigned least_mhz, most_mhz;
    unsigned long long reasons;
  };
  const Case cases[] = {
      {1830, 1600, 1700, nvml_stand_in::kReasonSwPowerCap},
      {1980, 1600, 1700, nvml_stand_in::kReasonSwPowerCap},
      {1500, 1500, 1500, nvml_stand_in::kReasonApplicationsClocks},
      {345, 345, 345, nvml_stand_in::kReasonApplicationsClocks},
  };
  for (const Case& table : cases) {
    SCOPED_TRACE(table.lock_mhz);
    ASSERT_EQ(nvml().lock_gpu_clocks(Handle(), table.lock_mhz, table.lock_mhz), nvml::kSuccess);
    EXPECT_THAT(Clock(), AllOf(Ge(table.least_mhz), Le(table.most_mhz)));
    EXPECT_EQ(Clock(nvml::kClockSm), Clock());
    EXPECT_EQ(Reasons(), table.reasons);
    unsigned power_mw = 0;
    EXPECT_EQ(nvml().power_usage(Handle(), &power_mw), nvml::kSuccess);
    EXPECT_LE(power_mw, 700'000u);
  }
}

TEST_F(NvmlStandInClocks, DrawsOfItsPowerWhatTheLoadNeeds) {
  Begin("h200");
  EXPECT_EQ(Clock(), 345u);
  EXPECT_EQ(Reasons(), nvml_stand_in::kReasonGpuIdle);
  model().Set(0, "load 50");
  EXPECT_EQ(Clock(), 1980u) << "half the load fits";
  EXPECT_EQ(Reasons(), 0u);
  model().Set(0, "load 100");
  EXPECT_LT(Clock(), 1980u);
  model().Set(0, "load 0");
  EXPECT_EQ(Clock(), 345u);
}

TEST_F(NvmlStandInClocks, TakesLimitsOfLocksAsTheDriverDoes) {
  Begin("h200");
  constexpr unsigned kTdp = nvml::kClockLimitTdp;
  constexpr unsigned kUnlimited = nvml::kClockLimitUnlimited;
  struct Case {
    unsigned min, max;
    nvml::Return returned;
    unsigned locked_min, locked_max;  // 1000 and 1000 are there before
  };
  const Case cases[] = {
      {1500, 1800, nvml::kSuccess, 1500, 1800},
      {1501, 1799, nvml::kSuccess, 1500, 1800},  // the closest that it has
      {1507, 1508, nvml::kSuccess, 1500, 1515},
      {0, 100'000, nvml::kSuccess, 345, 1980},
      {1800, 1500, nvml::kInvalidArgument, 1005, 1005},
      {kTdp, kTdp, nvml::kSuccess, 1590, 1590},
      {kUnlimited, kTdp, nvml::kSuccess, 345, 1590},
      {kTdp, kUnlimited, nvml::kSuccess, 1590, 1980},
      {kUnlimited, kUnlimited, nvml::kSuccess, 0, 0},
      {1500, kTdp, nvml::kInvalidArgument, 1005, 1005},
      {kTdp, 1980, nvml::kInvalidArgument, 1005, 1005},
      {kUnlimited, 1980, nvml::kInvalidArgument, 1005, 1005},
      {1500, 0xffffff00, nvml::kInvalidArgument, 1005, 1005},
  };
  for (const Case& table : cases) {
    SCOPED_TRACE(std::to_string(table.min) + ", " + std::to_string(table.max));
    model().Set(0, "lock 1000 1000");
    EXPECT_EQ(nvml().lock_gpu_clocks(Handle(), table.min, table.max), table.returned);
    EXPECT_EQ(model().State(0).locked_min, table.locked_min);
    EXPECT_EQ(model().State(0).locked_max, table.locked_max);
  }
  EXPECT_EQ(nvml().reset_gpu_clocks(Handle()), nvml::kSuccess);
  EXPECT_EQ(model().State(0).locked_max, 0u);
}

TEST_F(NvmlStandInClocks, HasTheLocksOfItsComputeCapability) {
  struct Case {
    const char* profile;
    nvml::Return gpu_lock, memory_lock, application_clocks;
  };
  const Case cases[] = {
      {"p100", nvml::kNotSupported, nvml::kNotSupported, nvml::kSuccess},
      {"t4", nvml::kSuccess, nvml::kNotSupported, nvml::kSuccess},
      {"a100", nvml::kSuccess, nvml::kSuccess, nvml::kSuccess},
      {"rtx4090", nvml::kSuccess, nvml::kSuccess, nvml::kNotSupported},
  };
  for (const Case& table : cases) {
    SCOPED_TRACE(table.profile);
    Begin(table.profile);
    const unsigned memory_mhz = Clock(nvml::kClockMem);
    EXPECT_EQ(nvml().lock_gpu_clocks(Handle(), 600, 600), table.gpu_lock);
    EXPECT_EQ(nvml().reset_gpu_clocks(Handle()), table.gpu_lock);
    EXPECT_EQ(nvml().lock_memory_clocks(Handle(), memory_mhz, memory_mhz), table.memory_lock);
    EXPECT_EQ(nvml().reset_memory_clocks(Handle()), table.memory_lock);
    unsigned mhz = 0;
    EXPECT_EQ(nvml().application_clock(Handle(), nvml::kClockSm, &mhz), table.application_clocks);
    EXPECT_EQ(nvml().set_application_clocks(Handle(), memory_mhz, GraphicsClocks(memory_mhz)[2]),
              table.application_clocks);
  }
}

TEST_F(NvmlStandInClocks, HoldsLocksAlsoWithoutLoad) {
  Begin("t4");
  EXPECT_EQ(Clock(nvml::kClockMem), 405u);
  ASSERT_EQ(nvml().lock_gpu_clocks(Handle(), 1200, 1200), nvml::kSuccess);
  EXPECT_EQ(Clock(), 1200u);
  EXPECT_EQ(Clock(nvml::kClockMem), 5001u) << "what goes with 1200 MHz";
  EXPECT_EQ(Reasons(), nvml_stand_in::kReasonGpuIdle);
}

TEST_F(NvmlStandInClocks, LocksTheMemoryClock) {
  Begin("h100");
  ASSERT_EQ(nvml().lock_memory_clocks(Handle(), 1500, 1600), nvml::kSuccess);
  EXPECT_EQ(model().State(0).locked_mem_min, 1593u);
  EXPECT_EQ(model().State(0).locked_mem_max, 1593u);
  model().Set(0, "load 100");
  EXPECT_EQ(Clock(nvml::kClockMem), 1593u);
  EXPECT_EQ(nvml().lock_memory_clocks(Handle(), 2619, 1593), nvml::kInvalidArgument);
  EXPECT_EQ(nvml().lock_memory_clocks(Handle(), nvml::kClockLimitTdp, nvml::kClockLimitTdp), nvml::kInvalidArgument);
  ASSERT_EQ(nvml().reset_memory_clocks(Handle()), nvml::kSuccess);
  EXPECT_EQ(Clock(nvml::kClockMem), 2619u);
}

TEST_F(NvmlStandInClocks, BoostsUntilApplicationClocksAreSet) {
  Begin("a100");
  model().Set(0, "load 100");
  EXPECT_EQ(Clock(), 1410u);
  EXPECT_EQ(nvml().set_application_clocks(Handle(), 1593, 1000), nvml::kInvalidArgument) << "no clock of its";
  EXPECT_EQ(nvml().set_application_clocks(Handle(), 1215, 1275), nvml::kInvalidArgument) << "no memory clock of its";
  // The default, once set, is a limit too: only the reset lets it boost again.
  ASSERT_EQ(nvml().set_application_clocks(Handle(), 1593, 1275), nvml::kSuccess);
  EXPECT_EQ(Clock(), 1275u);
  EXPECT_EQ(Reasons(), nvml_stand_in::kReasonApplicationsClocks);
  EXPECT_TRUE(model().State(0).app_clocks_are_set);
  // A lock supersedes it.
  ASSERT_EQ(nvml().lock_gpu_clocks(Handle(), 1410, 1410), nvml::kSuccess);
  EXPECT_EQ(Clock(), 1410u);
  ASSERT_EQ(nvml().reset_gpu_clocks(Handle()), nvml::kSuccess);
  void* library = ::dlopen(kStandInLibrary, RTLD_NOW | RTLD_LOCAL);
  const auto reset =
      reinterpret_cast<nvml::Return (*)(nvml::DeviceHandle)>(::dlsym(library, "nvmlDeviceResetApplicationsClocks"));
  EXPECT_EQ(reset(Handle()), nvml::kSuccess);
  ::dlclose(library);
  EXPECT_EQ(Clock(), 1410u);
  unsigned mhz = 0;
  EXPECT_EQ(nvml().default_application_clock(Handle(), nvml::kClockGraphics, &mhz), nvml::kSuccess);
  EXPECT_EQ(mhz, 1275u);
}

TEST_F(NvmlStandInClocks, TakesPowerLimitsWithinItsRange) {
  Begin("h100");
  model().Set(0, "load 100");
  unsigned least_mw = 0;
  unsigned most_mw = 0;
  ASSERT_EQ(nvml().power_limit_range(Handle(), &least_mw, &most_mw), nvml::kSuccess);
  EXPECT_EQ(nvml().set_power_limit(Handle(), least_mw - 1), nvml::kInvalidArgument);
  EXPECT_EQ(nvml().set_power_limit(Handle(), most_mw + 1), nvml::kInvalidArgument);
  EXPECT_EQ(nvml().set_power_limit(Handle(), 400'000), nvml::kSuccess);
  unsigned power_mw = 0;
  EXPECT_EQ(nvml().power_limit(Handle(), &power_mw), nvml::kSuccess);
  EXPECT_EQ(power_mw, 400'000u);
  EXPECT_EQ(nvml().enforced_power_limit(Handle(), &power_mw), nvml::kSuccess);
  EXPECT_EQ(power_mw, 400'000u);
  EXPECT_EQ(nvml().default_power_limit(Handle(), &power_mw), nvml::kSuccess);
  EXPECT_EQ(power_mw, 700'000u);
  EXPECT_EQ(nvml().power_usage(Handle(), &power_mw), nvml::kSuccess);
  EXPECT_LE(power_mw, 400'000u);
  EXPECT_LT(Clock(), 1500u);
  EXPECT_EQ(Reasons(), nvml_stand_in::kReasonSwPowerCap);
}

TEST_F(NvmlStandInClocks, CountsTheEnergyThatItDraws) {
  Begin("h200,p100");
  model().Set(0, "load 100");
  model().Set(0, "lock 1500 1500");
  unsigned power_mw = 0;
  ASSERT_EQ(nvml().power_usage(Handle(), &power_mw), nvml::kSuccess);
  unsigned long long before_mj = 0;
  ASSERT_EQ(nvml().energy(Handle(), &before_mj), nvml::kSuccess);
  {
    const ModelLock lock(model().model());
    model().model().devices[0].energy_mono_ns -= 10'000'000'000;  // ten seconds pass
  }
  unsigned long long after_mj = 0;
  ASSERT_EQ(nvml().energy(Handle(), &after_mj), nvml::kSuccess);
  EXPECT_GE(after_mj - before_mj, 10ULL * power_mw);
  EXPECT_LE(after_mj - before_mj, 70ULL * power_mw) << "the test itself took less than a minute";
  EXPECT_EQ(nvml().energy(Handle(1), &after_mj), nvml::kNotSupported);
}

TEST_F(NvmlStandInClocks, GetsWarmAndSlowsDownWhereItIsTooHot) {
  Begin("h200,t4");
  const auto temperature = [&] {
    unsigned degrees_c = 0;
    EXPECT_EQ(nvml().temperature(Handle(), nvml::kTemperatureGpu, &degrees_c), nvml::kSuccess);
    return degrees_c;
  };
  EXPECT_EQ(temperature(), 30u);
  model().Set(0, "load 50");
  EXPECT_EQ(temperature(), 49u);
  unsigned degrees_c = 0;
  EXPECT_EQ(nvml().temperature_threshold(Handle(), nvml::kThresholdGpuMax, &degrees_c), nvml::kSuccess);
  EXPECT_EQ(degrees_c, 87u);
  EXPECT_EQ(nvml().temperature_threshold(Handle(1), nvml::kThresholdMemMax, &degrees_c), nvml::kNotSupported);
  model().Set(0, "temperature_c 88");
  EXPECT_EQ(temperature(), 88u);
  EXPECT_EQ(Reasons(), nvml_stand_in::kReasonSwThermal);
  EXPECT_LT(Clock(), 1980u);
  model().Set(0, "temperature_c 93");
  EXPECT_EQ(Reasons(),
            nvml_stand_in::kReasonSwThermal | nvml_stand_in::kReasonHwSlowdown | nvml_stand_in::kReasonHwThermal);
  EXPECT_LE(Clock(), 990u);
  model().Set(0, "temperature_c derived");
  EXPECT_EQ(Reasons(), 0u);
}

TEST_F(NvmlStandInClocks, SlowsDownAsAScriptWants) {
  struct Case {
    const char* slowdown;
    unsigned long long reason;
    unsigned most_mhz;
  };
  const Case cases[] = {
      {"sw_thermal", 0x20, 1600},
      {"hw_slowdown", 0x8, 990},
      {"hw_thermal", 0x40, 990},
      {"hw_power_brake", 0x80, 990},
  };
  Begin("h200");
  model().Set(0, "load 40");
  for (const Case& table : cases) {
    model().Set(0, "slowdown " + std::string(table.slowdown) + " on");
    EXPECT_EQ(Reasons(), table.reason);
    EXPECT_LE(Clock(), table.most_mhz);
    model().Set(0, "slowdown " + std::string(table.slowdown) + " off");
    EXPECT_EQ(Reasons(), 0u);
    EXPECT_EQ(Clock(), 1980u);
  }
}

TEST_F(NvmlStandInClocks, IsLoadedWhileAProcessIsThere) {
  Begin("h200");
  Sleeper sleeper;
  model().Set(0, "load_of " + std::to_string(sleeper.pid()));
  nvml::Utilization busy{};
  EXPECT_EQ(nvml().utilization(Handle(), &busy), nvml::kSuccess);
  EXPECT_EQ(busy.gpu, 100u);
  ::kill(sleeper.pid(), SIGKILL);
  siginfo_t ended;
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(sleeper.pid()), &ended, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(nvml().utilization(Handle(), &busy), nvml::kSuccess);
  EXPECT_EQ(busy.gpu, 0u) << "also where nobody has waited for it";
  sleeper.End();
  EXPECT_EQ(Reasons(), nvml_stand_in::kReasonGpuIdle);
  model().Set(0, "utilization 37 12");
  EXPECT_EQ(nvml().utilization(Handle(), &busy), nvml::kSuccess);
  EXPECT_EQ(busy.gpu, 37u);
  EXPECT_EQ(busy.memory, 12u);
}

}  // namespace
}  // namespace kprof
