#include "daemon/ingest/event/event_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "storage/trace/format/event_tables.h"
#include "tests/fakes/ingest/batch_texts.h"
#include "tests/fakes/ingest/memory_text.h"

namespace kprof {
namespace {

using testing::ElementsAre;

constexpr const char* kRecord =
    "{\"kprof_event\":1,\"compares\":true,\"delta\":0.01,\"seed\":7,\"samples\":0,\"looks\":8}\n"
    "{\"turn\":1,\"side\":\"candidate\",\"block\":null,\"asked_samples\":40,\"began_unix_ns\":\"1000\",\"wall_ns\":50,"
    "\"user_cpu_ns\":30,\"system_cpu_ns\":5,\"max_rss_bytes\":4096,\"leftover_processes\":0}\n"
    "{\"case\":\"b=1\",\"ns\":12.5,\"flops\":1e6,\"cache\":\"cold\"}\n"
    "\n"
    "{\"turn\":2,\"side\":\"baseline\",\"block\":0,\"asked_samples\":120,\"began_unix_ns\":\"1100\",\"wall_ns\":60,"
    "\"user_cpu_ns\":31,\"system_cpu_ns\":6,\"max_rss_bytes\":4097,\"leftover_processes\":2,\"refuted\":\"uneven_"
    "calls\"}\n"
    "nonsense\n"
    "{\"ns\":13}";

Status ReadInto(BatchTexts& texts, const std::string& content) {
  MemoryText text(content);
  return ReadEventSamples(text, texts);
}

TEST(EventReader, ReadsTurnsAndTheirSamples) {
  BatchTexts texts;
  ASSERT_TRUE(ReadInto(texts, kRecord).ok());
  EXPECT_THAT(texts.side_rows,
              testing::UnorderedElementsAre("event_turn 1 candidate NULL 40 1000 50 30 5 4096 0 NULL",
                                            "event_turn 2 baseline 0 120 1100 60 31 6 4097 2 uneven_calls",
                                            "event_sample 1 candidate NULL b=1 1 12.5 nan nan 1e+06 nan cold",
                                            "event_sample 2 baseline 0  1 13 nan nan nan nan NULL"));
  EXPECT_THAT(texts.warnings, ElementsAre("1 lines are no turn and no sample: they were left out"));
  EXPECT_EQ(texts.facts.at("event.seed"), "7");
  EXPECT_EQ(texts.facts.at("event.looks"), "8");
  EXPECT_EQ(texts.facts.at("base_unix_ns"), "1000");
  EXPECT_EQ(texts.rows.size(), 2u);  // a slice for each process
  EXPECT_TRUE(CheckSideTable(EventTurnTable()).ok() && CheckSideTable(EventSampleTable()).ok());
}

TEST(EventReader, FailsWhereThereIsNoTurn) {
  for (const char* content : {"", "{\"kprof_event\":1}\n", "{\"ns\":5}\n", "nonsense"}) {
    BatchTexts texts;
    EXPECT_EQ(ReadInto(texts, content).code(), ErrorCode::kBadInput) << content;
  }
}

TEST(EventReader, KnowsARecordByItsBegin) {
  EXPECT_TRUE(LooksLikeEventSamples(std::string_view(kRecord)));
  EXPECT_FALSE(LooksLikeEventSamples(std::string_view("{\"traceEvents\":[]}")));
  EXPECT_FALSE(LooksLikeEventSamples(std::string_view("")));
}

}  // namespace
}  // namespace kprof
