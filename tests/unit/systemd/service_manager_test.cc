#include "daemon/systemd/service_manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/fakes/base/fake_clock.h"
#include "tests/fakes/systemd/fake_service_manager.h"

namespace kprof {
namespace {

using testing::HasSubstr;

TEST(ServiceManager, IsNobodyUnderAShell) {
  FakeClock clock;
  Result<ServiceManager> manager = MeetServiceManager(clock);
  ASSERT_TRUE(manager.ok()) << manager.status().ToString();
  EXPECT_TRUE(manager->notifier.Ping().ok());
  EXPECT_EQ(manager->watchdog_timeout_ns, 0);
}

TEST(ServiceManager, SaysWhereItListensAndHowLongItWaits) {
  FakeClock clock;
  FakeServiceManager listener("@kprof-test-" + std::to_string(::getpid()));
  ::setenv("NOTIFY_SOCKET", listener.address().c_str(), 1);
  ::setenv("WATCHDOG_USEC", "60000000", 1);
  ::setenv("WATCHDOG_PID", std::to_string(::getpid()).c_str(), 1);
  Result<ServiceManager> manager = MeetServiceManager(clock);
  ASSERT_TRUE(manager.ok()) << manager.status().ToString();
  EXPECT_TRUE(manager->notifier.Ping().ok());
  EXPECT_THAT(listener.TakeMessages(), testing::ElementsAre("WATCHDOG=1"));
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
