#include "daemon/exports/environment_names.h"

#include <gtest/gtest.h>

namespace kprof {
namespace {

TEST(EnvironmentNamesTest, NamesOfEnvironmentsAreKnownHoweverTheyAreWritten) {
  for (const char* name : {"env", "ENV", "environ", "environment", "Environment", "environment_variables",
                           "EnvironmentVariables", "env_vars", "envVars", "env-vars"}) {
    EXPECT_TRUE(IsEnvironmentName(name)) << name;
  }
}

TEST(EnvironmentNamesTest, OtherNamesStay) {
  for (const char* name : {"", "envelope", "envoy", "deviceProperties", "name", "environmental"}) {
    EXPECT_FALSE(IsEnvironmentName(name)) << name;
  }
}

TEST(EnvironmentNamesTest, MembersGoAtAnyDepthAndAllElseStays) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"env":{"A":"}"},"b":1})", R"({"b":1})"},
      {R"({"a":1,"env":["x","]"]})", R"({"a":1})"},
      {R"({"env":1})", R"({})"},
      {R"([{"a":{"ENV":"x\"y","c":"env"}},"env"])", R"([{"a":{"c":"env"}},"env"])"},
      {R"({"\u0065nv":1,"d":2,"environ":3,"e":4})", R"({"d":2,"e":4})"},
      {R"({"env": 1, "b" : 2})", R"({"b" : 2})"},
      {R"({"a":"env","b":{"c":1}})", R"({"a":"env","b":{"c":1}})"},
  };
  for (const auto& [json, expected] : cases) EXPECT_EQ(WithoutEnvironment(json), expected) << json;
}

TEST(EnvironmentNamesTest, TextThatIsCutOffIsNoFault) {
  for (const char* json : {"", "{", "{\"env", "{\"env\"", "{\"env\":", "{\"env\":\"\\", "}}", "[\"", "{\"env\":{\""}) {
    WithoutEnvironment(json);
  }
}

}  // namespace
}  // namespace kprof
