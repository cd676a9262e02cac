#include "client/cli/grammar/command_line.h"

#include <gtest/gtest.h>

namespace kprof::cli {
namespace {

using LaterArgs = std::vector<std::string>;

TEST(LaterVersions, AreToldApartFromMistakes) {
  struct Case {
    LaterArgs args;
    const char* what;
  };
  const Case cases[] = {
      {{"--json", "--socket", "s", "node", "status"}, "the verb 'node'"},
      {{"open", "a"}, "the verb 'open'"},
  };
  for (const Case& c : cases) {
    Result<CommandLine> line = ParseCommandLine(c.args);
    ASSERT_FALSE(line.ok()) << c.what;
    EXPECT_EQ(line.status().code(), ErrorCode::kUsage) << c.what;
    EXPECT_EQ(line.status().why(), std::string(c.what) + " is not part of this version of kprofctl");
    EXPECT_NE(line.status().remedy(), "") << c.what;
  }
}

TEST(LaterVersions, DoNotStandInTheWayOfThisOne) {
  const LaterArgs cases[] = {
      {"capture", "command", "--clocks", "lock", "--", "a", "--baseline", "3", "--kernel", "k"},
      {"capture", "ncu", "--kernel", "k", "--version", "v4", "--params", "{}", "--baseline", "@last", "--", "a"},
      {"capture", "command", "--clocks=lock!", "--label", "priority=3", "--label=--kernel=1", "--", "a"},
      {"query", "--", "--run"},
      {"show", "session"},
      {"--version"},
  };
  for (const LaterArgs& args : cases) {
    Result<CommandLine> line = ParseCommandLine(args);
    EXPECT_TRUE(line.ok()) << line.status().ToString();
  }
}

TEST(LaterVersions, HaveNoVerbThatIsHere) {
  for (const CommandDescription& verb : DescribeCommandLine().commands) {
    EXPECT_TRUE(CheckNotOfLaterVersion(verb.name, {verb.name}).ok()) << verb.name;
  }
}

}  // namespace
}  // namespace kprof::cli
