#include "client/cli/waiting/queue_place.h"

#include <gtest/gtest.h>

namespace kprof::cli {
namespace {

constexpr uint32_t kUs = 1000;

class DeviceHolders : public testing::Test {
 protected:
  DeviceHolders() {
    for (const char* id : {"0", "1", "2"}) {
      devices_.add_devices()->set_id(id);
      run_.add_devices(id);
      session_.add_devices(id);
    }
    run_.set_uid(kUs);
    session_.set_uid(kUs);
  }

  v1::Device& Held(int device) {
    v1::Device& held = *devices_.mutable_devices(device);
    held.set_held_since_unix_ns(1);
    return held;
  }
  void HeldBySession(int device, const std::string& id, uint32_t uid) {
    Held(device).set_session_id(id);
    Held(device).set_session_uid(uid);
  }
  void HeldByRun(int device, const std::string& id, uint32_t uid) {
    Held(device).set_run_id(id);
    Held(device).set_run_uid(uid);
  }

  v1::ListDevicesResponse devices_;
  v1::Run run_;
  v1::Session session_;
};

TEST_F(DeviceHolders, AreNamedToWhomTheyBelong) {
  HeldBySession(1, "01se", kUs);
  EXPECT_EQ(WaitsFor(run_, devices_, true), "for device 1, which your session 01se holds");
  EXPECT_EQ(WaitsFor(session_, devices_, true), "for device 1, which your session 01se holds");
  EXPECT_EQ(WaitsFor(run_, devices_, false), "for device 1, which session 01se of uid 1000 holds");
}

TEST_F(DeviceHolders, AreSomebodyElseWhereOneMayNotKnow) {
  Held(0);
  EXPECT_EQ(WaitsFor(run_, devices_, true), "for device 0, which somebody else holds");
}

TEST_F(DeviceHolders, AreNamedOnceEach) {
  HeldBySession(0, "01se", kUs);
  HeldByRun(1, "01ru", 2000);
  HeldBySession(2, "01se", kUs);
  EXPECT_EQ(WaitsFor(session_, devices_, true),
            "for devices 0,2, which your session 01se holds and for device 1, which run 01ru of uid 2000 holds");
}

TEST_F(DeviceHolders, OfOtherDevicesOrOfNoneAreNotNamed) {
  EXPECT_EQ(WaitsFor(run_, devices_, true), "");
  run_.clear_devices();
  Held(0);
  EXPECT_EQ(WaitsFor(run_, devices_, true), "");
}

TEST_F(DeviceHolders, WithinASessionItIsTheRoundBefore) {
  run_.set_session_id("01se");
  HeldBySession(0, "01se", kUs);
  EXPECT_EQ(WaitsFor(run_, devices_, true), "");
  HeldByRun(0, "01ru", kUs);
  EXPECT_EQ(WaitsFor(run_, devices_, true), "for the round 01ru of its session");
}

}  // namespace
}  // namespace kprof::cli
