#include "daemon/systemd/watchdog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "tests/fakes/base/fake_clock.h"
#include "tests/fakes/base/temporary_folder.h"
#include "tests/fakes/systemd/fake_service_manager.h"

namespace kprof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class WatchdogTest : public testing::Test {
 protected:
  WatchedPart Part(std::string name, std::function<void()>& question) {
    return {std::move(name), [&question](std::function<void()> answer) { question = std::move(answer); },
            [] { return 0; }};
  }
  static WatchedPart Healthy() {
    return {"healthy", [](const std::function<void()>& answer) { answer(); }, [] { return 0; }};
  }

  const TemporaryFolder folder_;
  FakeClock clock_;
  FakeServiceManager manager_{folder_ / "notify"};
  ServiceNotifier notifier_{manager_.address(), clock_};
};

TEST_F(WatchdogTest, PingsWhileAllPartsAnswer) {
  Watchdog watchdog({Healthy(), Healthy()}, notifier_);
  watchdog.Look();
  watchdog.Look();
  EXPECT_THAT(manager_.TakeMessages(), ElementsAre("WATCHDOG=1", "WATCHDOG=1"));
}

TEST_F(WatchdogTest, IsSilentWhileOnePartIsStuckAndSaysOnceWhich) {
  std::function<void()> answer;
  Watchdog watchdog({Healthy(), Part("writer", answer)}, notifier_);
  watchdog.Look();
  (void)manager_.TakeMessages();
  testing::internal::CaptureStderr();
  watchdog.Look();
  watchdog.Look();
  EXPECT_THAT(manager_.TakeMessages(), IsEmpty());
  answer();
  watchdog.Look();
  EXPECT_THAT(manager_.TakeMessages(), ElementsAre("WATCHDOG=1"));
  const std::string log = testing::internal::GetCapturedStderr();
  const std::string complaint = "its watchdog gets no answer part=writer\n";
  EXPECT_THAT(log, HasSubstr(complaint));
  EXPECT_THAT(log.substr(log.find(complaint) + complaint.size()), Not(HasSubstr(complaint)));
  EXPECT_THAT(log, HasSubstr("goes on part=writer\n"));
}

TEST_F(WatchdogTest, LooksByItselfAgainAndAgain) {
  Watchdog watchdog({Healthy()}, notifier_);
  watchdog.Begin(4 * kNanosPerMilli);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(manager_.AwaitMessage(), "WATCHDOG=1");
}

TEST_F(WatchdogTest, EndsWithoutWaitingForWhomeverIsStuck) {
  std::function<void()> never;
  Watchdog watchdog({Part("io loop", never)}, notifier_);
  watchdog.Begin(3600 * kNanosPerSecond);
  EXPECT_EQ(manager_.AwaitMessage(), "WATCHDOG=1");
}

}  // namespace
}  // namespace kprof
