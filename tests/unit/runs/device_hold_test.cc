#include "daemon/runs/command/device_hold.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include <chrono>
#include <thread>

#include "daemon/base/user_names.h"
#include "storage/base/descriptors.h"
#include "tests/unit/runs/runs_fixture.h"

namespace kprof {
namespace {

class DeviceStayTest : public RunsFixture, public testing::Test {
 protected:
  void SetUp() override {
    const Status opened = Open();
    ASSERT_TRUE(opened.ok()) << opened.ToString();
    lock_.Reset(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
    ASSERT_EQ(::flock(lock_.get(), LOCK_EX), 0);
    row_.id = "run";
    row_.clocks = "none";
  }
  RunContext Parts() {
    RunContext parts{*loop_,    clock_,     *workers_, *workers_, *workers_, disk_.files,
                     *catalog_, *launcher_, devices_,  output_,   observer_};
    parts.user_names = &(users_ = std::make_unique<UserNames>(*loop_)).operator*();
    return parts;
  }
  void Prepare(DeviceHold& stay) {
    stay.Prepare({.profilers_paused = false, .ncu_locks = {path_}},
                 [this](const DeviceHold::Ready& ready) { ready_ = ready; });
  }

  // Time passes no faster than the thread that looks at the lock.
  bool IsReadyAfterMore() {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    Pass(5);
    return ready_.has_value();
  }

  const std::string path_ = folder_ / "nsight-compute-lock";
  UniqueFd lock_;
  RunRow row_;
  std::unique_ptr<UserNames> users_;
  std::optional<DeviceHold::Ready> ready_;
};

TEST_F(DeviceStayTest, WaitsUntilNobodyHasNcusLock) {
  DeviceHold stay(Parts(), row_);
  Prepare(stay);
  loop_->RunUntilIdle();
  EXPECT_FALSE(ready_);
  lock_.Reset();
  ASSERT_TRUE(Until([&] { return IsReadyAfterMore(); }));
  EXPECT_TRUE(ready_->refused.ok()) << ready_->refused.ToString();
}

TEST_F(DeviceStayTest, RefusesWhereNcusLockIsHeldForTheQueueTimeout) {
  row_.queue_timeout_ms = 1000;
  DeviceHold stay(Parts(), row_);
  Prepare(stay);
  ASSERT_TRUE(Until([&] { return IsReadyAfterMore(); }));
  EXPECT_EQ(ready_->refused.code(), ErrorCode::kQueueTimeout);
}

TEST_F(DeviceStayTest, WaitsForNoLockWhenItIsToEnd) {
  DeviceHold stay(Parts(), row_);
  Prepare(stay);
  loop_->RunUntilIdle();
  stay.Hurry();
  EXPECT_TRUE(Until([&] { return ready_.has_value(); }));
}

// Its supervisor died while it was being prepared for it.
TEST_F(DeviceStayTest, IsNeverReadyOnceItIsOver) {
  DeviceHold stay(Parts(), row_);
  Prepare(stay);
  loop_->RunUntilIdle();
  bool ended = false;
  stay.End([&](const WatchedDevices&) { ended = true; });
  ASSERT_TRUE(Until([&] { return ended; }));
  lock_.Reset();
  for (int i = 0; i < 8; ++i) Pass(250);
  EXPECT_FALSE(ready_);
}

}  // namespace
}  // namespace kprof
