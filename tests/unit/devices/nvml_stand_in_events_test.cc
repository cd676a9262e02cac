// The stand-in for NVML: events.
#include <gtest/gtest.h>

#include <thread>

#include "tests/unit/devices/nvml_stand_in_fixture.h"

namespace kprof {
namespace {

class NvmlStandInEvents : public NvmlStandIn {};

TEST_F(NvmlStandInEvents, TellsEventsThatCameAfterTheRegistration) {
  Begin("h200,h200");
  model().TellEvent(0, "xid 13");
  const nvml::EventSet set = Register(nvml::kEventXid | nvml::kEventDoubleBitEcc, 0);
  nvml::EventData data{};
  EXPECT_EQ(nvml().wait_for_event(set, &data, 0), nvml::kTimeout);
  EXPECT_EQ(nvml().wait_for_event(set, &data, 20), nvml::kTimeout);
  model().TellEvent(0, "xid 79");
  model().TellEvent(1, "xid 31");  // nobody asked for those of the second device
  model().TellEvent(0, "clock");   // nor for those of clocks
  model().TellEvent(0, "double_bit_ecc");
  ASSERT_EQ(nvml().wait_for_event(set, &data, kLongMs), nvml::kSuccess);
  EXPECT_EQ(data.device, Handle(0));
  EXPECT_EQ(data.event_type, nvml::kEventXid);
  EXPECT_EQ(data.event_data, 79u);
  EXPECT_EQ(data.gpu_instance_id, 0xffffffffu);
  ASSERT_EQ(nvml().wait_for_event(set, &data, kLongMs), nvml::kSuccess);
  EXPECT_EQ(data.event_type, nvml::kEventDoubleBitEcc);
  EXPECT_EQ(data.event_data, 0u);
  EXPECT_EQ(nvml().wait_for_event(set, &data, 0), nvml::kTimeout);
  unsigned long long errors = 0;
  EXPECT_EQ(nvml().ecc_errors(Handle(), nvml::kErrorUncorrected, nvml::kEccVolatile, &errors), nvml::kSuccess);
  EXPECT_EQ(errors, 1u);
  EXPECT_EQ(nvml().free_event_set(set), nvml::kSuccess);
  EXPECT_EQ(nvml().wait_for_event(set, &data, 0), nvml::kInvalidArgument);
}

TEST_F(NvmlStandInEvents, WakesWhoeverWaitsForEventsFromOtherProcesses) {
  Begin("h200");
  const nvml::EventSet set = Register(nvml::kEventXid);
  nvml::EventData data{};
  nvml::Return returned = nvml::kUnknown;
  std::thread waiting([&] { returned = nvml().wait_for_event(set, &data, kLongMs); });
  while (model().Count("nvmlEventSetWait_v2") == 0) std::this_thread::yield();
  EXPECT_EQ(Control(model().path() + " event 0 xid 48 1 0").exit_status, 0);
  waiting.join();
  EXPECT_EQ(returned, nvml::kSuccess);
  EXPECT_EQ(data.event_data, 48u);
  EXPECT_EQ(data.gpu_instance_id, 1u);
  EXPECT_EQ(data.compute_instance_id, 0u);
}

TEST_F(NvmlStandInEvents, TellsWhenClocksChange) {
  Begin("h200");
  const nvml::EventSet set = Register(nvml::kEventClock);
  nvml::EventData data{};
  ASSERT_EQ(nvml().lock_gpu_clocks(Handle(), 1500, 1500), nvml::kSuccess);
  EXPECT_EQ(nvml().wait_for_event(set, &data, kLongMs), nvml::kSuccess);
  EXPECT_EQ(data.event_type, nvml::kEventClock);
  ASSERT_EQ(nvml().lock_gpu_clocks(Handle(), 1500, 1500), nvml::kSuccess);
  EXPECT_EQ(nvml().wait_for_event(set, &data, 0), nvml::kTimeout) << "that changed nothing";
  model().Set(0, "lock off");
  EXPECT_EQ(nvml().wait_for_event(set, &data, kLongMs), nvml::kSuccess);
}

TEST_F(NvmlStandInEvents, RegistersWhatTheDeviceSupports) {
  Begin("rtx4090");
  unsigned long long supported = 0;
  EXPECT_EQ(nvml().supported_events(Handle(), &supported), nvml::kSuccess);
  EXPECT_EQ(supported, nvml::kEventXid | nvml::kEventClock);
  nvml::EventSet set = nullptr;
  ASSERT_EQ(nvml().create_event_set(&set), nvml::kSuccess);
  EXPECT_EQ(nvml().register_events(Handle(), nvml::kEventDoubleBitEcc, set), nvml::kNotSupported);
  EXPECT_EQ(nvml().register_events(Handle(), nvml::kEventXid, nullptr), nvml::kInvalidArgument);
  EXPECT_EQ(nvml().wait_for_event(set, nullptr, 0), nvml::kInvalidArgument);
}

TEST_F(NvmlStandInEvents, TellsWhatIsLeftOfALostDeviceAndThenThatItIsLost) {
  Begin("h200");
  const nvml::EventSet set = Register(nvml::kEventXid);
  model().TellEvent(0, "xid 79");
  model().Set(0, "lost 1");
  nvml::EventData data{};
  EXPECT_EQ(nvml().wait_for_event(set, &data, kLongMs), nvml::kSuccess);
  EXPECT_EQ(data.event_data, 79u);
  EXPECT_EQ(nvml().wait_for_event(set, &data, kLongMs), nvml::kGpuIsLost);
}

}  // namespace
}  // namespace kprof
