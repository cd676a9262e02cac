#include "daemon/ingest/assemble/looking_sink.h"

#include <gtest/gtest.h>

#include "daemon/ingest/source_reader.h"
#include "tests/fakes/ingest/chrome_samples.h"
#include "tests/fakes/ingest/packed.h"
#include "tests/unit/ingest/made_source.h"

namespace kprof {
namespace {

Result<SourceFacts> Look(const std::string& content) {
  const MadeSource source(content);
  WorkerPool pool({.threads = 1});
  return LookAtSource(source.file(), {.threads = 1}, pool);
}

constexpr const char* kInfo =
    R"("distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8, "nccl_version": "2.21.5", "pg_config": [)"
    R"({"pg_name": "0", "pg_desc": "default_pg", "pg_size": 8, "ranks": [1, 0, 2, 3, 4, 5, 6, 7]}, {"pg_name": "4"}]})";
constexpr const char* kEvent = R"({"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1700000000000000.5, "dur": 1})";

TEST(LookingSink, TellsWhatASourceSaysOfItsJobWhereverThatStands) {
  const std::string events = R"("traceEvents": [)" + std::string(kEvent) + "]";
  for (const std::string& text :
       {"{" + std::string(kInfo) + "," + events + "}", "{" + events + "," + std::string(kInfo) + "}"}) {
    for (const std::string& content : {text, Gzip(text)}) {
      const Result<SourceFacts> facts = Look(content);
      ASSERT_TRUE(facts.ok()) << facts.status().ToString();
      EXPECT_EQ(facts->rank, 3);
      EXPECT_EQ(facts->world_size, 8);
      EXPECT_EQ(facts->backend + " " + facts->library, "nccl 2.21.5");
      ASSERT_EQ(facts->groups.size(), 1u);
      EXPECT_EQ(facts->groups[0].name, "0");
      EXPECT_EQ(facts->groups[0].ranks.back(), 7);
      EXPECT_EQ(facts->start_unix_ns, 1'700'000'000'000'000'500);
    }
  }
}

TEST(LookingSink, ReadsNoFurtherThanItMust) {
  // Damage behind the first events does not matter.
  const std::string content = "{" + std::string(kInfo) + R"(, "traceEvents": [)" + ManyEvents(20'000) + ", {\"broken";
  EXPECT_EQ(Look(content)->rank, 3);
}

TEST(LookingSink, SeesTheBeginningAndTheEndOfALongSource) {
  // The broken event is not come to, and the lists behind are none of the trace's.
  const std::string events = R"("traceEvents": [)" + ManyEvents(60'000) + R"(, {"args": {"a": [1, 2], "b": "]"}}, )" +
                             ManyEvents(60'000) + "]";
  ASSERT_GT(events.size(), size_t{10} << 20);
  const std::string text = "{" + events + R"(, "list": [{"x": [7], "y": 1}], )" + std::string(kInfo) + R"(, "z": 1} )";
  for (const std::string& content : {text, Gzip(text)}) {
    const Result<SourceFacts> facts = Look(content);
    ASSERT_TRUE(facts.ok()) << facts.status().ToString();
    EXPECT_EQ(facts->rank, 3);
    EXPECT_EQ(facts->groups.size(), 1u);
  }
  EXPECT_FALSE(Look("{" + events + R"(, "distributedInfo": {"rank": 3})")->says_job());  // cut off
  EXPECT_FALSE(Look("{" + events + "}")->says_job());
  const std::string in_the_middle = "{" + events + "," + kInfo + R"(, "more": ")" + std::string(1 << 20, 'x') + "\"}";
  EXPECT_FALSE(Look(in_the_middle)->says_job());
}

TEST(LookingSink, SaysNothingOfASourceWhoseEventsBeginTooLate) {
  EXPECT_FALSE(Look(R"({"deviceProperties": ")" + std::string(5 << 20, 'x') + R"(", "traceEvents": []})")->says_job());
}

TEST(LookingSink, TellsTheIdOfAJobInAnyOfItsSpellings) {
  const auto job_of = [](const std::string& member) {
    return Look("{" + member + R"(, "traceEvents": [)" + kEvent + "]}")->job;
  };
  EXPECT_EQ(job_of(R"("job_id": 77)"), "77");
  EXPECT_EQ(job_of(R"("SLURM_JOB_ID": "78")"), "78");
  EXPECT_EQ(job_of(R"("distributedInfo": {"rank": 0, "jobId": "a\tb"})"), "a\tb");
  EXPECT_EQ(job_of(R"("TORCHELASTIC_RUN_ID": "none", "job_id": 7)"), "7");
  for (const char* none : {R"("job_id": "0")", R"("job_id": "NULL")", R"("job_id": "")", R"("job_id": "N/A")",
                           R"("job_id": {"a": 1})", R"("jobs": 5)"})
    EXPECT_EQ(job_of(none), "");
}

TEST(LookingSink, CountsTimesFromTheBaseOfTheSource) {
  EXPECT_EQ(Look(R"({"distributedInfo": {"rank": 0}, "baseTimeNanoseconds": 1719853884000000000, "traceEvents":
                 [{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1000000.0, "dur": 1}]})")
                ->start_unix_ns,
            1'719'853'885'000'000'000);
  // The base stands behind the events.
  const Result<SourceFacts> late = Look(R"({"distributedInfo": {"rank": 0}, "traceEvents":
                 [{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1212075548353.304, "dur": 1}],
                 "baseTimeNanoseconds": 1719853884000000000})");
  EXPECT_EQ(late->start_unix_ns, std::nullopt);
  EXPECT_EQ(late->start_of_quarter_ns, 1'212'075'548'353'304);
  EXPECT_EQ(Look(R"([{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 5, "dur": 1}])")->start_unix_ns, std::nullopt);
  EXPECT_FALSE(Look(R"([{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 5, "dur": 1}])")->says_job());
}

TEST(LookingSink, TellsOfAProfileOfLinesThatItJoinsATrace) {
  const Result<SourceFacts> facts =
      Look(R"({"alloc_samples": 0, "elapsed_time_sec": 2, "files": {}, "start_time_absolute": 1700000000.5})");
  ASSERT_TRUE(facts.ok()) << facts.status().ToString();
  EXPECT_TRUE(facts->joins_trace && !facts->says_job());
  EXPECT_EQ(facts->start_unix_ns, 1'700'000'000'500'000'000);
}

TEST(LookingSink, SaysOfWhatIsNoTraceThatItIsNone) {
  EXPECT_EQ(Look("{\"model\": 7}").status().code(), ErrorCode::kNotFound);
  EXPECT_EQ(Look("words").status().code(), ErrorCode::kNotFound);
}

TEST(ReadRankGroups, KeepsNoMoreThanItsLimits) {
  std::string list = "[";
  for (int i = 0; i < 1000; ++i) list += R"({"pg_name": ")" + std::to_string(i) + R"(", "ranks": [1, 0]},)";
  const std::vector<SourceFacts::Group> groups = ReadRankGroups(list + "]");
  EXPECT_EQ(groups.size(), kMostFactGroups);
  std::string many = R"([{"pg_name": "0", "ranks": [)";
  for (size_t i = 0; i < 2 * kMostFactRanks; ++i) many += std::to_string(i) + ",";
  EXPECT_TRUE(ReadRankGroups(many + "0]}]").empty());
  for (const char* odd : {"", "7", "[", "[7, null]", R"([{"pg_name": 7, "ranks": ["x"]}])", R"([{"ranks": [0]}])"}) {
    EXPECT_TRUE(ReadRankGroups(odd).empty()) << odd;
  }
}

}  // namespace
}  // namespace kprof
