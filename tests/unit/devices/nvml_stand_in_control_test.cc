// The stand-in for NVML: its control program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/fakes/base/temporary_folder.h"
#include "tests/unit/devices/nvml_stand_in_fixture.h"

namespace kprof {
namespace {

using testing::HasSubstr;

class NvmlStandInControl : public NvmlStandIn {};

TEST_F(NvmlStandInControl, IsScriptedAndShownByItsControlProgram) {
  const TemporaryFolder folder;
  const std::string path = folder / "model";
  ASSERT_EQ(Control(path + " init h200,t4").exit_status, 0);
  EXPECT_EQ(Control(path + " set node permission all").exit_status, 0);
  EXPECT_EQ(Control(path + " set 0 load 100").exit_status, 0);
  EXPECT_EQ(Control(path + " set 1 name My own GPU").exit_status, 0);
  ::setenv("KPROF_NVML_STAND_IN", path.c_str(), 1);
  const Result<NvmlLibrary> library = NvmlLibrary::Open(kStandInLibrary);
  ASSERT_TRUE(library.ok());
  const nvml::Functions& nvml = library.value().functions();
  nvml::DeviceHandle handle = nullptr;
  ASSERT_EQ(nvml.handle_by_index(0, &handle), nvml::kSuccess);
  ASSERT_EQ(nvml.lock_gpu_clocks(handle, 1500, 1500), nvml::kSuccess);

  const ControlOutput shown = Control(path + " show 0");
  EXPECT_EQ(shown.exit_status, 0);
  EXPECT_THAT(shown.text, HasSubstr(R"("lock": {"min_mhz": 1500, "max_mhz": 1500})"));
  EXPECT_THAT(shown.text, HasSubstr(R"("memory_lock": null)"));
  EXPECT_THAT(shown.text, HasSubstr(R"("persistence": false)"));
  EXPECT_THAT(shown.text, HasSubstr(R"("power_limit_mw": 700000)"));
  EXPECT_THAT(shown.text, HasSubstr(R"("app_clocks": {"are_set": false, "memory_mhz": 3201)"));
  EXPECT_THAT(shown.text, HasSubstr(R"("graphics_mhz": 1500)"));
  EXPECT_THAT(Control(path + " show").text, HasSubstr(R"("name": "My own GPU")"));
  EXPECT_THAT(Control(path + " show").text, HasSubstr("\"clients\": [" + std::to_string(::getpid()) + "]"));
  EXPECT_THAT(
      Control(path + " calls").text,
      HasSubstr(R"("function": "nvmlDeviceSetGpuLockedClocks", "first": 1500, "second": 1500, "returned": 0})"));
  EXPECT_EQ(Control(path + " counts").text,
            "{\"nvmlInit_v2\": 1, \"nvmlDeviceGetHandleByIndex_v2\": 1, \"nvmlDeviceSetGpuLockedClocks\": 1}\n");
}

TEST_F(NvmlStandInControl, SaysWhichCommandsMakeNoSense) {
  const TemporaryFolder folder;
  const std::string path = folder / "model";
  ASSERT_EQ(Control(path + " init h200").exit_status, 0);
  struct Case {
    const char* command;
    const char* says;
  };
  const Case cases[] = {
      {"", "it takes a file and a command"},
      {"dance", "no command 'dance'"},
      {"init h300", "no profile 'h300'"},
      {"init h200,", "no profile ''"},
      {"init", "init takes profiles"},
      {"set", "set lacks a device"},
      {"set 0", "it lacks a key"},
      {"set 1 load 5", "no device '1'"},
      {"set 0 speed 5", "no key 'speed'"},
      {"set 0 load", "load: it lacks the percent (load PERCENT)"},
      {"set 0 load much", "'much' is no number"},
      {"set 0 load 101", "from 0 to 100, not 101"},
      {"set 0 load 5 6", "'6' is one word too many"},
      {"set 0 lock 1500 tdp", "it is no range"},
      {"set 0 mig_add 1g.10gb", "MIG is not on"},
      {"set 0 pci nonsense", "no PCI address"},
      {"set 0 teardown on", "teardown is of the node"},
      {"set node load 5", "load is of a device"},
      {"set 0 error nvmlDeviceDance 3", "no function 'nvmlDeviceDance'"},
      {"set node kill_at 1 before 1", "no process that can be killed"},
      {"set node kill_at 0 before self", "from 1 to"},
      {"event 0 birthday", "xid|double_bit_ecc|clock"},
      {"event node xid 3", "no device 'node'"},
      {"show 7", "no device '7'"},
      {"calls me", "takes nothing more"},
  };
  for (const Case& table : cases) {
    const ControlOutput output = Control(path + " " + table.command);
    EXPECT_EQ(output.exit_status, 2) << table.command;
    EXPECT_THAT(output.text, HasSubstr(table.says)) << table.command;
  }
  EXPECT_EQ(Control(folder / "missing" + " show").exit_status, 1);
  EXPECT_EQ(Control("/nonexistent/model init h200").exit_status, 1);
  EXPECT_EQ(Control("--help").exit_status, 0);
}

TEST_F(NvmlStandInControl, ReplacesAModelAtOnce) {
  const TemporaryFolder folder;
  const std::string path = folder / "model";
  ASSERT_EQ(Control(path + " init h200").exit_status, 0);
  ::setenv("KPROF_NVML_STAND_IN", path.c_str(), 1);
  const Result<NvmlLibrary> first = NvmlLibrary::Open(kStandInLibrary);
  ASSERT_TRUE(first.ok());
  ASSERT_EQ(Control(path + " init t4,t4").exit_status, 0);
  unsigned count = 0;
  EXPECT_EQ(first.value().functions().device_count(&count), nvml::kSuccess);
  EXPECT_EQ(count, 1u) << "who had the former one keeps it";
  EXPECT_EQ(first.value().functions().shutdown(), nvml::kSuccess);
  EXPECT_EQ(first.value().functions().init(), nvml::kSuccess);
  EXPECT_EQ(first.value().functions().device_count(&count), nvml::kSuccess);
  EXPECT_EQ(count, 2u);
}

}  // namespace
}  // namespace kprof
