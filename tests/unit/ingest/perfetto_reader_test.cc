#include "daemon/ingest/perfetto/perfetto_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "storage/trace/format/event_time.h"
#include "tests/fakes/ingest/batch_texts.h"
#include "tests/fakes/ingest/memory_text.h"
#include "tests/fakes/ingest/perfetto_bytes.h"

namespace kprof {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr uint64_t kPacketsBegin = 1'700'000'000'000'000'000;

Status ReadPacketsInto(BatchTexts& texts, const std::string& content, const PerfettoLimits& limits = {}) {
  MemoryText first(content);
  MemoryText text(content);
  return ReadPerfetto(&first, text, texts, limits);
}

BatchTexts ReadPackets(const std::string& content) {
  BatchTexts texts;
  EXPECT_TRUE(ReadPacketsInto(texts, content).ok());
  return texts;
}

// As PyTorch writes it: all begins of all tracks, and then all ends.
std::string TwoTracks() {
  const Fields launch =
      BeginOf(2, "cudaLaunchKernel").Bytes(22, "cuda_runtime").Message(4, Annotation("correlation", 77)).Fixed64(47, 9);
  const Fields kernel = BeginOf(4, "gemm")
                            .Bytes(22, "kernel")
                            .Message(4, Annotation("stream", 7))
                            .Message(4, Annotation("device", 1))
                            .Message(4, Annotation("correlation", 77))
                            .Fixed64(47, 9);
  return ThreadPacket(2, 40, 41, "main") + ThreadPacket(4, 1, 7, "stream 7") +
         EventPacket(kPacketsBegin, BeginOf(2, "aten::mm").Bytes(22, "cpu_op")) +
         EventPacket(kPacketsBegin + 10, launch) + EventPacket(kPacketsBegin + 50, kernel) +
         EventPacket(kPacketsBegin + 100, EndOn(2)) + EventPacket(kPacketsBegin + 20, EndOn(2)) +
         EventPacket(kPacketsBegin + 90, EndOn(4));
}

TEST(PerfettoReader, PairsEndsThatFollowAllBegins) {
  const BatchTexts texts = ReadPackets(TwoTracks());
  const std::string t = std::to_string(kPacketsBegin).substr(0, 16);
  EXPECT_THAT(texts.rows, UnorderedElementsAre(
                              "slice " + t + "000+100 40:41 aten::mm/cpu_op",
                              "slice " + t + "010+10 40:41 cudaLaunchKernel/cuda_runtime #77 {correlation=#}",
                              "slice " + t + "050+40 1:7 gemm/kernel #77 {stream=7, device=1, correlation=#}",
                              "flow " + t + "010 40:41 flow/flow id 9 s", "flow " + t + "050 1:7 flow/flow id 9 t"));
  EXPECT_THAT(texts.warnings, IsEmpty());
  EXPECT_EQ(texts.facts.at("clock"), "unix");
  EXPECT_EQ(texts.facts.at("base_unix_ns"), "0");
}

TEST(PerfettoReader, ReadsTheSameTextTwiceForALook) {
  BatchTexts texts;
  MemoryText text(TwoTracks());
  ASSERT_TRUE(ReadPerfetto(nullptr, text, texts, {}).ok());
  EXPECT_EQ(texts.rows.size(), 5u);
  EXPECT_FALSE(text.read_released);
}

TEST(PerfettoReader, GivesCategoriesByArgumentsWhereNoEventHasOne) {
  const Fields grid = Fields().Bytes(10, "grid").Message(12, Fields().Number(4, 1)).Message(12, Fields().Number(4, 2));
  const BatchTexts texts = ReadPackets(
      ThreadPacket(2, 40, 41, "main") + ThreadPacket(4, 0, 7, "stream 7") +
      EventPacket(100, BeginOf(2, "cudaLaunchKernel").Message(4, Annotation("correlation", 5))) +
      EventPacket(110, EndOn(2)) + EventPacket(120, BeginOf(2, "aten::mm").Message(4, Annotation("External id", 3))) +
      EventPacket(130, EndOn(2)) + EventPacket(140, BeginOf(2, "step")) + EventPacket(150, EndOn(2)) +
      EventPacket(160, BeginOf(4, "gemm").Message(4, grid).Message(4, Annotation("stream", 7))) +
      EventPacket(170, EndOn(4)) +
      EventPacket(180, BeginOf(4, "Memcpy DtoH").Message(4, Annotation("correlation", 6))) +
      EventPacket(190, EndOn(4)));
  EXPECT_THAT(texts.rows, ElementsAre("slice 100+10 40:41 cudaLaunchKernel/cuda_runtime #5 {correlation=#}",
                                      "slice 120+10 40:41 aten::mm/cpu_op {External id=3}", "slice 140+10 40:41 step/",
                                      "slice 160+10 0:7 gemm/kernel {grid=[1,2], stream=7}",
                                      "slice 180+10 0:7 Memcpy DtoH/gpu_memcpy #6 {correlation=#}"));
  EXPECT_EQ(texts.facts.at("source.categories"), "of arguments");
}

TEST(PerfettoReader, ReadsArgumentsOfEachType) {
  const Fields dict = Fields()
                          .Bytes(10, "dict")
                          .Message(11, Fields().Bytes(10, "a").Number(2, 1))
                          .Message(11, Fields().Bytes(10, "b").Message(12, Fields().Real(5, 0.5)));
  const Fields event = Fields()
                           .Number(9, 3)
                           .Number(11, 2)
                           .Bytes(23, "all")
                           .Message(4, Fields().Bytes(10, "yes").Number(2, 1))
                           .Message(4, Fields().Bytes(10, "large").Number(3, UINT64_MAX))
                           .Message(4, Annotation("below", -5))
                           .Message(4, Fields().Bytes(10, "real").Real(5, 2.25))
                           .Message(4, Annotation("word", "null"))
                           .Message(4, Fields().Bytes(10, "json").Bytes(9, "{\"x\": [1]}"))
                           .Message(4, Fields().Bytes(10, "none").Bytes(9, "{\"x\": "))
                           .Message(4, dict)
                           .Message(4, Fields().Number(1, 99).Number(4, 1));
  const BatchTexts texts = ReadPackets(ThreadPacket(2, 40, 41, "main") + EventPacket(100, event));
  EXPECT_THAT(texts.rows,
              ElementsAre("instant 100 40:41 all/ {yes=true, large=number 18446744073709551615, below=-5, real=225e-2, "
                          "word='null', json={\"x\":[1]}, none='{\"x\": ', dict={\"a\":true,\"b\":[0.5]}, =1}"));
  EXPECT_THAT(texts.warnings, ElementsAre("1 names were never told: they are empty"));
}

TEST(PerfettoReader, ReadsNamesThatAreInternedUntilTheyAreCleared) {
  const Fields names =
      Fields().Message(2, Fields().Number(1, 7).Bytes(2, "seven")).Message(1, Fields().Number(1, 3).Bytes(2, "cpu_op"));
  const auto event = [](uint64_t time_ns) {
    return EventPacket(time_ns, Fields().Number(9, 3).Number(11, 2).Number(10, 7).Number(3, 3));
  };
  const BatchTexts texts = ReadPackets(Packet(Fields().Number(10, 1).Number(13, 3).Message(12, names)) + event(1) +
                                       Packet(Fields().Number(10, 1).Number(13, 1)) + event(2));
  EXPECT_THAT(texts.rows, ElementsAre("instant 1 async ::2 seven/cpu_op", "instant 2 async ::2 /"));
}

TEST(PerfettoReader, ReadsCounters) {
  const Fields sums = Fields().Number(4, 10).Number(5, 1);
  const std::string content =
      Packet(Fields().Number(10, 1).Message(60, Fields().Number(1, 5).Bytes(2, "bytes").Message(8, sums))) +
      Packet(Fields().Number(10, 1).Message(60, Fields().Number(1, 6).Bytes(2, "load").Message(8, Fields()))) +
      EventPacket(1, Fields().Number(9, 4).Number(11, 5).Number(30, 3)) +
      EventPacket(2, Fields().Number(9, 4).Number(11, 5).Number(30, 4)) +
      EventPacket(3, Fields().Number(9, 4).Number(11, 6).Real(44, 0.5)) +
      EventPacket(4, Fields().Number(9, 3).Number(11, 2).Number(31, 6).Number(12, 9)) +
      EventPacket(5, Fields().Number(9, 4).Number(11, 77).Number(30, 1));
  const BatchTexts texts = ReadPackets(content);
  EXPECT_THAT(texts.rows,
              UnorderedElementsAre("counter 1 counter :bytes:5 30.000000", "counter 2 counter :bytes:5 70.000000",
                                   "counter 3 counter :load:6 0.500000", "counter 4 counter :load:6 9.000000",
                                   "instant 4 async ::2 /"));
  EXPECT_THAT(texts.warnings,
              ElementsAre("1 samples have no value, or are on a track that is no counter: they were left out"));
}

// As the later form of PyTorch writes GPU work.
std::string RenderStages() {
  const Fields interned =
      Fields()
          .Message(24, Fields().Number(1, 1).Bytes(2, "Stream 7"))
          .Message(24, Fields().Number(1, 2).Bytes(2, "Kernel").Number(4, 2))
          .Message(24, Fields().Number(1, 3).Bytes(2, "Memcpy"))
          .Message(23, Fields().Number(1, 1).Number(2, 40))
          .Message(1000, Fields().Number(1, 4).Bytes(3, "gemm<int>").Bytes(4, "sm_90"))
          .Message(1001, Fields().Number(1, 5).Bytes(2, "registers_per_thread"))
          .Message(47, Fields().Number(1, 9).Message(3, Fields().Message(1, Fields().Number(1, 6).Bytes(2, "power"))));
  const Fields launch = BeginOf(2, "cudaGraphLaunch")
                            .Bytes(22, "cuda_runtime")
                            .Message(4, Annotation("correlation", 90))
                            .Message(3000, Fields().Number(1, 501).Number(1, 502));
  const Fields sizes = Fields()
                           .Message(1, Fields().Number(1, 8))
                           .Message(2, Fields().Number(1, 128).Number(2, 2))
                           .Message(3, Fields().Number(1, 5).Number(4, 32));
  const Fields kernel = Fields()
                            .Number(1, 501)
                            .Number(2, 700)
                            .Number(5, 1)
                            .Number(13, 1)
                            .Number(14, 2)
                            .Number(19, 4)
                            .Message(21, sizes)
                            .Message(6, Fields().Bytes(1, "graph node id").Bytes(2, "1234"));
  const Fields copy = Fields().Number(1, 502).Number(2, 100).Number(5, 1).Number(13, 1).Number(14, 3).Number(18, 501);
  const auto packet = [](uint64_t time_ns, uint32_t field, const Fields& body) {
    return Packet(Fields().Number(8, time_ns).Number(10, 1).Message(field, body));
  };
  return ThreadPacket(2, 40, 41, "main") + Packet(Fields().Number(10, 1).Number(13, 3).Message(12, interned)) +
         EventPacket(100, launch) + EventPacket(150, EndOn(2)) + packet(1000, 53, kernel) + packet(2000, 53, copy) +
         packet(1500, 52, Fields().Number(4, 9).Message(2, Fields().Number(1, 6).Real(3, 99.5)));
}

TEST(PerfettoReader, ReadsRenderStagesAsWorkOfADeviceWithTheCorrelationOfItsLaunch) {
  const BatchTexts texts = ReadPackets(RenderStages());
  EXPECT_THAT(
      texts.rows,
      UnorderedElementsAre(
          "slice 100+50 40:41 cudaGraphLaunch/cuda_runtime #90 {correlation=#}",
          "slice 1000+700 40:GPU 0 Stream 7 gemm<int>/kernel #90 {device=0, stream=7, event_id=501, grid=[8,1,1], "
          "block=[128,2,1], registers_per_thread=32, graph node id=1234, arch='sm_90', correlation=#}",
          "slice 2000+100 40:GPU 0 Stream 7 Memcpy/gpu_memcpy #90 {device=0, stream=7, event_id=502, "
          "event_wait_ids=[501], correlation=#}",
          "counter 1500 counter GPU 0:power: 99.500000"));
  EXPECT_THAT(texts.warnings, IsEmpty());
}

TEST(PerfettoReader, ConvertsTimesOfOtherClocks) {
  const auto clock = [](uint64_t id, uint64_t time) { return Fields().Number(1, id).Number(2, time); };
  const Fields snapshot = Fields()
                              .Message(1, clock(6, 5000))
                              .Message(1, clock(1, kPacketsBegin))
                              .Message(1, clock(64, 10).Number(3, 1).Number(4, 1000));
  const auto event = [](uint64_t time, uint64_t of_clock) {
    return Packet(Fields()
                      .Number(8, time)
                      .Number(58, of_clock)
                      .Number(10, 1)
                      .Message(11, Fields().Number(9, 3).Number(11, 2).Bytes(23, "x")));
  };
  const BatchTexts texts = ReadPackets(Packet(Fields().Number(10, 1).Message(6, snapshot)) + event(2, 64) +
                                       event(3, 64) + event(kPacketsBegin + 7, 1) + event(6000, 6));
  EXPECT_THAT(texts.rows, ElementsAre("instant 7000 async ::2 x/", "instant 10000 async ::2 x/",
                                      "instant 5007 async ::2 x/", "instant 6000 async ::2 x/"));
  EXPECT_EQ(texts.facts.at("base_unix_ns"), std::to_string(kPacketsBegin - 5000));
}

TEST(PerfettoReader, KeepsWhatIsWholeOfACutFile) {
  const std::string content = TwoTracks();
  for (size_t size = 1; size < content.size(); ++size) {
    BatchTexts texts;
    ASSERT_TRUE(ReadPacketsInto(texts, content.substr(0, size)).ok()) << size;
    if (size == content.size() - 1) {
      EXPECT_THAT(texts.warnings, Contains(HasSubstr("it ends within a packet at byte")));
      EXPECT_THAT(texts.warnings, Contains("1 slices begin and never end"));
    }
  }
}

TEST(PerfettoReader, CountsWhatItDoesNotRead) {
  const BatchTexts texts =
      ReadPackets(Packet(Fields().Number(10, 1).Bytes(1, "sched")) + Packet(Fields().Number(10, 1).Bytes(1, "sched")) +
                  Packet(Fields().Number(10, 1).Bytes(33, "config")) + EventPacket(5, Fields().Number(11, 2)));
  EXPECT_EQ(texts.facts.at("source.unread_packets"), "{\"1\":2,\"33\":1}");
  EXPECT_THAT(texts.warnings, ElementsAre("1 events are of no known type: they were left out"));
}

TEST(PerfettoReader, RefusesMoreSlicesThanThereIsRoomFor) {
  std::string content;
  for (uint64_t i = 0; i < 2000; ++i) content += EventPacket(i * 1'000'000, BeginOf(2, "x"));
  BatchTexts texts;
  PerfettoLimits limits;
  limits.survey.bytes = 1000;
  const Status status = ReadPacketsInto(texts, content, limits);
  EXPECT_EQ(status.code(), ErrorCode::kBadInput);
  EXPECT_THAT(status.ToString(), HasSubstr("more slices than there is room for"));
}

TEST(PerfettoReader, LeavesEnvironmentsOut) {
  const BatchTexts texts = ReadPackets(EventPacket(
      5, Fields().Number(9, 3).Number(11, 2).Bytes(23, "x").Message(4, Annotation("env", "HF_TOKEN=secret\nA=b"))));
  for (const std::string& row : texts.rows) EXPECT_THAT(row, testing::Not(HasSubstr("secret")));
}

TEST(PerfettoReader, IsRecognisedByItsFirstPacket) {
  const auto looks = [](const std::string& text) { return LooksLikePerfetto(std::string_view(text).substr(0, 4096)); };
  EXPECT_TRUE(looks(TwoTracks()));
  EXPECT_TRUE(looks(RenderStages()));
  EXPECT_TRUE(looks(Packet(Fields().Number(10, 1).Message(12, Fields().Bytes(2, std::string(9000, 'x'))))));
  EXPECT_FALSE(
      looks("\n{\"traceEvents\": [{\"ph\": \"X\", \"name\": \"a\", \"ts\": 1, \"dur\": 2, \"pid\": 1, \"tid\": 1}]}" +
            std::string(200, ' ')));
  EXPECT_FALSE(looks("\n\n\n\n\n\n\n\n\n\n\n\n\n[]"));
  EXPECT_FALSE(looks(""));
  EXPECT_FALSE(looks("\n"));
}

TEST(SliceEnds, PairsByPlaceWhereThatNestsAndByTimeElse) {
  const auto durations = [](const std::vector<std::pair<int64_t, bool>>& events, bool by_place = false) {
    SliceEnds ends;
    for (const auto& [time, is_end] : events) is_end ? ends.AddEnd(time) : ends.AddBegin(time);
    ends.Finish(by_place);
    std::vector<int64_t> all;
    for (size_t i = 0; i < ends.begins(); ++i) all.push_back(ends.NextDuration());
    return all;
  };
  // In the order of time: a stack.
  EXPECT_THAT(durations({{0, false}, {1, false}, {1, true}, {9, true}}), ElementsAre(9, 0));
  // Begins, then ends in the same order: a parent of which a child takes no time.
  EXPECT_THAT(durations({{0, false}, {5, false}, {10, true}, {5, true}}), ElementsAre(10, 0));
  // Siblings that touch.
  EXPECT_THAT(durations({{0, false}, {5, false}, {10, false}, {5, true}, {10, true}, {15, true}}),
              ElementsAre(5, 5, 5));
  // Two of them are in the order of time, too: other tracks decide.
  EXPECT_THAT(durations({{0, false}, {5, false}, {5, true}, {10, true}}), ElementsAre(10, 0));
  EXPECT_THAT(durations({{0, false}, {5, false}, {5, true}, {10, true}}, true), ElementsAre(5, 5));
  EXPECT_THAT(durations({{0, false}, {5, false}, {6, true}, {10, true}}, true), ElementsAre(10, 1));
  // Begins, then ends by their times.
  EXPECT_THAT(durations({{0, false}, {1, false}, {3, false}, {2, true}, {4, true}, {10, true}}), ElementsAre(10, 1, 1));
  // Begins that are not in the order of time.
  EXPECT_THAT(durations({{20, false}, {0, false}, {30, true}, {10, true}}), ElementsAre(10, 10));
  // More begins than ends, more ends than begins.
  EXPECT_THAT(durations({{5, false}, {0, false}, {7, true}}), ElementsAre(2, kNoValue));
  EXPECT_THAT(durations({{5, true}, {7, false}, {0, true}}), ElementsAre(kNoValue));
  EXPECT_THAT(durations({{-kMostTimeNs + 1, false}, {kMostTimeNs - 1, true}}), ElementsAre(int64_t{1} << 61));
}

}  // namespace
}  // namespace kprof
