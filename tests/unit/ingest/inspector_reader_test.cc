#include "daemon/ingest/nccl/inspector_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "daemon/ingest/assemble/looking_sink.h"
#include "tests/fakes/ingest/batch_texts.h"
#include "tests/fakes/ingest/memory_text.h"

namespace kprof {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// As NCCL Inspector 4.0 writes it; `more`: members behind the performance's others.
std::string LogLine(const std::string& id, int rank, int ranks, int sequence, int took_us,
                    const std::string& more = "") {
  return R"({"header":{"id":")" + id + R"(","rank":)" + std::to_string(rank) + R"(,"n_ranks":)" +
         std::to_string(ranks) +
         R"(,"nnodes":1},"metadata":{"inspector_output_format_version":"v4.0","git_rev":"","rec_mechanism":"profiler_plugin",)"
         R"("dump_timestamp_us":1748030377748202,"hostname":"secret-host","pid":163},"coll_perf":{"coll":"AllReduce","coll_sn":)" +
         std::to_string(sequence) + R"(,"coll_msg_size_bytes":1048576,"coll_exec_time_us":)" + std::to_string(took_us) +
         R"(,"coll_timing_source":"kernel_gpu","coll_algobw_gbs":277.25,"coll_busbw_gbs":485.119099)" + more + "}}\n";
}

std::string LogTimes(int64_t called_us, int64_t kernel_us) {
  return R"(,"event_trace_sn":{"coll_start_sn":1,"kernel_events":[{"channel_id":0,"kernel_start_sn":3}]},"event_trace_ts":)"
         R"({"coll_start_ts":)" +
         std::to_string(called_us) + R"(,"coll_stop_ts":1,"kernel_events":[{"channel_id":0,"kernel_start_ts":)" +
         std::to_string(kernel_us + 3) + R"(},{"channel_id":1,"kernel_start_ts":)" + std::to_string(kernel_us) + "}]}";
}

Status ReadLogInto(BatchTexts& texts, const std::string& content) {
  MemoryText text(content);
  return ReadNcclInspector(text, texts, 1 << 20);
}

TEST(InspectorReader, PutsSlicesWithoutTimesOneBehindTheOther) {
  BatchTexts texts;
  ASSERT_TRUE(ReadLogInto(texts, LogLine("0xab", 2, 8, 5, 10) + LogLine("0xab", 2, 8, 6, 20)).ok());
  const std::string args =
      "msg_size_bytes=1048576, timing_source='kernel_gpu', algbw_gb_per_s=27725e-2, "
      "busbw_gb_per_s=485119099e-6, dumped_unix_us=1748030377748202}";
  ASSERT_EQ(texts.rows.size(), 2u);
  EXPECT_THAT(texts.rows[0], HasSubstr("slice 0+10000 async 163:NCCL 0xab rank 2: nccl:AllReduce/nccl_collective"));
  EXPECT_THAT(texts.rows[0], HasSubstr("Seq=5, " + args));
  EXPECT_THAT(texts.rows[1], HasSubstr("slice 10000+20000"));
  EXPECT_EQ(texts.facts.at("begin_times"), "unknown");
  EXPECT_EQ(texts.facts.at("rank"), "2");
  EXPECT_EQ(texts.facts.at("world_size"), "8");
  EXPECT_EQ(texts.facts.count("base_unix_ns"), 0u);
  EXPECT_THAT(texts.warnings, ElementsAre(HasSubstr("NCCL_INSPECTOR_DUMP_VERBOSE=1")));
  for (const auto& [name, value] : texts.facts) EXPECT_THAT(value, testing::Not(HasSubstr("secret-host")));
}

TEST(InspectorReader, BeginsAtTheFirstKernelOfAnyChannel) {
  BatchTexts texts;
  ASSERT_TRUE(
      ReadLogInto(texts, LogLine("0xab", 0, 2, 5, 10, LogTimes(1'748'030'377'000'000, 1'748'030'377'000'100))).ok());
  EXPECT_THAT(texts.rows, ElementsAre(HasSubstr("slice 1748030377000100000+10000 ")));
  EXPECT_THAT(texts.rows, ElementsAre(HasSubstr("channels=2, called_unix_us=1748030377000000")));
  EXPECT_EQ(texts.facts.at("begin_times"), "known");
  EXPECT_EQ(texts.facts.at("base_unix_ns"), "0");
  EXPECT_THAT(texts.warnings, IsEmpty());
}

TEST(InspectorReader, HasTheRankOfTheLargestCommunicator) {
  BatchTexts texts;
  ASSERT_TRUE(
      ReadLogInto(texts, LogLine("0x2", 1, 2, 1, 5) + LogLine("0x1", 5, 8, 1, 5) + LogLine("0x3", 0, 4, 1, 5)).ok());
  EXPECT_EQ(texts.facts.at("rank"), "5");
  EXPECT_EQ(texts.facts.at("world_size"), "8");
}

TEST(InspectorReader, ReadsPointToPointAndObjectsOverSeveralLines) {
  const std::string p2p = R"({
  "header": {"id": "0xab", "comm_name": "tp", "rank": 0, "n_ranks": 2, "nnodes": 2},
  "metadata": {"pid": 7},
  "p2p_perf": {"p2p": "Send", "p2p_sn": 3, "p2p_peer": 1, "p2p_msg_size_bytes": 64, "p2p_exec_time_us": 9}
})";
  BatchTexts texts;
  ASSERT_TRUE(ReadLogInto(texts, p2p + "\n" + p2p).ok());
  ASSERT_EQ(texts.rows.size(), 2u);
  EXPECT_THAT(texts.rows[0],
              HasSubstr("nccl:Send/nccl_p2p {communicator='0xab', Process Group Name='tp', communicator_rank=0, Group "
                        "size=2, nodes=2, p2p_sn=3, peer=1, msg_size_bytes=64}"));
}

TEST(InspectorReader, LeavesOutWhatIsTornAndSaysHowManyAreMissing) {
  const std::string whole = LogLine("0xab", 0, 2, 5, 10);
  BatchTexts texts;
  ASSERT_TRUE(ReadLogInto(texts, whole.substr(0, 90) + "\n" + whole + "{}\n" + LogLine("0xab", 0, 2, 9, 10) +
                                     whole.substr(0, 60))
                  .ok());
  EXPECT_EQ(texts.rows.size(), 2u);
  EXPECT_THAT(texts.warnings, Contains("2 lines are cut off, or no JSON: they were left out"));
  EXPECT_THAT(texts.warnings, Contains("1 objects are no operation, or have no duration: they were left out"));
  EXPECT_THAT(texts.warnings, Contains(HasSubstr("3 collectives are missing between the others")));
}

TEST(InspectorReader, FailsWithoutAnyOperation) {
  BatchTexts texts;
  const Status status = ReadLogInto(texts, R"({"header":{"id":"0x1","n_ranks":2}})");
  EXPECT_EQ(status.code(), ErrorCode::kBadInput);
  EXPECT_THAT(status.ToString(), HasSubstr("it has no operation that can be read"));
}

TEST(InspectorReader, TellsTheRankAndTheJobInALook) {
  LookingSink sink(false, true);
  MemoryText text(LogLine("0xab", 3, 8, 1, 5));
  ASSERT_TRUE(ReadNcclInspector(text, sink, 1 << 20).ok());
  const SourceFacts facts = sink.TakeFacts();
  EXPECT_EQ(facts.rank, 3);
  EXPECT_EQ(facts.world_size, 8);
  EXPECT_EQ(facts.job, "0xab");
  EXPECT_TRUE(facts.joins_trace);
}

TEST(InspectorReader, IsRecognisedByTheHeaderOfItsFirstObject) {
  const auto looks = [](const std::string& text) {
    return LooksLikeNcclInspector(std::string_view(text).substr(0, 4096));
  };
  EXPECT_TRUE(looks(LogLine("0xab", 3, 8, 1, 5)));
  EXPECT_TRUE(looks("\n " + LogLine("0xab", 3, 8, 1, 5).substr(0, 80)));
  EXPECT_FALSE(looks(R"({"header": 5})"));
  EXPECT_FALSE(looks(R"({"traceEvents": [], "header": {"id": "0x1", "n_ranks": 2}})"));
  EXPECT_FALSE(looks("[]"));
  EXPECT_FALSE(looks(""));
}

}  // namespace
}  // namespace kprof
