#include "daemon/process/launchers.h"

#include <gtest/gtest.h>

#include "tests/fakes/process/fake_launcher.h"

namespace kprof {
namespace {

TEST(Launchers, SendEachLaunchToItsWay) {
  FakeLauncher daemon;
  FakeLauncher client;
  FakeLauncher helper;
  Launchers launchers({&daemon, &client, &helper});
  EXPECT_TRUE(launchers.Launch({}, {LaunchAs::By::kClient, 7}, "a", {}, {}).ok());
  EXPECT_TRUE(launchers.Launch({}, {LaunchAs::By::kHelper, 8}, "b", {}, {}).ok());
  EXPECT_TRUE(launchers.Launch({}, {LaunchAs::By::kDaemon, 9}, "c", {}, {}).ok());
  EXPECT_EQ(client.last().as.uid, 7);
  EXPECT_EQ(helper.last().marker, "b");
  EXPECT_EQ(daemon.last().marker, "c");
}

TEST(Launchers, RefuseAWayThatIsNotThere) {
  FakeLauncher client;
  Launchers launchers({.client = &client});
  EXPECT_EQ(launchers.Launch({}, {LaunchAs::By::kDaemon, 7}, "a", {}, {}).status().code(), ErrorCode::kSpawnFailed);
  EXPECT_EQ(client.count(), 0);
}

}  // namespace
}  // namespace kprof
