#include "daemon/capture/tools.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kprof {
namespace {

using testing::HasSubstr;

constexpr ToolOption kOptions[] = {
    {.name = "set", .type = ToolOptionType::kText, .usual = "base", .meaning = "which metrics"},
    {.name = "launch-count", .type = ToolOptionType::kInteger, .usual = "", .meaning = "how many launches"},
    {.name = "delta", .type = ToolOptionType::kNumber, .usual = "", .meaning = "what counts as a difference"},
    {.name = "source", .type = ToolOptionType::kSwitch, .usual = "false", .meaning = "with source lines"},
};
constexpr Tool kSample{
    .name = "sample", .summary = "a tool of the test", .needs = {}, .options = kOptions, .outputs = {}};

TEST(Tools, FindsCommandAndNothingElse) {
  ASSERT_NE(FindTool("command"), nullptr);
  EXPECT_EQ(FindTool("command")->name, "command");
  EXPECT_EQ(FindTool("Command"), nullptr);
  EXPECT_EQ(FindTool(""), nullptr);
  EXPECT_THAT(ToolNames(), HasSubstr("command"));
}

TEST(Tools, EachRowIsWhole) {
  for (const Tool* tool : AllTools()) {
    EXPECT_FALSE(tool->summary.empty()) << tool->name;
    EXPECT_NE(tool->plan, nullptr) << tool->name;
    for (const ToolOption& option : tool->options) EXPECT_FALSE(option.meaning.empty()) << option.name;
    for (const ToolOutput& output : tool->outputs) EXPECT_FALSE(output.glob.empty()) << tool->name;
  }
}

TEST(ToolOptions, HaveTheirUsualValues) {
  Result<ToolOptions> options = ReadToolOptions(kSample, {"launch-count=3"});
  ASSERT_TRUE(options.ok()) << options.status().ToString();
  EXPECT_EQ((*options)["set"], "base");
  EXPECT_EQ((*options)["launch-count"], "3");
  EXPECT_EQ((*options)["delta"], "");
  EXPECT_EQ((*options)["source"], "false");
}

TEST(ToolOptions, TakeValuesWithEqualsSigns) {
  Result<ToolOptions> options = ReadToolOptions(kSample, {"set=a=b"});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ((*options)["set"], "a=b");
}

struct BadOption {
  const char* given;
  const char* why;
};
class BadOptions : public testing::TestWithParam<BadOption> {};

TEST_P(BadOptions, AreRefusedByName) {
  Result<ToolOptions> options = ReadToolOptions(kSample, {"set=x", GetParam().given});
  ASSERT_FALSE(options.ok());
  EXPECT_EQ(options.status().code(), ErrorCode::kUsage);
  EXPECT_THAT(options.status().ToString(), HasSubstr(GetParam().why));
}

INSTANTIATE_TEST_SUITE_P(All, BadOptions,
                         testing::Values(BadOption{"sets=x", "no option '--sets'"}, BadOption{"set=y", "given twice"},
                                         BadOption{"source", "no option"}, BadOption{"", "no option"},
                                         BadOption{"source=yes", "neither true nor false"},
                                         BadOption{"launch-count=3x", "no whole number"},
                                         BadOption{"launch-count=", "no whole number"},
                                         BadOption{"launch-count=99999999999999999999", "no whole number"},
                                         BadOption{"delta=1,5", "no number"}));

TEST(ToolOptions, NamesThoseThatThereAre) {
  EXPECT_THAT(ReadToolOptions(kSample, {"x=1"}).status().remedy(),
              HasSubstr("--set, --launch-count, --delta, --source"));
  EXPECT_THAT(ReadToolOptions(*FindTool("command"), {"x=1"}).status().remedy(), HasSubstr("no options of its own"));
}

TEST(CommandTool, RefusesToRunNothing) {
  const Tool& tool = *FindTool("command");
  EXPECT_EQ(CheckToolRequest(tool, {}, {}).code(), ErrorCode::kUsage);
  EXPECT_EQ(CheckToolRequest(tool, {""}, {}).code(), ErrorCode::kUsage);
  EXPECT_TRUE(CheckToolRequest(tool, {"prog"}, {}).ok());
}

TEST(CommandTool, RunsTheCommandAsItIs) {
  const Tool& tool = *FindTool("command");
  LaunchRequest request;
  request.argv = {"prog", "a b", "\xff"};
  request.environment = {"A=1"};
  request.cwd = "/";
  const ToolOptions options;
  Result<ToolPlan> plan = tool.plan({request, options, "/tmp/x"});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->argv, request.argv);
  EXPECT_EQ(plan->environment, request.environment);
  EXPECT_TRUE(plan->after.empty());
}

}  // namespace
}  // namespace kprof
