#include "daemon/ingest/assemble/batch_builder.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "storage/trace/format/event_args.h"
#include "tests/unit/ingest/recorded_batches.h"

namespace kprof {
namespace {

TEST(BatchBuilder, GivesWhatWasAdded) {
  RecordedBatches read;
  BatchBuilder batch(read);
  const uint32_t pid = batch.Text("7");
  const uint32_t track =
      batch.AddTrack({TrackKey::Family::kThread, pid, pid, 0, 0}, {.kind = "cpu_thread", .pid = "7"});
  const std::vector<EventArg> args = {{batch.Text("n"), ArgType::kInteger, 5},
                                      {batch.Text("c"), ArgType::kCorrelation, 9},
                                      {batch.Text("d"), ArgType::kDecimal, *PackDecimal({25, 2})},
                                      {batch.Text("s"), ArgType::kString, batch.Text("text")},
                                      {batch.Text("j"), ArgType::kJson, batch.Json("[1]")}};
  batch.AddSlice({100, track, batch.Text("name"), batch.Text("cat"), args}, 50, 9);
  batch.AddInstant({200, track, batch.Text("name"), 0, {}});
  batch.AddMetadata({300, track, batch.Text("name"), 0, std::span(args).first(1)});
  batch.AddCounter(400, track, 1.5);
  EXPECT_TRUE(batch.GiveFull().ok());
  EXPECT_EQ(read.batches, 0);
  EXPECT_TRUE(batch.Give().ok());
  ASSERT_EQ(read.events.size(), 4U);
  EXPECT_EQ(batch.events(), 4);
  EXPECT_EQ(read.events[0].name, "name");
  EXPECT_EQ(read.events[0].category, "cat");
  EXPECT_EQ(read.events[0].duration_ns, 50);
  const std::map<std::string, std::string> texts = {{"n", "5"}, {"c", "9"}, {"d", "0.25"}, {"s", "text"}, {"j", "[1]"}};
  EXPECT_EQ(read.events[0].args, texts);
  EXPECT_EQ(read.events[1].kind, EventKind::kInstant);
  EXPECT_EQ(read.events[2].kind, EventKind::kCounter);
  EXPECT_EQ(read.events[2].value, 1.5);
  EXPECT_EQ(read.events[3].Arg("n"), "5");
}

TEST(BatchBuilder, NumbersGoOnFromBatchToBatch) {
  RecordedBatches read;
  BatchBuilder batch(read);
  const uint32_t track = batch.AddTrack({}, {.kind = "other"});
  for (const char* name : {"a", "b", "a"}) {
    batch.AddInstant({0, track, batch.Text(name), 0, {}});
    EXPECT_TRUE(batch.Give().ok());
  }
  EXPECT_EQ(read.batches, 3);
  EXPECT_EQ(read.events[0].name + read.events[1].name + read.events[2].name, "aba");
}

TEST(BatchBuilder, ABatchIsFullByItsTextsToo) {
  RecordedBatches read;
  BatchBuilder batch(read);
  const uint32_t track = batch.AddTrack({}, {.kind = "other"});
  batch.AddInstant({0, track, batch.Text(std::string(BatchBuilder::kTextBytesPerBatch, 'x')), 0, {}});
  EXPECT_TRUE(batch.GiveFull().ok());
  EXPECT_EQ(read.batches, 1);
}

TEST(BatchBuilder, KeepsArgumentsOfTooManyShapesAsOneText) {
  RecordedBatches read;
  BatchBuilder batch(read);
  const uint32_t track = batch.AddTrack({}, {.kind = "other"});
  for (int i = 0; i < 5000; ++i) {
    const std::vector<EventArg> args = {{batch.Text("k" + std::to_string(i)), ArgType::kInteger, i},
                                        {batch.Text("d"), ArgType::kDecimal, *PackDecimal({25, 1})},
                                        {batch.Text("s"), ArgType::kString, batch.Text("a \"b\"")}};
    batch.AddInstant({i, track, 0, 0, args});
  }
  EXPECT_TRUE(batch.Give().ok());
  EXPECT_EQ(read.events[10].Arg("k10"), "10");
  EXPECT_EQ(read.events[4999].Arg("args"), "{\"k4999\":4999,\"d\":25e-1,\"s\":\"a \\\"b\\\"\"}");
}

}  // namespace
}  // namespace kprof
