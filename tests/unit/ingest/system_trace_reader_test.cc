#include "daemon/ingest/neuron/system_trace_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>

#include "tests/fakes/ingest/batch_texts.h"
#include "tests/fakes/ingest/memory_text.h"

namespace kprof {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;

constexpr const char* kBase = "1780000000000000";  // without its last three digits

std::string RawHalf(const std::string& type, const std::string& phase, const std::string& tracking, int at,
                    const std::string& data = "", const std::string& more = "") {
  return R"({"event_type":")" + type + R"(","phase":")" + phase +
         R"(","id":1,"nc_idx":0,"nc_local_id":0,"tracking_id":)" + tracking +
         R"(,"thread_id":7,"worker_gid":3,"data":{)" + data + R"(},"timestamp_ns":)" + kBase + std::to_string(at) +
         more + "}";
}
std::string RawTrace(const std::string& events) {
  return "{\"events\":[" + events + "],\"data_version\":2}";
}

Status ReadInto(BatchTexts& texts, const std::string& content, int64_t most_event_bytes = 1 << 20) {
  MemoryText text(content);
  const Status status = ReadNeuronSystem(text, texts, most_event_bytes);
  EXPECT_FALSE(text.read_released);
  return status;
}

TEST(SystemTraceReader, PairsHalvesWhateverTheirOrder) {
  BatchTexts texts;
  ASSERT_TRUE(ReadInto(texts, RawTrace(RawHalf("nrt_tensor_read", "stop", "9007199254740993", 300) + "," +
                                       RawHalf("nrt_tensor_read", "start", "9007199254740993", 100,
                                               R"("tensor_id":"12","size":4096)")))
                  .ok());
  EXPECT_THAT(texts.side_rows,
              ElementsAre("neuron_event nrt_tensor_read NULL 3 7 0 NULL NULL 9007199254740993 NULL NULL 0 "
                          "200 NULL NULL 4096 NULL"));
  EXPECT_THAT(texts.rows, ElementsAre(AllOf(HasSubstr("slice 1780000000000000100+200"), HasSubstr("nrt_tensor_read"),
                                            HasSubstr("tensor_id=12, size=4096"))));
  EXPECT_EQ(texts.facts.at("time_zero_ns"), "1780000000000000100");
  EXPECT_EQ(texts.facts.at("base_unix_ns"), "0");
  EXPECT_EQ(texts.facts.at("source.data_version"), "2");
  EXPECT_THAT(texts.warnings, IsEmpty());
}

TEST(SystemTraceReader, ReadsWholeEventsOfBothSpellingsWithNumbersAsTexts) {
  const std::string event =
      R"({"name":"nc_exec_running","timestamp":"1780000000000000500","duration":"250","process_id":"4711","thread_id":0,)"
      R"("worker_gid":"2","nc_idx":1,"lnc_idx":"5","device_core_idx":"3","exec_id":"18014398509481985","model_name":"graph \"a\"",)"
      R"("size":"64","group":"nrt-nc-000","instance_id":"i-1"})";
  for (const char* key : {"trace_event", "trace_events"}) {
    BatchTexts texts;
    ASSERT_TRUE(
        ReadInto(texts,
                 std::string("{\"system_profile_metadata\":[{\"a\":[1,{\"b\":\"}\"}]}],\"") + key + "\":[" + event +
                     "],\"device_profile_list\":[{\"x\":1}],\"mem_usage\":[{\"timestamp\":\"1780000000000000600\","
                     "\"usage\":\"5\",\"percent_usage\":2.5,\"duration\":1,\"instance_id\":\"i-1\"}],"
                     "\"cpu_util\":[{\"cpu_id\":\"average\",\"timestamp\":1780000000000000600,\"util\":40}],"
                     "\"device_mem_usage\":[{\"hbm_idx\":0,\"total_bytes\":7}]}")
            .ok())
        << key;
    EXPECT_THAT(texts.side_rows,
                ElementsAre("neuron_event nc_exec_running 4711 2 0 5 3 18014398509481985 NULL NULL graph \"a\" 0 "
                            "250 NULL NULL 64 i-1"));
    EXPECT_THAT(texts.rows, Contains(HasSubstr("NeuronCore 5 core 3")));
    EXPECT_THAT(texts.rows, Contains(AllOf(HasSubstr("counter 1780000000000000600"), HasSubstr("host memory usage"))));
    EXPECT_THAT(texts.rows, Contains(HasSubstr("cpu average util")));
    EXPECT_THAT(texts.warnings, ElementsAre(HasSubstr("1 samples of memory or processors have no time")));
  }
}

TEST(SystemTraceReader, ReadsAListWithoutAnObjectAroundIt) {
  BatchTexts texts;
  ASSERT_TRUE(ReadInto(texts, "[" + RawHalf("nrt_execute", "start", "1", 100) + " , " +
                                  RawHalf("nrt_execute", "stop", "1", 200) + "]")
                  .ok());
  EXPECT_EQ(texts.rows.size(), 1u);
}

TEST(SystemTraceReader, PassesALogAndTellsWhatItSaysWasDropped) {
  BatchTexts texts;
  ASSERT_TRUE(ReadInto(texts,
                       "INFO reading {x}\nWarning: 1001 trace events were dropped during capture (stored 530560 out of "
                       "531561 total events).\n" +
                           RawTrace(RawHalf("nrt_execute", "start", "1", 100)) + "\ndone\n")
                  .ok());
  EXPECT_EQ(texts.facts.at("neuron.dropped_events"), "1001");
  EXPECT_THAT(texts.warnings, Contains(HasSubstr("1001 events were dropped")));
  EXPECT_THAT(texts.warnings, Contains(HasSubstr("1 events begin and never end")));
  EXPECT_THAT(texts.side_rows, ElementsAre(HasSubstr("nrt_execute")));
}

TEST(SystemTraceReader, PutsCoresOnTheHostsClockByTheirOwnPoints) {
  const auto device = [](const std::string& type, const std::string& phase, const std::string& tracking, int64_t ns,
                         const std::string& data) {
    return R"({"event_type":")" + type + R"(","phase":")" + phase + R"(","nc_idx":0,"tracking_id":)" + tracking +
           R"(,"data":{"nc_timestamp_ns":)" + std::to_string(ns) + data + R"(},"timestamp_ns":)" + std::to_string(ns) +
           "}";
  };
  const std::string point0 = device("timestamp_sync_point", "instant", "9", 5'000,
                                    R"(,"exec_id":1,"device_core_idx":0,"cpu_timestamp_ns":1780000000000005000)");
  const std::string point1 = device("timestamp_sync_point", "instant", "10", 90'400,
                                    R"(,"exec_id":1,"device_core_idx":1,"cpu_timestamp_ns":1780000000000005000)");
  const std::string rows = device("nc_exec_running", "start", "1", 4'000, R"(,"exec_id":1,"device_core_idx":0)") + "," +
                           device("nc_exec_running", "start", "2", 89'500, R"(,"exec_id":1,"device_core_idx":1)") +
                           "," + device("nc_exec_running", "stop", "1", 4'800, "") + "," +
                           device("nc_exec_running", "stop", "2", 90'300, "");
  BatchTexts texts;
  ASSERT_TRUE(ReadInto(texts, RawTrace(rows + "," + point0 + "," + point1)).ok());
  EXPECT_THAT(texts.rows, UnorderedElementsAre(HasSubstr("slice 1780000000000004000+800 "),
                                               HasSubstr("slice 1780000000000004100+800 "), HasSubstr("instant "),
                                               HasSubstr("instant ")));
  EXPECT_THAT(texts.warnings, IsEmpty());

  // The second core has no point: that of the first says nothing of it.
  BatchTexts without;
  ASSERT_TRUE(ReadInto(without, RawTrace(rows + "," + point0)).ok());
  EXPECT_THAT(without.rows, UnorderedElementsAre(HasSubstr("slice 1780000000000004000+800 "), HasSubstr("instant ")));
  EXPECT_THAT(without.side_rows, Contains(HasSubstr("0 1 1 2 NULL NULL NULL NULL 89500 90300")));
  EXPECT_THAT(without.warnings, ElementsAre(HasSubstr("1 events of the device have no timestamp_sync_point")));
}

TEST(SystemTraceReader, SaysThatClocksAreMixed) {
  BatchTexts texts;
  ASSERT_TRUE(
      ReadInto(
          texts,
          RawTrace(
              RawHalf("nc_exec_running", "start", "1", 100, R"("nc_timestamp_ns":55,"exec_id":1)") + "," +
              RawHalf("nc_exec_running", "stop", "1", 200, R"("nc_timestamp_ns":155)") +
              R"(,{"event_type":"nc_exec_running","phase":"start","nc_idx":0,"tracking_id":2,"worker_gid":3,"data":{"nc_timestamp_ns":400,"exec_id":2},"timestamp_ns":400})"
              R"(,{"event_type":"nc_exec_running","phase":"stop","nc_idx":0,"tracking_id":2,"worker_gid":3,"data":{"nc_timestamp_ns":450},"timestamp_ns":450})"
              R"(,{"event_type":"timestamp_sync_point","phase":"instant","nc_idx":0,"tracking_id":3,"worker_gid":3,"data":{"nc_timestamp_ns":460,"exec_id":2,"cpu_timestamp_ns":1780000000000000900},"timestamp_ns":460})"))
          .ok());
  EXPECT_THAT(texts.rows, Contains(HasSubstr("slice 1780000000000000100+100 ")));
  EXPECT_THAT(texts.rows, Contains(HasSubstr("slice 1780000000000000840+50 ")));
  EXPECT_THAT(texts.warnings,
              ElementsAre(HasSubstr("2 times of the device are those of its cores' own clocks, and 2 are the host's")));
}

TEST(SystemTraceReader, CountsWhatIsOdd) {
  BatchTexts texts;
  ASSERT_TRUE(ReadInto(texts, RawTrace(RawHalf("of_tomorrow", "start", "1", 100) + "," +
                                       RawHalf("of_tomorrow", "stop", "1", 200) + "," +
                                       RawHalf("nrt_execute", "stop", "2", 200) + "," +
                                       RawHalf("nrt_tensor_read", "gone", "3", 250) +
                                       R"(,{"event_type":"nrt_execute","phase":"start","tracking_id":5},17,{"a":1},)" +
                                       RawHalf("hw_notify", "instant", "4", 300)))
                  .ok());
  EXPECT_THAT(
      texts.warnings,
      UnorderedElementsAre(
          "1 events end and never begin: a ring buffer overwrote its oldest events, or the capture "
          "began later",
          HasSubstr("1 events have no type, or no time"), HasSubstr("1 events have a phase that is not known"),
          "2 events are of types that are not known: of_tomorrow", HasSubstr("1 places of its lists are no object"),
          HasSubstr("1 objects of its events have neither a type nor a time")));
}

TEST(SystemTraceReader, KeepsWhatIsWholeOfATextThatIsCutOff) {
  const std::string whole =
      RawTrace(RawHalf("nrt_execute", "start", "1", 100) + "," + RawHalf("nrt_execute", "stop", "1", 200) + "," +
               RawHalf("nrt_execute", "start", "2", 300));
  const size_t third = whole.rfind("{\"event_type\"");
  for (size_t size = third + 1; size < whole.size() - 20; ++size) {
    BatchTexts texts;
    ASSERT_TRUE(ReadInto(texts, whole.substr(0, size)).ok()) << size;
    EXPECT_THAT(texts.rows, Contains(HasSubstr("slice 1780000000000000100+100 "))) << size;
    EXPECT_THAT(texts.warnings, Contains(AllOf(HasSubstr("in the middle"), HasSubstr("events before were kept"))))
        << size;
  }
  BatchTexts none;
  const Status cut = ReadInto(none, whole.substr(0, 40));
  EXPECT_EQ(cut.code(), ErrorCode::kBadInput);
  EXPECT_THAT(cut.ToString(), HasSubstr("before its first event"));
}

TEST(SystemTraceReader, GoesOnBehindWhatIsNoJson) {
  BatchTexts texts;
  ASSERT_TRUE(ReadInto(texts, RawTrace(RawHalf("nrt_execute", "start", "1", 100) +
                                       R"(,{"event_type":"nrt_execute",,,"phase":{]},)" +
                                       RawHalf("nrt_execute", "stop", "1", 200)))
                  .ok());
  EXPECT_THAT(texts.rows, ElementsAre(HasSubstr("slice 1780000000000000100+100 ")));
  EXPECT_THAT(texts.warnings, ElementsAre(HasSubstr("1 places of its lists are no object")));
}

TEST(SystemTraceReader, RefusesWhatHasNoEvents) {
  BatchTexts texts;
  const Status status = ReadInto(texts, R"({"instruction":[{"a":1}],"summary":[{}]})");
  EXPECT_EQ(status.code(), ErrorCode::kNotFound);
  EXPECT_THAT(status.ToString(), HasSubstr("no list of events"));
}

TEST(SystemTraceReader, ReadsEventsAcrossPieces) {
  std::string events;
  constexpr int kMany = 60'000;
  for (int i = 0; i < kMany; ++i) {
    const std::string tracking = std::to_string(int64_t{i} + (int64_t{9} << 50));
    events += (i == 0 ? "" : ",") + RawHalf("nrt_execute", "start", tracking, 100 + i % 400) + "," +
              RawHalf("nrt_execute", "stop", tracking, 600 + i % 300);
  }
  BatchTexts texts;
  ASSERT_TRUE(ReadInto(texts, RawTrace(events)).ok());
  EXPECT_EQ(texts.side_rows.size(), static_cast<size_t>(kMany));
  EXPECT_THAT(texts.warnings, IsEmpty());
}

// Bytes changed, taken out and put in at random places: it ends, and says only what a sink may be told.
TEST(SystemTraceReader, EndsWhateverIsBroken) {
  const std::string whole =
      RawTrace(RawHalf("nrt_execute", "start", "1", 100, R"("exec_id":1,"a":[1,{"b":"\\u00e9"}],"c":-1.5e3)") + "," +
               RawHalf("nc_exec_running", "start", "2", 150, R"("nc_timestamp_ns":5,"exec_id":1,"device_core_idx":0)") +
               "," + RawHalf("nc_exec_running", "stop", "2", 180, R"("nc_timestamp_ns":9)") + "," +
               RawHalf("timestamp_sync_point", "instant", "3", 190,
                       R"("nc_timestamp_ns":9,"exec_id":1,"cpu_timestamp_ns":1780000000000000190)") +
               "," + RawHalf("nrt_execute", "stop", "1", 200));
  std::mt19937 random(7);
  constexpr std::string_view kBytes = "{}[]\",:\\0189-eE.tfn \n\xff";
  for (int turn = 0; turn < 5'000; ++turn) {
    std::string text = whole;
    for (unsigned changes = random() % 6 + 1; changes > 0; --changes) {
      const size_t at = random() % text.size();
      const char byte = kBytes[random() % kBytes.size()];
      switch (random() % 4) {
        case 0:
          text[at] = byte;
          break;
        case 1:
          text.erase(at, random() % 20 + 1);
          break;
        case 2:
          text.insert(at, random() % 3 + 1, byte);
          break;
        default:
          text.insert(at, text.substr(random() % text.size(), random() % 60));
      }
      if (text.empty()) text = "{";
    }
    SCOPED_TRACE(text);
    BatchTexts texts;
    (void)ReadInto(texts, text, 4'096);
    if (HasFailure()) return;
  }
}

TEST(SystemTraceReader, EndsWithItsSink) {
  BatchTexts texts;
  texts.fail_at_take = 1;
  EXPECT_EQ(ReadInto(texts, RawTrace(RawHalf("nrt_execute", "start", "1", 100))).code(), ErrorCode::kStorageFull);
}

TEST(SystemTraceReader, KnowsItsOwn) {
  const auto looks = [](const std::string& text) { return LooksLikeNeuronSystem(text); };
  EXPECT_TRUE(looks(RawTrace(RawHalf("nrt_execute", "start", "1", 100))));
  EXPECT_TRUE(looks("INFO: a log\n{\"trace_event\": [{\"name\": \"a\"}]}"));
  EXPECT_TRUE(looks("{\"system_profile_metadata\":[]"));
  EXPECT_FALSE(looks("{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"event_type\"}]}"));
  EXPECT_FALSE(looks("{\"kernel_calls\":[],\"events_json\":\"{\\\"events\\\":[{\\\"event_type\\\"\"}"));
  EXPECT_FALSE(looks(R"({"instruction":[],"summary":[]})"));
  EXPECT_FALSE(looks("no JSON \"trace_event\""));
  EXPECT_EQ(DroppedEventsIn("Warning: 7 trace events were dropped during x\n13 trace events were dropped"), 20);
  EXPECT_EQ(DroppedEventsIn("no trace events were dropped"), 0);
}

}  // namespace
}  // namespace kprof
