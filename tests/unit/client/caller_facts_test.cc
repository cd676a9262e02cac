#include "client/cli/verbs/foreground_launch.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cstdlib>

namespace kprof::cli {
namespace {

TEST(CallerFacts, AreThoseOfThisProcess) {
  ::setenv("KPROF_TEST_VARIABLE", "a=b\xff", 1);
  mode_t before = ::umask(027);
  CallerFacts facts = ReadCallerFacts();
  EXPECT_EQ(facts.environment.at("KPROF_TEST_VARIABLE"), "a=b\xff");
  EXPECT_EQ(facts.umask, 027u);
  EXPECT_EQ(::umask(before), 027u);
  EXPECT_EQ(facts.cwd.front(), '/');
  rlimit files = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  ASSERT_EQ(facts.limits.size(), static_cast<size_t>(RLIM_NLIMITS));
  EXPECT_EQ(facts.limits[RLIMIT_NOFILE].resource(), RLIMIT_NOFILE);
  EXPECT_EQ(facts.limits[RLIMIT_NOFILE].soft(), files.rlim_cur);
  EXPECT_EQ(facts.limits[RLIMIT_NOFILE].hard(), files.rlim_max);
}

TEST(CallerFacts, EnvSetsOrInsists) {
  std::map<std::string, std::string> environment = {{"A", "1"}, {"B", "2"}};
  ASSERT_TRUE(ApplyEnvironment({"A=3", "B", "C=x=y", "D="}, environment).ok());
  EXPECT_EQ(environment, (std::map<std::string, std::string>{{"A", "3"}, {"B", "2"}, {"C", "x=y"}, {"D", ""}}));
}

TEST(CallerFacts, EnvWithoutANameOrAValueIsRefused) {
  std::map<std::string, std::string> environment;
  EXPECT_EQ(ApplyEnvironment({"=x"}, environment).code(), ErrorCode::kUsage);
  EXPECT_EQ(ApplyEnvironment({""}, environment).code(), ErrorCode::kUsage);
  EXPECT_EQ(ApplyEnvironment({"X"}, environment).ToString(),
            "read --env 'X': the variable is not set here; write X=VALUE");
}

TEST(CallerFacts, CwdIsMadeAbsolute) {
  CallerFacts caller;
  EXPECT_EQ(ResolveCwd("", caller).status().code(), ErrorCode::kUsage);
  EXPECT_EQ(ResolveCwd("/abs", caller).value(), "/abs");
  caller.cwd = "/home/u";
  EXPECT_EQ(ResolveCwd("", caller).value(), "/home/u");
  EXPECT_EQ(ResolveCwd("work", caller).value(), "/home/u/work");
}

TEST(CallerFacts, OnAnotherNodeNothingOfThisShellHolds) {
  CallerFacts here;
  here.environment = {{"PATH", "/opt/mine"}, {"HOME", "/home/u"}, {"TOKEN", "secret"}, {"WANTED", "w"}};
  here.cwd = "/home/u";
  here.umask = 077;
  here.limits.emplace_back();
  Result<CallerFacts> there = FactsForNode({"A=1", "WANTED"}, "", here);
  ASSERT_TRUE(there.ok()) << there.status().ToString();
  EXPECT_EQ(there->environment, (std::map<std::string, std::string>{
                                    {"A", "1"}, {"PATH", "/usr/local/bin:/usr/bin:/bin"}, {"WANTED", "w"}}));
  EXPECT_EQ(there->cwd, "/");
  EXPECT_EQ(there->umask, 022u);
  EXPECT_TRUE(there->limits.empty());
  EXPECT_EQ(FactsForNode({"PATH"}, "", here)->environment.at("PATH"), "/opt/mine");
  EXPECT_EQ(FactsForNode({}, "/data", here)->cwd, "/data");
  EXPECT_EQ(FactsForNode({}, "data", here).status().code(), ErrorCode::kUsage);
  EXPECT_EQ(FactsForNode({"ABSENT"}, "", here).status().code(), ErrorCode::kUsage);
}

}  // namespace
}  // namespace kprof::cli
