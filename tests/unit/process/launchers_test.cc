#include "daemon/process/launchers/launcher.h"

#include <gtest/gtest.h>

#include <optional>

#include "tests/fakes/base/fake_clock.h"
#include "tests/fakes/process/fake_launcher.h"

namespace kprof {
namespace {

TEST(Launchers, SendEachLaunchToItsWay) {
  FakeLauncher daemon;
  FakeLauncher client;
  FakeLauncher helper;
  FakeClock clock;
  IoLoop loop(clock);
  Launchers launchers(loop, {&daemon, &client, &helper});
  EXPECT_TRUE(launchers.Launch({}, {RunStarter::kClient, 7}, "a", {}, {}).ok());
  EXPECT_TRUE(launchers.Launch({}, {RunStarter::kHelper, 8}, "b", {}, {}).ok());
  EXPECT_TRUE(launchers.Launch({}, {RunStarter::kDaemon, 9}, "c", {}, {}).ok());
  EXPECT_EQ(client.last().as.uid, 7);
  EXPECT_EQ(helper.last().marker, "b");
  EXPECT_EQ(daemon.last().marker, "c");
}

TEST(Launchers, RefuseAWayThatIsNotThere) {
  FakeLauncher client;
  FakeClock clock;
  IoLoop loop(clock);
  Launchers launchers(loop, {.client = &client});
  EXPECT_EQ(launchers.Launch({}, {RunStarter::kDaemon, 7}, "a", {}, {}).status().code(), ErrorCode::kSpawnFailed);
  EXPECT_EQ(client.count(), 0);
}

TEST(Launchers, SendWhatAKilledDaemonLeftToTheWayThatStartedIt) {
  FakeLauncher client;
  FakeClock clock;
  IoLoop loop(clock);
  Launchers launchers(loop, {.client = &client});
  launchers.EndRemains({RunStarter::kClient, 7}, "a", {}, [](const Status&) {});
  ASSERT_EQ(client.remains.size(), 1);
  EXPECT_EQ(client.remains[0].marker, "a");
  std::optional<Status> ended;
  launchers.EndRemains({RunStarter::kHelper, 7}, "b", {}, [&](const Status& status) { ended = status; });
  EXPECT_FALSE(ended);
  loop.RunUntilIdle();
  EXPECT_EQ(ended->code(), ErrorCode::kSpawnFailed) << "nobody here can end it";
}

}  // namespace
}  // namespace kprof
