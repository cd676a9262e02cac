#include "daemon/ingest/neuron/nkipy_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/fakes/ingest/batch_texts.h"
#include "tests/fakes/ingest/memory_text.h"

namespace kprof {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kTwoHalves =
    R"({\"events\": [{\"event_type\": \"nrt_execute\", \"phase\": \"start\", \"tracking_id\": 1, \"timestamp_ns\": 999999500000, )"
    R"(\"data\": {\"note\": \"a \\\"b\\\" \\u00e9\"}}, {\"event_type\": \"nrt_execute\", \"phase\": \"stop\", \"tracking_id\": 1, )"
    R"(\"timestamp_ns\": 999999700000, \"data\": {}}]})";

Status ReadProfileInto(BatchTexts& texts, const std::string& content) {
  MemoryText text(content);
  const Status status = ReadNkipy(text, texts, 1 << 20);
  EXPECT_FALSE(text.read_released);
  return status;
}

TEST(NkipyReader, ReadsCallsAndTheEventsWithinTheirText) {
  BatchTexts texts;
  ASSERT_TRUE(ReadProfileInto(
                  texts, std::string(R"({"kernel_calls":[{"filename":"/w/\"m\".py","lineno":10,"kernel_name":"attn",)"
                                     R"("call_index":0}],"events_json":")") +
                             kTwoHalves + R"(","wall_start_ns":999999000000,"wall_stop_ns":1000030000000})")
                  .ok());
  EXPECT_THAT(
      texts.side_rows,
      ElementsAre("neuron_call /w/\"m\".py 10 attn 0 NULL NULL NULL NULL NULL NULL",
                  "neuron_event nrt_execute NULL NULL NULL NULL NULL NULL 1 NULL NULL 0 200000 NULL NULL NULL NULL"));
  EXPECT_THAT(texts.rows, ElementsAre(HasSubstr("note='a \"b\" \xc3\xa9'")));
  EXPECT_EQ(texts.facts.at("neuron.wall_start_ns"), "999999000000");
  EXPECT_EQ(texts.facts.at("neuron.wall_stop_ns"), "1000030000000");
  EXPECT_EQ(texts.facts.at("neuron.calls"), "1");
  EXPECT_EQ(texts.facts.at("clock"), "unknown");  // of 1970
  EXPECT_THAT(texts.warnings, IsEmpty());
}

TEST(NkipyReader, TakesOlderProfilesAndThoseWithoutATrace) {
  BatchTexts texts;
  ASSERT_TRUE(ReadProfileInto(
                  texts,
                  R"({"events_json": "", "wall_start_ns": 0, "wall_stop_ns": 0, "kernel_calls": [{"filename": "a.py",)"
                  R"( "lineno": "3", "kernel_name": "k", "call_index": 0}]})")
                  .ok());
  EXPECT_THAT(texts.side_rows, ElementsAre("neuron_call a.py 3 k 0 NULL NULL NULL NULL NULL NULL"));
  EXPECT_EQ(texts.facts.count("neuron.wall_start_ns"), 0u);
  EXPECT_THAT(texts.warnings, IsEmpty());
}

TEST(NkipyReader, SaysWhatItsRecorderHadTroubleWith) {
  BatchTexts texts;
  ASSERT_TRUE(ReadProfileInto(
                  texts, R"({"kernel_calls":[],"events_json":"","troubles":["no events of the runtime: no \"libnrt\"",)"
                         R"( "3 fetches failed"]})")
                  .ok());
  EXPECT_THAT(texts.warnings, ElementsAre("its recorder says: no events of the runtime: no \"libnrt\"",
                                          "its recorder says: 3 fetches failed"));
}

TEST(NkipyReader, TakesWhatARecorderTellsBesides) {
  BatchTexts texts;
  ASSERT_TRUE(ReadProfileInto(
                  texts,
                  R"({"kernel_calls":[{"file":"a.py","line":3,"kernel":"k","call_index":4,"thread_id":77,"start_ns":)"
                  R"("1780000000000000100","end_ns":1780000000000000300,"nc_idx":1,"nrta_seq_id":9007199254740993,)"
                  R"("exec_id":5}],"rank":3,"world_size":8,"dropped_events":2})")
                  .ok());
  EXPECT_THAT(texts.side_rows, ElementsAre("neuron_call a.py 3 k 4 77 0 200 1 9007199254740993 5"));
  EXPECT_EQ(texts.facts.at("rank"), "3");
  EXPECT_EQ(texts.facts.at("world_size"), "8");
  EXPECT_EQ(texts.facts.at("neuron.dropped_events"), "2");
}

TEST(NkipyReader, KeepsWhatIsWholeOfAProfileThatIsCutOff) {
  const std::string whole =
      std::string(R"({"kernel_calls":[{"filename":"a.py","lineno":1,"kernel_name":"k","call_index":0}],)"
                  R"("events_json":")") +
      kTwoHalves + "\"}";
  const size_t events = whole.find("\"events_json\"") + 16;
  for (size_t size = events; size < whole.size() - 1; ++size) {
    BatchTexts texts;
    ASSERT_TRUE(ReadProfileInto(texts, whole.substr(0, size)).ok()) << size;
    EXPECT_THAT(texts.side_rows, Contains(HasSubstr("neuron_call a.py"))) << size;
    EXPECT_THAT(texts.warnings, Contains(HasSubstr("in the middle"))) << size;
  }
  BatchTexts none;
  EXPECT_EQ(ReadProfileInto(none, whole.substr(0, 10)).code(), ErrorCode::kBadInput);
}

TEST(NkipyReader, CountsCallsThatAreNone) {
  BatchTexts texts;
  ASSERT_TRUE(
      ReadProfileInto(texts, R"({"kernel_calls":[{"lineno":1},7,{"filename":"a.py"}],"events_json":"no JSON"})").ok());
  EXPECT_THAT(texts.side_rows, ElementsAre("neuron_call a.py NULL NULL NULL NULL NULL NULL NULL NULL NULL"));
  EXPECT_THAT(texts.warnings, Contains(HasSubstr("2 calls name neither a file nor a kernel")));
  EXPECT_THAT(texts.warnings, Contains(HasSubstr("has no list of events")));
}

TEST(NkipyReader, RefusesOtherObjects) {
  BatchTexts texts;
  const Status status = ReadProfileInto(texts, R"({"a":1})");
  EXPECT_EQ(status.code(), ErrorCode::kNotFound);
  EXPECT_THAT(status.ToString(), HasSubstr("neither \"kernel_calls\" nor \"events_json\""));
}

TEST(NkipyReader, KnowsItsOwn) {
  EXPECT_TRUE(LooksLikeNkipy(std::string_view("\n{ \"kernel_calls\": []")));
  EXPECT_TRUE(LooksLikeNkipy(std::string_view("{\"events_json\": \"\"")));
  EXPECT_FALSE(LooksLikeNkipy(std::string_view("[\"kernel_calls\"]")));
  EXPECT_FALSE(LooksLikeNkipy(std::string_view("{\"files\": {}}")));
}

}  // namespace
}  // namespace kprof
