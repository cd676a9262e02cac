#include "daemon/ingest/text/environment_text.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "daemon/ingest/text/json_text.h"

namespace kprof {
namespace {

TEST(EnvironmentTextTest, MembersGoAtAnyDepthAndAllElseStays) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"env":{"A":"}"},"b":1})", R"({"b":1})"},
      {R"({"a":1,"env":["x","]"]})", R"({"a":1})"},
      {R"({"env":["A=1"]})", R"({})"},
      {R"([{"a":{"ENV":"A=x\"y","c":"env"}},"env"])", R"([{"a":{"c":"env"}},"env"])"},
      {R"({"\u0065nv":"A=1","d":2,"environ":"3","e":4})", R"({"d":2,"e":4})"},
      {R"({"env": "A=1", "b" : 2})", R"({"b" : 2})"},
      {"{\"a\": 1, \"env\": {\"S\": 2}}", R"({"a": 1})"},
      {"{\n  \"a\": 1,\n  \"env\": [\"A=2\"]\n}", "{\n  \"a\": 1}"},
      {R"({"a":"env","b":{"c":1}})", R"({"a":"env","b":{"c":1}})"},
      {R"({"worker_env":{"S":1},"my_env": "S=1","num_env":4,"has_env":true})", R"({"num_env":4,"has_env":true})"},
      {R"({"c":"{\"env\":{\"S\":1},\"x\":2}","d":"env"})", R"({"c":"{\"x\":2}","d":"env"})"},
      {R"({"c":["{\"d\":\"{\\\"env\\\":{\\\"S\\\":1}}\"}"]})", R"({"c":["{\"d\":\"{}\"}"]})"},
  };
  for (const auto& [json, expected] : cases) {
    EXPECT_EQ(WithoutEnvironment(json), expected) << json;
    EXPECT_TRUE(MayNameEnvironment(json)) << json;
  }
  for (const char* json : {"", "{}", "env", R"({"grid":[1,2],"nv":1,"vne":2})", R"(["a=1"])"}) {
    EXPECT_FALSE(MayNameEnvironment(json)) << json;
  }
}

TEST(EnvironmentTextTest, OfTextsThatHoldJsonTheMembersGo) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({\"env\": {\"AWS_SECRET\": \"x\"}, \"a\": 1})", R"({\"a\": 1})"},
      {R"(\n [{\"worker_env\":[\"A=1\"]}])", R"(\n [{}])"},
      {R"({\"a\":\"\u00e9\",\"env\":\"CUT=of)", R"({\"a\":\"\u00e9\")"},
  };
  for (const auto& [text, expected] : cases) {
    const std::optional<std::string> without = QuotedWithoutEnvironment(text);
    ASSERT_TRUE(without.has_value()) << text;
    EXPECT_EQ(UnescapeJson(*without), UnescapeJson(expected)) << text;
  }
  for (const char* text : {"", "env", "{", "{env}", "void f<{lambda()#1}>(env)", R"(the {\"env\":1})",
                           R"({\"a\":\"env\"})", R"([\"env\",1])", R"({\"envelope\":1})", "[1, 2]", "{\\"}) {
    EXPECT_FALSE(QuotedWithoutEnvironment(text).has_value()) << text;
  }
}

// As str() of a dict has it.
TEST(EnvironmentTextTest, OfDictsThatPythonPrintsTheMembersGo) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({'env': {'A': \"it's }\", 'B': 'C:\\\\'}, 'b': (1, 2)})", R"({'b': (1, 2)})"},
      {R"({'a': 1, 'env': environ({'PATH': '/bin', 'S': 'x'})})", R"({'a': 1})"},
      {R"({'a': None, 'worker_env': (('S', 'x'), 1), 'c': b'\\x00{'})", R"({'a': None, 'c': b'\\x00{'})"},
      {R"([{'cmd': 'it', 'environ': b'S=1', 'n': True}])", R"([{'cmd': 'it', 'n': True}])"},
      {R"([0] it's {\"env\": \"S=1\"}, isn't it)", R"([0] it's {}, isn't it)"},
  };
  for (const auto& [text, expected] : cases) {
    const std::optional<std::string> without = QuotedWithoutEnvironment(text);
    ASSERT_TRUE(without.has_value()) << text;
    EXPECT_EQ(UnescapeJson(*without), UnescapeJson(expected)) << text;
  }
  for (const char* text :
       {R"({'a': 'env'})", R"({'envelope': 1})", R"([0] it's {env}, isn't it)", R"({'a': "'env': 1"})"}) {
    EXPECT_FALSE(QuotedWithoutEnvironment(text).has_value()) << text;
  }
}

TEST(EnvironmentTextTest, TextThatIsCutOffIsNoFault) {
  for (const char* json : {"'", "{'", "{'env", "{'env'", "{'env':", "{'env':'\\", "{'env': (", "{b'", "", "{", "{\"env",
                           "{\"env\"", "{\"env\":", "{\"env\":\"\\", "}}", "env=(env=(env=(", "[\"", "{\"env\":{\""}) {
    WithoutEnvironment(json);
    (void)QuotedWithoutEnvironment(json);
  }
}

TEST(EnvironmentTextTest, WhatHoldsNoSettingStays) {
  for (const char* json :
       {R"({"env":"CartPole-v1","environment":"prod","num_envs":8,"env_ids":[0,1],"env_step":1.5,"has_env":true})",
        R"({"env":"","env_vars":3,"env_id":null})", R"(["A=1","b"])", R"(["lr=1","bs=2"])",
        R"({"name":"env","value":1})", R"({"name":"env","value":"CartPole-v1"})", R"({"name":"a","value":["A=1"]})"}) {
    EXPECT_EQ(WithoutEnvironment(json), json);
  }
}

TEST(EnvironmentTextTest, AnyWordOfAKeyCountsWhereItHoldsSettings) {
  for (const char* member : {R"("rank_env_map":{"A":"s"})",
                             R"("envs_by_rank":{"0":{"A":"s"}})",
                             R"("env_vars_list":["A=s"])",
                             R"("env_HOME":"s")",
                             R"("environ_HOME":"s")",
                             R"("env.PORT":80)",
                             R"("env_PORT":80)",
                             R"("ENV_TOKEN":"s")",
                             R"("environVars":"s")",
                             R"("envp":"s")",
                             R"("EnvironmentBlock":"A=s")",
                             R"("environment dump":"A=s")",
                             R"("env dict":{"A":"s"})",
                             R"("env":"{'A': 's'}")",
                             R"("env":"x A=s")",
                             R"("ENV":[["A","s"]])",
                             R"("env":{"A":1})",
                             R"("env.http_proxy":"s")",
                             R"("process_env":("A=s",))",
                             R"("env":environ({'A': 's'}))"}) {
    EXPECT_EQ(WithoutEnvironment("{" + std::string(member) + R"(,"b":1})"), R"({"b":1})") << member;
    EXPECT_TRUE(MayNameEnvironment("{" + std::string(member) + "}")) << member;
  }
}

TEST(EnvironmentTextTest, OfPairsTheValueGoes) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"name":"environment","value":{"A":"s"},"x":1})", R"({"name":"environment","x":1})"},
      {R"([{"name":"env","value":["A=s"]}])", R"([{"name":"env"}])"},
      {R"({"value" : ["NCCL_ALGO=Ring","A=s"], "key":"env"})", R"({"key":"env"})"},
      {R"({"a":{"name":"env","values":"A=s"},"value":2})", R"({"a":{"name":"env"},"value":2})"},
      {R"({"name":"env","value":["a"],"value":["A=s"]})", R"({"name":"env"})"},
      {R"({'name': 'env', 'value': {'A': 's'}})", R"({'name': 'env'})"},
      {R"({"name":"env","value":["A=s")", R"({"name":"env")"},
  };
  for (const auto& [json, expected] : cases) {
    EXPECT_EQ(WithoutEnvironment(json), expected);
    EXPECT_TRUE(MayNameEnvironment(json)) << json;
  }
}

TEST(EnvironmentTextTest, OfAListWithSeveralSettingsTheyGo) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"vars":["PATH=/bin","AWS_SECRET_ACCESS_KEY=s"],"b":1})", R"({"vars":[],"b":1})"},
      {R"(["x", "A=s", "B=s", "y"])", R"(["x", "y"])"},
      {R"(["x","A=s","B=s"])", R"(["x"])"},
      {R"(["A=s","x",{"c":["A=s","B=s"]},"B=s"])", R"(["x",{"c":[]}])"},
      {R"(('A=s', 'B=s'))", R"(())"},
      {R"(["NCCL_ALGO=Ring","A=s"])", R"(["NCCL_ALGO=Ring"])"},
      {R"({"t":"['A=s', 'B=s']"})", R"({"t":"[]"})"},
  };
  for (const auto& [json, expected] : cases) {
    EXPECT_EQ(WithoutEnvironment(json), expected);
    EXPECT_TRUE(MayNameEnvironment(json)) << json;
  }
}

TEST(EnvironmentTextTest, WhereAVariableTellsSoItIsAnEnvironmentWhateverItIsCalled) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"process":{"A_B":"x","HOME":"/home/who","N_M":4,"pid":7,"cwd":"/"},"A_B":"y"})",
       R"({"process":{"N_M":4,"pid":7,"cwd":"/"},"A_B":"y"})"},
      {R"({"AWS_SECRET_ACCESS_KEY":"s","a":1})", R"({"a":1})"},
      {R"(["x","HF_TOKEN=s"])", R"(["x"])"},
      {R"({"cmd":"HOME=/x A_B=y run","a":1})", R"({"cmd":"","a":1})"},
      {R"({"t":"{\"cmd\":\"HF_TOKEN=s run\"}"})", R"({"t":"{\"cmd\":\"\"}"})"},
      {R"({'USER': 'who', 'A_B': 'x'})", R"({})"},
      {R"({"x":[["HF_TOKEN","s"],["a","b"]]})", R"({"x":[["HF_TOKEN"],["a","b"]]})"},
      {R"([{"name":"HOME","value":"/s"},{"name":"a","value":"b"}])", R"([{"name":"HOME"},{"name":"a","value":"b"}])"},
  };
  for (const auto& [json, expected] : cases) {
    EXPECT_EQ(WithoutEnvironment(json), expected);
    EXPECT_TRUE(MayNameEnvironment(json)) << json;
  }
  EXPECT_EQ(TextWithoutEnvironment("[0] HOME=/x A_B=y"), "");
  EXPECT_EQ(QuotedWithoutEnvironment(R"(PATH=\"/x y\"\n)"), "");
  for (const char* json : {R"({"PATH":3,"USER":12,"SYSTEM":5})", R"({"A_B":"x"})", R"({"M":"16","N":"32"})"}) {
    EXPECT_EQ(WithoutEnvironment(json), json);
  }
}

TEST(EnvironmentTextTest, OfVariablesTheListedStayUnlessItIsAnExport) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"env":{"NCCL_ALGO":"Ring","A":"s","OMP_NUM_THREADS":4}})",
       R"({"env":{"NCCL_ALGO":"Ring","OMP_NUM_THREADS":4}})"},
      {R"({"env":["A=s","NCCL_ALGO=Ring"]})", R"({"env":["NCCL_ALGO=Ring"]})"},
      {R"({"env_by_rank":{"0":{"A":"s"},"1":{"RANK":"1"}}})", R"({"env_by_rank":{"1":{"RANK":"1"}}})"},
      {R"({"env.NCCL_ALGO":"Ring","env_RANK":1})", R"({"env.NCCL_ALGO":"Ring","env_RANK":1})"},
      {R"({"env":{"NCCL_ALGO":"/home/joe"}})", R"({})"},
      {R"({"c":"{\"env\":{\"RANK\":\"1\",\"A\":\"s\"}}"})", R"({"c":"{\"env\":{\"RANK\":\"1\"}}"})"},
  };
  for (const auto& [json, expected] : cases) {
    EXPECT_EQ(WithoutEnvironment(json), expected);
    EXPECT_EQ(WithoutEnvironment(expected), expected);
    const std::string exported = WithoutEnvironment(expected, EnvironmentKept::kNone);
    EXPECT_EQ(exported.find("RANK"), exported.npos) << exported;
    EXPECT_EQ(exported.find("NCCL"), exported.npos) << exported;
  }
  EXPECT_EQ(WithoutEnvironment(R"(["NCCL_ALGO=Ring"])", EnvironmentKept::kNone), "[]");
}

TEST(EnvironmentTextTest, OfWhatProgramsPrintItGoes) {
  const std::pair<const char*, const char*> cases[] = {
      {"environ({'A': 's'})", "environ()"},
      {"at start: env={'A': 's'} and more", "at start: env={} and more"},
      {R"(config = {"env": {"A": "s"}})", "config = {}"},
      {"env={A: s}", "env={}"},
      {"Job(name='x', env=['A=s'])", "Job(name='x', env=[])"},
      {"os.environ = environ({'A': environ({'B': 's'})})", "os.environ = environ()"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(TextWithoutEnvironment(text).value_or("as it was"), expected);
  for (const char* text :
       {"make_env({'id': 'CartPole-v1'})", "env(1)", "it's [env]: 'a'", "void f<{lambda()#1}>(env)"}) {
    EXPECT_FALSE(TextWithoutEnvironment(text)) << text;
  }
}

}  // namespace
}  // namespace kprof
