#include "daemon/ingest/chrome_facts.h"

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

TEST_F(ChromeFactsTest, TheEnvironmentIsLeftOut) {
  for (const char* key :
       {"env", "environ", "environment", "environment_variables", "Environment", "ENV", R"(\u0065nv)"}) {
    ASSERT_TRUE(facts_.See(key, R"({"SECRET":"x"})").ok());
  }
  EXPECT_TRUE(sink_.facts.empty());
}

TEST_F(ChromeFactsTest, ALargeMemberIsLeftOutAndSaysSo) {
  ASSERT_TRUE(facts_.See("large", "\"" + std::string(3 << 20, 'x') + "\"").ok());
  EXPECT_TRUE(sink_.facts.empty());
  ASSERT_EQ(sink_.warnings.size(), 1u);
  EXPECT_EQ(sink_.warnings[0], "\"large\" beside the events has 3 MiB: left out");
}

TEST_F(ChromeFactsTest, TracksOfAnExportAreNoFactAndAreTakenOnce) {
  const std::string track = R"({"of":"thread","pid":"1","tid":"2","track":{"kind":"other","name":"a"}})";
  ASSERT_TRUE(facts_.See("kprofTracks", "[" + track + "]").ok());
  ASSERT_TRUE(facts_.See("kprofTracks", "[" + track + "," + track + "]").ok());
  EXPECT_TRUE(sink_.facts.empty());
  EXPECT_EQ(sink_.known_tracks, 1u);
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
  ASSERT_TRUE(facts_.Finish({}).ok());
  EXPECT_EQ(sink_.facts, (Facts{{"clock", "unknown"}}));
}

TEST_F(ChromeFactsTest, ABaseThatIsNoIntegerIsNone) {
  ASSERT_TRUE(facts_.See("baseTimeNanoseconds", "\"long ago\"").ok());
  ASSERT_TRUE(facts_.Finish({}).ok());
  EXPECT_EQ(sink_.facts["clock"], "unknown");
}

}  // namespace
}  // namespace kprof
