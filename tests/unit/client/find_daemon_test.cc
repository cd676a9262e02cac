#include "client/cli/find_daemon.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>

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

TEST(FindDaemon, TakesTheNodeThatIsNamed) {
  GlobalOptions options;
  options.node = "node-7:7443";
  options.ca = "/ca";
  const std::map<std::string, std::string> variables = {
      {"KPROF_NODE", "other:1"}, {"KPROF_CA", "/e/ca"}, {"KPROF_CERT", "/e/cert"}, {"KPROF_KEY", "/e/key"}};
  Result<std::optional<NodeAddress>> node = ChooseNode(options, From(variables));
  ASSERT_TRUE(node.ok()) << node.status().ToString();
  EXPECT_EQ(*node, (NodeAddress{"node-7", "7443", "/ca", "/e/cert", "/e/key"}));
  EXPECT_EQ((*ChooseNode({}, From(variables)))->host, "other");
}

TEST(FindDaemon, ASocketThatIsNamedComesBeforeTheVariableOfANode) {
  GlobalOptions options;
  options.socket = "/s";
  EXPECT_EQ(*ChooseNode(options, From({{"KPROF_NODE", "n:1"}})), std::nullopt);
  EXPECT_EQ(*ChooseNode({}, From({{"KPROF_NODE", "n:1"}, {"KPROF_SOCKET", "/s"}})), std::nullopt);
  EXPECT_EQ(*ChooseNode({}, From({})), std::nullopt);
}

TEST(FindDaemon, RefusesWhatMakesNoSenseTogether) {
  GlobalOptions both;
  both.socket = "/s";
  both.node = "n:1";
  EXPECT_EQ(ChooseNode(both, From({})).status().code(), ErrorCode::kUsage);
  GlobalOptions files_alone;
  files_alone.cert = "/c";
  EXPECT_EQ(ChooseNode(files_alone, From({})).status().code(), ErrorCode::kUsage);
}

TEST(FindDaemon, ANodeIsAHostAndAPort) {
  NodeAddress address;
  ASSERT_TRUE(ParseNode("[2001:db8::7]:7443", address).ok());
  EXPECT_EQ(address.host, "2001:db8::7");
  EXPECT_EQ(address.Text(), "[2001:db8::7]:7443");
  for (const char* text : {"", "node", "node:", ":1", "node:0", "node:65536", "node:1x", "::1:7443", "[]:1", "a b:1",
                           "https://node:1", "node:-1", "node:+1"}) {
    EXPECT_EQ(ParseNode(text, address).code(), ErrorCode::kUsage) << text;
  }
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
