#include "daemon/systemd/service_manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/fakes/base/fake_clock.h"
#include "tests/fakes/base/temporary_folder.h"
#include "tests/fakes/systemd/fake_service_manager.h"

namespace kprof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ServiceNotifierTest : public testing::Test {
 protected:
  const TemporaryFolder folder_;
  FakeClock clock_;
  FakeServiceManager manager_{folder_ / "notify"};
  ServiceNotifier notifier_{manager_.address(), clock_};
};

TEST_F(ServiceNotifierTest, SaysEachThingInTheWordsOfTheProtocol) {
  clock_.SetMono(12'345'678'900);
  EXPECT_TRUE(notifier_.Ready("serving").ok());
  EXPECT_TRUE(notifier_.Reloading().ok());
  EXPECT_TRUE(notifier_.Ping().ok());
  EXPECT_TRUE(notifier_.Stopping("ending 3 runs").ok());
  EXPECT_THAT(manager_.TakeMessages(), ElementsAre("READY=1\nSTATUS=serving", "RELOADING=1\nMONOTONIC_USEC=12345678",
                                                   "WATCHDOG=1", "STOPPING=1\nSTATUS=ending 3 runs"));
}

TEST_F(ServiceNotifierTest, AStatusStaysOneLine) {
  EXPECT_TRUE(notifier_.Ready("a\nWATCHDOG=trigger\r\x7f").ok());
  EXPECT_THAT(manager_.TakeMessages(), ElementsAre("READY=1\nSTATUS=a WATCHDOG=trigger  "));
}

TEST_F(ServiceNotifierTest, FindsAnAbstractName) {
  FakeServiceManager manager("@kprof-test-" + std::to_string(::getpid()));
  ServiceNotifier notifier(manager.address(), clock_);
  EXPECT_TRUE(notifier.Ping().ok());
  EXPECT_THAT(manager.TakeMessages(), ElementsAre("WATCHDOG=1"));
}

TEST_F(ServiceNotifierTest, SaysNothingWhereNobodyListens) {
  ServiceNotifier notifier("", clock_);
  EXPECT_TRUE(notifier.Ready("serving").ok());
  EXPECT_THAT(manager_.TakeMessages(), IsEmpty());
}

TEST_F(ServiceNotifierTest, FailsWhereItsAddressIsNoneOrLeadsNowhere) {
  for (const std::string& address : {folder_ / "nobody", std::string("relative"), "/" + std::string(200, 'x')}) {
    EXPECT_THAT(ServiceNotifier(address, clock_).Ping().ToString(), HasSubstr("WATCHDOG=1")) << address;
    EXPECT_FALSE(ServiceNotifier(address, clock_).Ping().ok()) << address;
  }
}

TEST_F(ServiceNotifierTest, DoesNotWaitToPingAManagerThatDoesNotRead) {
  Status last;
  for (int i = 0; i < 100'000 && last.ok(); ++i) last = notifier_.Ping();
  EXPECT_FALSE(last.ok());
  EXPECT_THAT(manager_.TakeMessages(), testing::Contains("WATCHDOG=1"));
  EXPECT_TRUE(notifier_.Ping().ok());
}

}  // namespace
}  // namespace kprof
