#include "daemon/ingest/chrome/chrome_facts.h"

#include <gtest/gtest.h>

#include <string>

namespace kprof {
namespace {

std::string Kept(std::string_view key, std::string_view value) {
  return KeptFact(key, value).value_or("(nothing)");
}

TEST(KeptFacts, WhatIsOnTheListIsKeptWithoutEnvironments) {
  EXPECT_EQ(Kept("displayTimeUnit", "\"ms\""), "\"ms\"");
  EXPECT_EQ(Kept("deviceProperties", R"([ {"id": 0, "name": "H 100", "env": {"A": "secret"}} ])"),
            R"([{"id":0,"name":"H 100"}])");
}

TEST(KeptFacts, OfAllElseOnlyWhatIsANumberOrAWord) {
  EXPECT_EQ(Kept("with_new_thing", "1"), "1");
  EXPECT_EQ(Kept("with_new_thing", "true"), "true");
  EXPECT_EQ(Kept("username", "\"joe\""), "(nothing)");
  EXPECT_EQ(Kept("traceName", "\"/home/joe/x.json\""), "(nothing)");
  EXPECT_EQ(Kept("jobs", "[1]"), "(nothing)");
  EXPECT_EQ(Kept("uid", "1000"), "(nothing)");
}

TEST(KeptFacts, OfObjectsTheMembersThatAreKept) {
  EXPECT_EQ(Kept("metadata", R"({"env":{"A":"s"},"a":1,"host_name":"h","deep":{"b":true,"c":"s","d":{"e":"s"}}})"),
            R"({"a":1,"deep":{"b":true}})");
  EXPECT_EQ(Kept("otherData", R"({"version":"1.0","env":"TOKEN=s5"})"), R"({"version":"1.0"})");
  EXPECT_EQ(Kept("otherData", R"({"env":"TOKEN=s5"})"), "(nothing)");
}

TEST(KeptFacts, EnvironmentsAreNotWhateverTheyHold) {
  for (const char* key : {"env", "env_vars", "Environment Variables", "metadata.env.HOME"}) {
    for (const char* value : {"\"TOKEN=s5\"", "\"prod\"", "[\"A=1\"]", R"({"A":1})"}) {
      EXPECT_EQ(Kept(key, value), "(nothing)") << key;
    }
  }
  EXPECT_EQ(Kept("env_PORT", "80"), "(nothing)");
}

TEST(KeptFacts, OfEnvironmentsNumbersAndListedVariablesAre) {
  EXPECT_EQ(Kept("num_envs", "8"), "8");
  EXPECT_EQ(Kept("env", R"({"NCCL_ALGO": "Ring", "A": "s"})"), R"({"NCCL_ALGO":"Ring"})");
  EXPECT_EQ(Kept("job", R"({"environ": ["RANK=1", "A=s"]})"), R"({"environ":["RANK=1"]})");
}

TEST(KeptFacts, WhatIsCutOffOrTooDeepIsNoFault) {
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "{\"a\":";
  EXPECT_EQ(Kept("x", deep + "1" + std::string(100, '}')), "(nothing)");
  for (const char* value : {"", "{", "{\"", "{\"a\"", "{\"a\":", "{\"a\":1"}) KeptFact("x", value);
}

}  // namespace
}  // namespace kprof
