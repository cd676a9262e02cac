#include "daemon/ingest/environment_names.h"

#include <gtest/gtest.h>

#include "daemon/ingest/json_text.h"

namespace kprof {
namespace {

TEST(EnvironmentNamesTest, NamesOfEnvironmentsAreKnownHoweverTheyAreWritten) {
  for (const char* name :
       {"env", "ENV", "environ", "environment", "Environment", "environment_variables", "EnvironmentVariables",
        "env_vars", "envVars", "env-vars", "Environment Variables", "metadata.env.AWS_SECRET_ACCESS_KEY",
        "PROCESS_0:ENVIRONMENT_VARIABLE", "os.environ", "process_env", "processEnvironment"}) {
    EXPECT_TRUE(IsEnvironmentName(name)) << name;
  }
}

TEST(EnvironmentNamesTest, OtherNamesStay) {
  for (const char* name :
       {"", "envelope", "envoy", "deviceProperties", "name", "environmental", "num_envs", "env_step", "."}) {
    EXPECT_FALSE(IsEnvironmentName(name)) << name;
  }
}

TEST(EnvironmentNamesTest, OfWhatHoldsMoreTheLastWordDecides) {
  for (const char* name : {"env", "worker_env", "user_environment", "process.env", "my.worker_env", "WORKER_ENV",
                           "workerEnv", "CUDAEnv", "my_env_vars", "launchEnvVars", "runtime-environment-variables",
                           "child environ", "worker_env.HOME", "a__env_"}) {
    EXPECT_TRUE(EndsInEnvironmentName(name)) << name;
  }
  for (const char* name : {"", "_", ".", "envelope", "environment_id", "env_step", "num_envs", "n_environments", "venv",
                           "environmental", "inventory", "envoy_name", "ENVELOPE", "sevenEnvelopes"}) {
    EXPECT_FALSE(EndsInEnvironmentName(name)) << name;
  }
}

TEST(EnvironmentNamesTest, OfTablesAndColumnsEachWordCounts) {
  for (const char* name : {"UNKNOWN_ENV", "TARGET_INFO_PROCESS_ENV", "targetEnv", "EnvBlock", "process environment",
                           "ENVIRONMENT_VARIABLES", "a.b_env"}) {
    EXPECT_TRUE(HasEnvironmentWord(name)) << name;
  }
  for (const char* name :
       {"", "ENUM_CUDA", "CUPTI_ACTIVITY_KIND_KERNEL", "EVENT", "envelope", "inventory", "Environs"}) {
    EXPECT_FALSE(HasEnvironmentWord(name)) << name;
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
      {"{\"a\": 1, \"env\": {\"S\": 2}}", R"({"a": 1})"},
      {"{\n  \"a\": 1,\n  \"env\": 2\n}", "{\n  \"a\": 1}"},
      {R"({"a":"env","b":{"c":1}})", R"({"a":"env","b":{"c":1}})"},
      {R"({"worker_env":{"S":1},"my_env": "S=1","num_env":4,"has_env":true})", R"({"num_env":4,"has_env":true})"},
      {R"({"c":"{\"env\":{\"S\":1},\"x\":2}","d":"env"})", R"({"c":"{\"x\":2}","d":"env"})"},
      {R"({"c":["{\"d\":\"{\\\"env\\\":{\\\"S\\\":1}}\"}"]})", R"({"c":["{\"d\":\"{}\"}"]})"},
  };
  for (const auto& [json, expected] : cases) {
    EXPECT_EQ(WithoutEnvironment(json), expected) << json;
    EXPECT_TRUE(MayNameEnvironment(json)) << json;
  }
  for (const char* json : {"", "{}", "[\"env\"]", R"({"grid":[1,2],"nv":1,"vne":2})"}) {
    EXPECT_FALSE(MayNameEnvironment(json)) << json;
  }
}

TEST(EnvironmentNamesTest, OfTextsThatHoldJsonTheMembersGo) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({\"env\": {\"AWS_SECRET\": \"x\"}, \"a\": 1})", R"({\"a\": 1})"},
      {R"(\n [{\"worker_env\":[1]}])", R"(\n [{}])"},
      {R"({\"a\":\"\u00e9\",\"env\":\"cut of)", R"({\"a\":\"\u00e9\")"},
  };
  for (const auto& [text, expected] : cases) {
    const std::optional<std::string> without = TextWithoutEnvironment(text);
    ASSERT_TRUE(without.has_value()) << text;
    EXPECT_EQ(UnescapeJson(*without), UnescapeJson(expected)) << text;
  }
  for (const char* text : {"", "env", "{", "{env}", "void f<{lambda()#1}>(env)", R"(the {\"env\":1})",
                           R"({\"a\":\"env\"})", R"([\"env\",1])", R"({\"envelope\":1})", "[1, 2]", "{\\"}) {
    EXPECT_FALSE(TextWithoutEnvironment(text).has_value()) << text;
  }
}

// As str() of a dict has it.
TEST(EnvironmentNamesTest, OfDictsThatPythonPrintsTheMembersGo) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({'env': {'A': \"it's }\", 'B': 'C:\\\\'}, 'b': (1, 2)})", R"({'b': (1, 2)})"},
      {R"({'a': 1, 'env': environ({'PATH': '/bin', 'S': 'x'})})", R"({'a': 1})"},
      {R"({'a': None, 'worker_env': (('S', 'x'), 1), 'c': b'\\x00{'})", R"({'a': None, 'c': b'\\x00{'})"},
      {R"([{'cmd': 'it', 'environ': b'S=1', 'n': True}])", R"([{'cmd': 'it', 'n': True}])"},
      {R"([0] it's {\"env\": \"S=1\"}, isn't it)", R"([0] it's {}, isn't it)"},
  };
  for (const auto& [text, expected] : cases) {
    const std::optional<std::string> without = TextWithoutEnvironment(text);
    ASSERT_TRUE(without.has_value()) << text;
    EXPECT_EQ(UnescapeJson(*without), UnescapeJson(expected)) << text;
  }
  for (const char* text :
       {R"({'a': 'env'})", R"({'envelope': 1})", R"([0] it's {env}, isn't it)", R"({'a': "'env': 1"})"}) {
    EXPECT_FALSE(TextWithoutEnvironment(text).has_value()) << text;
  }
}

TEST(EnvironmentNamesTest, TextThatIsCutOffIsNoFault) {
  for (const char* json : {"'", "{'", "{'env", "{'env'", "{'env':", "{'env':'\\", "{'env': (", "{b'", "", "{", "{\"env",
                           "{\"env\"", "{\"env\":", "{\"env\":\"\\", "}}", "[\"", "{\"env\":{\""}) {
    WithoutEnvironment(json);
    (void)TextWithoutEnvironment(json);
  }
}

}  // namespace
}  // namespace kprof
