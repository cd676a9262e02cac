#include "client/cli/views/device_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/client/captured_output.h"

namespace kprof::cli {
namespace {

v1::ListDevicesResponse Devices() {
  v1::ListDevicesResponse devices;
  devices.add_devices()->set_id("cpu");
  devices.mutable_devices(0)->set_kind("cpu");
  for (const char* id : {"0", "1", "2"}) {
    v1::Device& device = *devices.add_devices();
    device.set_id(id);
    device.set_kind("nvidia");
    device.set_name("NVIDIA H200");
    device.mutable_clocks()->set_lockable(true);
  }
  v1::Device& locked = *devices.mutable_devices(1);
  locked.set_run_id("01ru");
  locked.mutable_clocks()->set_locked(true);
  locked.mutable_clocks()->set_locked_sm_mhz(1500);
  locked.mutable_clocks()->set_locked_memory_mhz(2619);
  locked.mutable_nvidia()->set_sm_mhz(1365);
  locked.mutable_nvidia()->set_memory_mhz(2619);
  locked.mutable_nvidia()->add_clock_reasons("sw_power_cap");
  devices.mutable_devices(2)->mutable_clocks()->set_trouble("GPU is lost");
  v1::Device& neuron = *devices.add_devices();
  neuron.set_id("neuron0");
  neuron.set_kind("neuron");
  neuron.set_name("trn2");
  return devices;
}

TEST(LockText, SaysWhatIsHeld) {
  v1::DeviceClocks clocks;
  EXPECT_EQ(LockText(clocks), "");
  clocks.set_locked_sm_mhz(1500);
  EXPECT_EQ(LockText(clocks), "") << "what is not locked has no lock";
  clocks.set_locked(true);
  EXPECT_EQ(LockText(clocks), "1500 MHz");
  clocks.set_locked_memory_mhz(2619);
  EXPECT_EQ(LockText(clocks), "1500 MHz, memory 2619 MHz");
  clocks.clear_locked_sm_mhz();
  EXPECT_EQ(LockText(clocks), "memory 2619 MHz");
  clocks.set_locked_sm_mhz(0);
  EXPECT_EQ(LockText(clocks), "its base clock, memory 2619 MHz");
}

TEST(ClocksTable, HasARowForEachDeviceThatHasClocks) {
  CapturedOutput captured;
  WriteClocksTable(Devices(), captured.output());
  EXPECT_EQ(captured.Results(),
            "DEVICE   LOCKED                       FOR       NOW                      NAME\n"
            "0        1500 MHz, memory 2619 MHz    run 01ru  1365 MHz (sw_power_cap)  NVIDIA H200\n"
            "1        not given back: GPU is lost                                     NVIDIA H200\n"
            "2        free                                                            NVIDIA H200\n"
            "neuron0  kprofd locks none                                               trn2\n");
}

TEST(ClocksJson, HasWhatIsLockedAndWhatTheClocksAre) {
  const std::string json = ClocksJsonLine(Devices());
  EXPECT_THAT(json,
              testing::StartsWith(
                  R"({"schema":"kprof.clocks.v1","devices":[{"device":"0","name":"NVIDIA H200","lockable":true,)"
                  R"("locked":true,"locked_sm_mhz":1500,"locked_memory_mhz":2619,"session":null,"run":"01ru",)"
                  R"("trouble":null,"sm_mhz":1365,"memory_mhz":2619,"clock_reasons":["sw_power_cap"]},)"
                  R"({"device":"1","name":"NVIDIA H200","lockable":true,"locked":false,"locked_sm_mhz":null,)"
                  R"("locked_memory_mhz":null,"session":null,"run":null,"trouble":"GPU is lost","sm_mhz":null,)"));
  EXPECT_THAT(json, testing::HasSubstr(R"({"device":"neuron0","name":"trn2","lockable":false)"));
}

}  // namespace
}  // namespace kprof::cli
