// The stand-in for NVML: what outlives the processes that use it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <vector>

#include "tests/stand_ins/nvml/model_file.h"
#include "tests/unit/devices/nvml_stand_in_fixture.h"

namespace kprof {
namespace {

using nvml_stand_in::DeviceChange;
using nvml_stand_in::ModelLock;
using testing::SizeIs;

class NvmlStandInCrash : public NvmlStandIn {};

TEST_F(NvmlStandInCrash, WritesDownWhatWasSet) {
  Begin("h200,p100");
  EXPECT_EQ(nvml().lock_gpu_clocks(Handle(0), 1500, 1600), nvml::kSuccess);
  EXPECT_EQ(nvml().lock_gpu_clocks(Handle(1), 600, 700), nvml::kNotSupported);
  EXPECT_EQ(nvml().set_power_limit(Handle(0), 5), nvml::kInvalidArgument);
  const std::vector<NvmlCall> calls = model().Calls();
  ASSERT_THAT(calls, SizeIs(3));
  EXPECT_EQ(calls[0].sequence, 1u);
  EXPECT_EQ(calls[0].function, "nvmlDeviceSetGpuLockedClocks");
  EXPECT_EQ(calls[0].device, 0u);
  EXPECT_EQ(calls[0].first, 1500u);
  EXPECT_EQ(calls[0].second, 1600u);
  EXPECT_EQ(calls[0].returned, nvml::kSuccess);
  EXPECT_EQ(calls[0].pid, ::getpid());
  EXPECT_GT(calls[1].mono_ns, calls[0].mono_ns);
  EXPECT_EQ(calls[1].device, 1u);
  EXPECT_EQ(calls[1].returned, nvml::kNotSupported);
  EXPECT_EQ(calls[2].function, "nvmlDeviceSetPowerManagementLimit");
  EXPECT_EQ(calls[2].returned, nvml::kInvalidArgument);
  EXPECT_EQ(model().Count("nvmlDeviceSetGpuLockedClocks"), 2u);
  EXPECT_GE(model().Count("nvmlDeviceGetHandleByIndex"), 3u);
  EXPECT_EQ(model().Count("nvmlDeviceGetName"), 0u);
}

TEST_F(NvmlStandInCrash, KeepsTheLastCallsOfMany) {
  Begin("h200");
  const nvml::DeviceHandle handle = Handle();
  constexpr unsigned kCalls = nvml_stand_in::kMostCalls + 10;
  for (unsigned i = 0; i < kCalls; ++i) nvml().reset_gpu_clocks(handle);
  const std::vector<NvmlCall> calls = model().Calls();
  ASSERT_THAT(calls, SizeIs(nvml_stand_in::kMostCalls));
  EXPECT_EQ(calls.front().sequence, 11u);
  EXPECT_EQ(calls.back().sequence, kCalls);
}

TEST_F(NvmlStandInCrash, KillsItsCallerBeforeOrAfterAnEffect) {
  struct Case {
    const char* plan;
    unsigned locked;      // of the second call
    int returned;         // what is written down of it
    size_t written_down;  // calls
  };
  const Case cases[] = {
      {"kill_at 1 before self", 0, nvml_stand_in::kNotReturned, 1},
      {"kill_at 1 after self", 1200, nvml::kSuccess, 1},
      {"kill_at 2 before self", 1200, nvml_stand_in::kNotReturned, 2},
      {"kill_at 2 after self", 1500, nvml::kSuccess, 2},
  };
  for (const Case& table : cases) {
    SCOPED_TRACE(table.plan);
    Begin("h200");
    model().SetNode(table.plan);
    const int status = StatusOf([&] {
      const nvml::DeviceHandle handle = Handle();
      nvml().lock_gpu_clocks(handle, 1200, 1200);
      nvml().lock_gpu_clocks(handle, 1500, 1500);
    });
    EXPECT_TRUE(WasKilled(status));
    EXPECT_EQ(model().State(0).locked_max, table.locked);
    ASSERT_THAT(model().Calls(), SizeIs(table.written_down));
    EXPECT_EQ(model().Calls().back().returned, table.returned);
    EXPECT_EQ(nvml().lock_gpu_clocks(Handle(), 345, 345), nvml::kSuccess) << "it strikes once";
  }
}

TEST_F(NvmlStandInCrash, KillsOthersByPidAndGoesOn) {
  Begin("h200");
  Sleeper victim;
  Sleeper spared;
  model().SetNode("kill_at 1 before " + std::to_string(victim.pid()));
  EXPECT_EQ(nvml().lock_gpu_clocks(Handle(), 1500, 1500), nvml::kSuccess);
  EXPECT_TRUE(victim.IsKilledByOther());
  EXPECT_TRUE(spared.IsAlive());
  EXPECT_EQ(model().State(0).locked_max, 1500u);
}

TEST_F(NvmlStandInCrash, KillsByNameThoseOfItsModelAlone) {
  Begin("h200");
  Sleeper victim({"PATH=/bin", model().Environment()});
  Sleeper of_nobody;
  const NvmlModel other;
  Sleeper of_another({other.Environment()});
  model().SetNode("kill_at 1 after sleep");
  EXPECT_EQ(nvml().lock_gpu_clocks(Handle(), 1500, 1500), nvml::kSuccess);
  EXPECT_TRUE(victim.IsKilledByOther());
  EXPECT_TRUE(of_nobody.IsAlive());
  EXPECT_TRUE(of_another.IsAlive());
}

TEST_F(NvmlStandInCrash, IsWholeAfterADeathWithinAChange) {
  Begin("h200");
  model().Set(0, "lock 1200 1200");
  const NvmlState before = model().State(0);
  const int status = StatusOf([&] {
    const ModelLock lock(model().model());
    const DeviceChange change(model().model(), 0);
    model().model().devices[0].gpu_lock.min_mhz = 1500;
    ::raise(SIGKILL);
  });
  ASSERT_TRUE(WasKilled(status));
  EXPECT_EQ(Clock(), 1200u) << "neither blocked nor half done";
  EXPECT_EQ(model().State(0), before);
  EXPECT_EQ(nvml().lock_gpu_clocks(Handle(), 1500, 1500), nvml::kSuccess);
  EXPECT_EQ(Clock(), 1500u);
}

TEST_F(NvmlStandInCrash, KeepsLocksBeyondTheDeathOfWhoeverSetThem) {
  Begin("h200");
  const int status = StatusOf([&] {
    nvml().set_persistence_mode(Handle(), nvml::kEnabled);
    nvml().lock_gpu_clocks(Handle(), 1500, 1500);
    ::raise(SIGKILL);
  });
  ASSERT_TRUE(WasKilled(status));
  EXPECT_EQ(Clock(), 1500u);
  nvml::EnableState mode = nvml::kDisabled;
  EXPECT_EQ(nvml().persistence_mode(Handle(), &mode), nvml::kSuccess);
  EXPECT_EQ(mode, nvml::kEnabled);
  EXPECT_EQ(nvml().set_persistence_mode(Handle(), static_cast<nvml::EnableState>(2)), nvml::kInvalidArgument);
}

TEST_F(NvmlStandInCrash, ForgetsSettingsWhenTheDriverIsTornDown) {
  struct Case {
    const char* why;
    const char* teardown;
    const char* persistence;
    bool has_other_client;
    bool forgets;
  };
  const Case cases[] = {
      {"by default it does not", "off", "off", false, false},
      {"nobody keeps it up", "on", "off", false, true},
      {"persistence mode keeps it up", "on", "on", false, false},
      {"another client keeps it up", "on", "off", true, false},
  };
  for (const Case& table : cases) {
    SCOPED_TRACE(table.why);
    NvmlModel model("h200");
    model.SetNode("permission all");
    model.SetNode("teardown " + std::string(table.teardown));
    model.Set(0, "persistence " + std::string(table.persistence));
    ::setenv("KPROF_NVML_STAND_IN", model.path().c_str(), 1);
    // It dies without ending the library.
    ASSERT_TRUE(WasKilled(StatusOf([&] {
      Result<NvmlLibrary> library = NvmlLibrary::Open(kStandInLibrary);
      nvml::DeviceHandle handle = nullptr;
      library->functions().handle_by_index(0, &handle);
      library->functions().lock_gpu_clocks(handle, 1500, 1500);
      library->functions().set_application_clocks(handle, 3201, 1500);
      library->functions().set_power_limit(handle, 500'000);
      ::raise(SIGKILL);
    })));
    ASSERT_EQ(model.State(0).locked_max, 1500u);
    Sleeper other;
    if (table.has_other_client) {
      const ModelLock lock(model.model());
      model.model().clients[5] = other.pid();
    }
    const Result<NvmlLibrary> next = NvmlLibrary::Open(kStandInLibrary);
    ASSERT_TRUE(next.ok());
    EXPECT_EQ(model.State(0).locked_max, table.forgets ? 0u : 1500u);
    EXPECT_EQ(model.State(0).app_graphics, table.forgets ? 1980u : 1500u);
    EXPECT_EQ(model.State(0).power_limit_mw, table.forgets ? 700'000u : 500'000u);
  }
}

}  // namespace
}  // namespace kprof
