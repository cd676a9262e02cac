#include "client/cli/find_daemon.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace kprof::cli {
namespace {

using testing::ElementsAre;

GetVariable From(std::map<std::string, std::string> variables) {
  return [variables](const char* name) -> std::optional<std::string> {
    auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
}

TEST(FindDaemon, TakesTheNamedOneAlone) {
  EXPECT_THAT(SocketCandidates("/named", From({{"KPROF_SOCKET", "/env"}})), ElementsAre("/named"));
  EXPECT_THAT(SocketCandidates("", From({{"KPROF_SOCKET", "/env"}, {"HOME", "/h"}})), ElementsAre("/env"));
}

TEST(FindDaemon, LooksAtTheUsersPlacesThenTheSystems) {
  EXPECT_THAT(
      SocketCandidates("", From({{"XDG_RUNTIME_DIR", "/run/user/1"}, {"HOME", "/h"}})),
      ElementsAre("/run/user/1/kprof/kprofd.sock", "/h/.local/state/kprof/kprofd.sock", "/run/kprofd/kprofd.sock"));
  EXPECT_THAT(SocketCandidates("", From({{"XDG_STATE_HOME", "/state"}, {"HOME", "/h"}})),
              ElementsAre("/state/kprof/kprofd.sock", "/run/kprofd/kprofd.sock"));
  EXPECT_THAT(SocketCandidates("", From({})), ElementsAre("/run/kprofd/kprofd.sock"));
}

TEST(FindDaemon, WithNoneSaysWhereItLookedAndHowToStartOne) {
  Status status = ConnectToDaemon({"/nowhere/a", "/nowhere/b"}).status();
  EXPECT_EQ(status.code(), ErrorCode::kNoDaemon);
  EXPECT_EQ(status.ToString(), "reach kprofd: no daemon at /nowhere/a, /nowhere/b; start one with 'kprofd --user'");
  EXPECT_EQ(ConnectToDaemon({"/nowhere/a"}).status().ToString(),
            "reach kprofd: no daemon at /nowhere/a (No such file or directory); start one with 'kprofd --user'");
}

TEST(FindDaemon, RefusesAPathThatNoSocketCanHave) {
  EXPECT_EQ(ConnectToDaemon({std::string(200, 'x')}).status().code(), ErrorCode::kUsage);
}

}  // namespace
}  // namespace kprof::cli
