#include "daemon/capture/tools.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kprof {
namespace {

TEST(Tools, FindsCommandAndNothingElse) {
  ASSERT_NE(FindTool("command"), nullptr);
  EXPECT_EQ(FindTool("command")->name(), "command");
  EXPECT_EQ(FindTool("Command"), nullptr);
  EXPECT_EQ(FindTool(""), nullptr);
  EXPECT_THAT(ToolNames(), testing::HasSubstr("command"));
}

TEST(CommandTool, RefusesToRunNothing) {
  const Tool& tool = *FindTool("command");
  EXPECT_EQ(tool.Check({}).code(), ErrorCode::kUsage);
  EXPECT_EQ(tool.Check({.argv = {""}}).code(), ErrorCode::kUsage);
}

TEST(CommandTool, RunsTheCommandAsItIs) {
  const Tool& tool = *FindTool("command");
  ToolRequest request{.argv = {"prog", "a b", "\xff"}, .environment = {"A=1"}, .cwd = "/"};
  ASSERT_TRUE(tool.Check(request).ok());
  Result<ToolPlan> plan = tool.Plan(request);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->argv, request.argv);
  EXPECT_EQ(plan->environment, request.environment);
}

}  // namespace
}  // namespace kprof
