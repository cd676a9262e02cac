#include "daemon/ingest/chrome/chrome_facts.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/fakes/ingest/batch_texts.h"

namespace kprof {
namespace {

using Facts = std::map<std::string, std::string>;

class ChromeFactsTest : public testing::Test {
 protected:
  ChromeFactsTest() : facts_(sink_) {}

  BatchTexts sink_;
  ChromeFacts facts_;
};

TEST_F(ChromeFactsTest, MembersAreKeptAsTheirJson) {
  ASSERT_TRUE(facts_.See("displayTimeUnit", "\"ms\"").ok());
  ASSERT_TRUE(facts_.See("deviceProperties", "[ { \"id\": 0, \"name\": \"NVIDIA H100\" } ]").ok());
  ASSERT_TRUE(facts_.See(R"(odd\nkey)", "null").ok());
  EXPECT_EQ(sink_.facts, (Facts{{"source.displayTimeUnit", "\"ms\""},
                                {"source.deviceProperties", R"([{"id":0,"name":"NVIDIA H100"}])"},
                                {"source.odd\nkey", "null"}}));
}

TEST_F(ChromeFactsTest, TheRankIsSaid) {
  ASSERT_TRUE(facts_.See("distributedInfo", R"({"backend": "nccl", "rank": 3, "world_size": "8"})").ok());
  EXPECT_EQ(sink_.facts["rank"], "3");
  EXPECT_EQ(sink_.facts["world_size"], "8");
}

TEST_F(ChromeFactsTest, ARankThatIsNoneIsNotSaid) {
  for (const char* value : {"null", "1", "[]", "{", R"({"rank":"first"})", R"({"rank":1.5})", R"({"rank":{}})", ""}) {
    ASSERT_TRUE(facts_.See("distributedInfo", value).ok());
    EXPECT_FALSE(sink_.facts.contains("rank")) << value;
  }
}

TEST_F(ChromeFactsTest, ARankThatCannotBeIsNotTakenAndSaysSo) {
  for (const char* value : {R"({"rank":-5})", R"({"rank":9223372036854775807})", R"({"rank":"16777217"})"}) {
    ASSERT_TRUE(facts_.See("distributedInfo", value).ok());
  }
  ASSERT_TRUE(facts_.See("distributedInfo", R"({"world_size":0})").ok());
  EXPECT_FALSE(sink_.facts.contains("rank") || sink_.facts.contains("world_size"));
  ASSERT_EQ(sink_.warnings.size(), 4u);
  EXPECT_EQ(sink_.warnings[0], "rank -5 in distributedInfo is none: it does not count");
  ASSERT_TRUE(facts_.See("distributedInfo", R"({"rank":4.0,"world_size":"8.00"})").ok());
  EXPECT_EQ(sink_.facts["rank"] + "/" + sink_.facts["world_size"], "4/8");
  ASSERT_TRUE(facts_.See("distributedInfo", R"({"rank":16777216,"world_size":1})").ok());
  EXPECT_EQ(sink_.facts["rank"], "16777216");
}

TEST_F(ChromeFactsTest, TheEnvironmentIsLeftOut) {
  for (const char* key : {"env", "environ", "environment", "environment_variables", "Environment", "ENV", R"(\u0065nv)",
                          "Environment Variables", "env_vars"}) {
    for (const char* value : {R"({"SECRET":"x"})", "\"SECRET=x\"", "[\"SECRET=x\"]"}) {
      ASSERT_TRUE(facts_.See(key, value).ok());
    }
  }
  ASSERT_TRUE(facts_.See("metadata", R"({"env":{"SECRET":"x"},"environment":{"HOME":"/home/joe"}})").ok());
  EXPECT_TRUE(sink_.facts.empty());
}

TEST_F(ChromeFactsTest, WhatIsOnNoListIsCounted) {
  ASSERT_TRUE(facts_.See("username", "\"joe\"").ok());
  ASSERT_TRUE(facts_.See("host_name", "\"h\"").ok());
  ASSERT_TRUE(facts_.See("with_stack", "1").ok());
  ASSERT_TRUE(facts_.Finish(0).ok());
  EXPECT_EQ(sink_.facts, (Facts{{"source.with_stack", "1"}, {"left_out_members", "2"}, {"clock", "unknown"}}));
  EXPECT_TRUE(sink_.warnings.empty());
}

TEST_F(ChromeFactsTest, MoreThanAThousandAreLeftOutInOneWarning) {
  for (int i = 0; i < 1500; ++i) ASSERT_TRUE(facts_.See("k" + std::to_string(i), "1").ok());
  ASSERT_TRUE(facts_.See("distributedInfo", R"({"rank":3})").ok());
  ASSERT_TRUE(facts_.Finish(0).ok());
  EXPECT_EQ(sink_.facts["rank"], "3");
  EXPECT_EQ(sink_.facts.size(), ChromeFacts::kMostFacts + 2);
  EXPECT_EQ(sink_.warnings, std::vector<std::string>{
                                "501 members beside the events were left out: more than 1000, or than 8 MiB in all"});
}

TEST_F(ChromeFactsTest, AllOfThemHaveABound) {
  const std::string large = "\"" + std::string(1'000'000, 'x') + "\"";
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(facts_.See("otherData" + std::to_string(i), "{\"version\":" + large + "}").ok());
  }
  ASSERT_TRUE(facts_.Finish(0).ok());
  EXPECT_EQ(sink_.facts.size(), 8u + 1);
  EXPECT_EQ(sink_.warnings.size(), 1u);
}

TEST_F(ChromeFactsTest, ALargeMemberIsLeftOutAndSaysSo) {
  ASSERT_TRUE(facts_.See("stackFrames", "\"" + std::string(3 << 20, 'x') + "\"").ok());
  EXPECT_TRUE(sink_.facts.empty());
  ASSERT_EQ(sink_.warnings.size(), 1u);
  EXPECT_EQ(sink_.warnings[0], "\"stackFrames\" beside the events has 3 MiB: left out");
}

TEST_F(ChromeFactsTest, TracksOfAnExportAreNoFactAndAreTakenOnce) {
  const std::string track = R"({"of":"thread","pid":"1","tid":"2","track":{"kind":"other","name":"a"}})";
  ASSERT_TRUE(facts_.See("kprofTracks", "[" + track + "]").ok());
  ASSERT_TRUE(facts_.See("kprofTracks", "[" + track + "," + track + "]").ok());
  EXPECT_TRUE(sink_.facts.empty());
  EXPECT_EQ(sink_.told_tracks, 1u);
}

TEST_F(ChromeFactsTest, TheBaseIsWhatTheSourceSays) {
  ASSERT_TRUE(facts_.See("baseTimeNanoseconds", "1700000000000000000").ok());
  ASSERT_TRUE(facts_.Finish(5).ok());
  EXPECT_EQ(sink_.facts["base_unix_ns"], "1700000000000000000");
  EXPECT_EQ(sink_.facts["clock"], "unix");
}

TEST_F(ChromeFactsTest, TimesSince1970NeedNoBase) {
  ASSERT_TRUE(facts_.Finish(1'700'000'000'000'000'000).ok());
  EXPECT_EQ(sink_.facts["base_unix_ns"], "0");
  EXPECT_EQ(sink_.facts["clock"], "unix");
}

TEST_F(ChromeFactsTest, OtherTimesAreOfAClockThatIsNotKnown) {
  ASSERT_TRUE(facts_.Finish(1'000'000).ok());
  EXPECT_FALSE(sink_.facts.contains("base_unix_ns"));
  EXPECT_EQ(sink_.facts["clock"], "unknown");
}

TEST_F(ChromeFactsTest, WithoutEventsTheClockIsNotKnown) {
  ASSERT_TRUE(facts_.Finish(0).ok());
  EXPECT_EQ(sink_.facts, (Facts{{"clock", "unknown"}}));
}

TEST_F(ChromeFactsTest, ABaseThatIsNoIntegerIsNone) {
  ASSERT_TRUE(facts_.See("baseTimeNanoseconds", "\"long ago\"").ok());
  ASSERT_TRUE(facts_.Finish(0).ok());
  EXPECT_EQ(sink_.facts["clock"], "unknown");
}

}  // namespace
}  // namespace kprof
