#include "daemon/rpc/streams/watch_devices_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace kprof {
namespace {

using testing::ElementsAre;

std::vector<std::string> TextsOf(const std::vector<v1::DeviceEvent>& events) {
  std::vector<std::string> texts;
  for (const v1::DeviceEvent& event : events) {
    EXPECT_EQ(event.device_id(), "0");
    EXPECT_EQ(event.unix_ns(), 5);
    texts.push_back(event.kind() + " " + event.text());
  }
  return texts;
}

v1::Device Free() {
  v1::Device device;
  device.set_id("0");
  return device;
}
v1::Device HeldBy(const std::string& session, const std::string& run) {
  v1::Device device = Free();
  device.set_held_since_unix_ns(1);
  device.set_session_id(session);
  device.set_run_id(run);
  return device;
}

TEST(DeviceChanges, ALeaseAndItsEnd) {
  EXPECT_THAT(TextsOf(ChangesBetween(Free(), HeldBy("", "01ru"), 5)), ElementsAre("leased to run 01ru"));
  EXPECT_THAT(TextsOf(ChangesBetween(HeldBy("", "01ru"), Free(), 5)), ElementsAre("released by run 01ru"));
  EXPECT_THAT(TextsOf(ChangesBetween(HeldBy("", "01a"), HeldBy("", "01b"), 5)),
              ElementsAre("released by run 01a", "leased to run 01b"));
  EXPECT_THAT(TextsOf(ChangesBetween(Free(), HeldBy("", ""), 5)), ElementsAre("leased to another user"));
}

TEST(DeviceChanges, RoundsOfASessionAreNoLeases) {
  EXPECT_THAT(TextsOf(ChangesBetween(HeldBy("01se", ""), HeldBy("01se", "01ru"), 5)), ElementsAre());
  EXPECT_THAT(TextsOf(ChangesBetween(HeldBy("01se", "01a"), HeldBy("01se", "01b"), 5)), ElementsAre());
  EXPECT_THAT(TextsOf(ChangesBetween(Free(), HeldBy("01se", ""), 5)), ElementsAre("leased to session 01se"));
}

TEST(DeviceChanges, ALockIsTakenAfterTheLeaseAndGivenBackBeforeItsEnd) {
  v1::Device locked = HeldBy("", "01ru");
  locked.mutable_clocks()->set_locked(true);
  locked.mutable_clocks()->set_locked_sm_mhz(1500);
  locked.mutable_clocks()->set_locked_memory_mhz(2619);
  EXPECT_THAT(TextsOf(ChangesBetween(Free(), locked, 5)),
              ElementsAre("leased to run 01ru", "locked its clocks are at 1500 MHz, memory 2619 MHz"));
  EXPECT_EQ(ChangesBetween(Free(), locked, 5)[1].value(), 1500u);
  EXPECT_THAT(TextsOf(ChangesBetween(locked, Free(), 5)),
              ElementsAre("unlocked its clocks were at 1500 MHz, memory 2619 MHz", "released by run 01ru"));
  v1::Device other = locked;
  other.mutable_clocks()->set_locked_sm_mhz(0);
  EXPECT_THAT(TextsOf(ChangesBetween(locked, other, 5)),
              ElementsAre("unlocked its clocks were at 1500 MHz, memory 2619 MHz",
                          "locked its clocks are at the base clock, memory 2619 MHz"));
}

TEST(DeviceChanges, NothingHappenedWhereNothingChanged) {
  v1::Device held = HeldBy("01se", "01ru");
  v1::Device now = held;
  now.mutable_nvidia()->set_sm_mhz(1500);
  now.set_queued(3);
  EXPECT_THAT(ChangesBetween(held, now, 5), testing::IsEmpty());
}

TEST(DeviceChanges, WhatBefellADeviceIsReadable) {
  const v1::DeviceEvent message =
      MessageOf(DeviceEvent{DeviceEvent::Kind::kXid, "3", 7, "the driver reported Xid 79", 79});
  EXPECT_EQ(message.ShortDebugString(),
            "device_id: \"3\" kind: \"xid\" unix_ns: 7 text: \"the driver reported Xid 79\" value: 79");
}

}  // namespace
}  // namespace kprof
