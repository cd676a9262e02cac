#include "daemon/systemd/service_manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/fakes/base/fake_clock.h"

namespace kprof {
namespace {

using testing::HasSubstr;

TEST(ServiceManager, IsNobodyUnderAShell) {
  FakeClock clock;
  Result<ServiceManager> manager = MeetServiceManager(clock);
  ASSERT_TRUE(manager.ok()) << manager.status().ToString();
  EXPECT_FALSE(manager->notifier.listened_to());
  EXPECT_EQ(manager->watchdog_timeout_ns, 0);
}

TEST(ServiceManager, SaysWhereItListensAndHowLongItWaits) {
  FakeClock clock;
  ::setenv("NOTIFY_SOCKET", "/run/systemd/notify", 1);
  ::setenv("WATCHDOG_USEC", "60000000", 1);
  ::setenv("WATCHDOG_PID", std::to_string(::getpid()).c_str(), 1);
  Result<ServiceManager> manager = MeetServiceManager(clock);
  ASSERT_TRUE(manager.ok()) << manager.status().ToString();
  EXPECT_TRUE(manager->notifier.listened_to());
  EXPECT_EQ(manager->watchdog_timeout_ns, 60 * kNanosPerSecond);
  for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) {
    EXPECT_EQ(std::getenv(name), nullptr) << name;
  }
}

TEST(ServiceManager, WatchesSomebodyElse) {
  FakeClock clock;
  ::setenv("WATCHDOG_USEC", "60000000", 1);
  ::setenv("WATCHDOG_PID", std::to_string(::getppid()).c_str(), 1);
  EXPECT_EQ(MeetServiceManager(clock)->watchdog_timeout_ns, 0);
}

TEST(ServiceManager, IsNotUnderstoodWhenItsNumbersAreNone) {
  FakeClock clock;
  for (const char* usec : {"soon", "-5", "9223372036854775807"}) {
    ::setenv("WATCHDOG_USEC", usec, 1);
    EXPECT_THAT(MeetServiceManager(clock).status().ToString(), HasSubstr("WATCHDOG_USEC")) << usec;
  }
}

}  // namespace
}  // namespace kprof
