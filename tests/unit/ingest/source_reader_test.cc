#include "daemon/ingest/source_reader.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "daemon/ingest/source/source_hash.h"
#include "daemon/ingest/source/text_source.h"
#include "storage/base/descriptors.h"
#include "tests/fakes/base/no_more_threads.h"
#include "tests/fakes/ingest/chrome_samples.h"
#include "tests/fakes/ingest/growing_source.h"
#include "tests/fakes/ingest/memory_part.h"
#include "tests/fakes/ingest/packed.h"
#include "tests/unit/ingest/made_source.h"

namespace kprof {
namespace {

using Rows = std::vector<std::string>;

class SourceReaderTest : public testing::Test {
 protected:
  Result<ReadSourceResult> Read(const std::string& content, const SourceReading& reading = {},
                                const std::stop_token& stop = {}) {
    return ReadOn(pool_, content, reading, stop);
  }
  Result<ReadSourceResult> ReadOn(WorkerPool& pool, const std::string& content, const SourceReading& reading = {},
                                  const std::stop_token& stop = {}) {
    part_ = MemoryPart();
    progress_ = {};
    fd_ = UniqueFd(::memfd_create("source", MFD_CLOEXEC));
    KPROF_CHECK(::write(fd_.get(), content.data(), content.size()) == static_cast<ssize_t>(content.size()));
    const SourceFile source = *SourceFile::Open(fd_.get(), "trace.json");
    return ReadSource(
        source, reading, pool, part_, [&](int64_t bytes, int64_t) { progress_.push_back(bytes); }, stop);
  }
  Status Failure(const std::string& content, const SourceReading& reading = {}) {
    const Result<ReadSourceResult> read = Read(content, reading);
    return read.ok() ? OkStatus() : read.status();
  }

  UniqueFd fd_;
  WorkerPool pool_{{.threads = 2}};
  MemoryPart part_;
  std::vector<int64_t> progress_;
};

TEST_F(SourceReaderTest, APackedSourceIsWhatItIsPlain) {
  const std::string trace = "{\"traceEvents\":[" + ManyEvents(500) + "]}";
  ASSERT_TRUE(Read(trace).ok());
  const Rows plain = part_.Rows(EventKind::kSlice);
  EXPECT_EQ(plain.size(), 500u);
  EXPECT_EQ(progress_.back(), static_cast<int64_t>(trace.size() - 2));
  for (const std::string& packed : {Gzip(trace), Zstd(trace), Gzip(trace.substr(0, 100)) + Gzip(trace.substr(100))}) {
    const Result<ReadSourceResult> read = Read(packed);
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    EXPECT_EQ(part_.Rows(EventKind::kSlice), plain);
    EXPECT_EQ(read->warnings, Rows{});
    EXPECT_EQ(read->hash, *HashSource(fd_.get(), {}));
    EXPECT_EQ(progress_.back(), static_cast<int64_t>(packed.size()));
  }
}

// Of everything that a part holds.
TEST_F(SourceReaderTest, ASourceThatStillComesIsWhatItIsWhole) {
  const std::string small = "{\"traceEvents\":[" + ManyEvents(300) + "],\"a\":1}";
  const std::string large = "[" + ManyEvents(130'000) + "]\n\n";
  ASSERT_GT(large.size(), 2 * kHashBlockBytes);
  const std::pair<std::string, std::vector<size_t>> cases[] = {
      {small, {1, 7}},
      {Gzip(small), {1}},
      {Zstd(small), {1}},
      {large, {kHashBlockBytes - 1, 100'000, large.size()}},
      {Gzip(large), {1000, kHashBlockBytes}},
      {Zstd(large), {1000, kHashBlockBytes}},
      {large.substr(0, 2 * kHashBlockBytes), {kHashBlockBytes}},
      {Gzip(large).substr(0, 50'000), {999}},
  };
  for (const auto& [content, steps] : cases) {
    const Result<ReadSourceResult> whole = Read(content);
    ASSERT_TRUE(whole.ok()) << whole.status().ToString();
    const MemoryPart wanted = part_;
    for (const size_t step : steps) {
      part_ = MemoryPart();
      GrowingSource source;
      source.Send(content, step);
      const SourceFile file = *SourceFile::OpenGrowing(source.fd(), "trace.json", source.growth());
      const Result<ReadSourceResult> read = ReadSource(file, {}, pool_, part_, [](int64_t, int64_t) {}, {});
      ASSERT_TRUE(read.ok()) << read.status().ToString();
      EXPECT_EQ(read->hash, whole->hash) << step;
      EXPECT_EQ(read->warnings, whole->warnings) << step;
      for (const EventKind kind : {EventKind::kSlice, EventKind::kInstant, EventKind::kMetadata}) {
        EXPECT_TRUE(part_.Rows(kind) == wanted.Rows(kind)) << step;
      }
      EXPECT_TRUE(part_.strings == wanted.strings) << step;
      EXPECT_EQ(part_.facts, wanted.facts) << step;
    }
  }
}

TEST_F(SourceReaderTest, ADatabaseThatStillComesIsReadOnceItIsWhole) {
  const std::string content = DatabaseOf("CREATE TABLE t (x)");
  GrowingSource source;
  source.Send(content, 1000);
  const SourceFile file = *SourceFile::OpenGrowing(source.fd(), "trace.json", source.growth());
  const Result<ReadSourceResult> read = ReadSource(file, {}, pool_, part_, [](int64_t, int64_t) {}, {});
  EXPECT_EQ(read.status().ToString(), Failure(content).ToString());
}

TEST_F(SourceReaderTest, ASourceThatIsWholeAndEmptyIsNone) {
  GrowingSource source;
  source.Send("", 1);
  const SourceFile file = *SourceFile::OpenGrowing(source.fd(), "trace.json", source.growth());
  const Result<ReadSourceResult> read = ReadSource(file, {}, pool_, part_, [](int64_t, int64_t) {}, {});
  EXPECT_EQ(read.status().code(), ErrorCode::kNotFound);
}

TEST_F(SourceReaderTest, ASourceThatBreaksOffFails) {
  GrowingSource source;
  source.Add("[" + ManyEvents(100));
  source.growth().BreakOff();
  const SourceFile file = *SourceFile::OpenGrowing(source.fd(), "trace.json", source.growth());
  const Result<ReadSourceResult> read = ReadSource(file, {}, pool_, part_, [](int64_t, int64_t) {}, {});
  EXPECT_EQ(read.status().code(), ErrorCode::kCancelled);
}

TEST_F(SourceReaderTest, WhereNoThreadCanBeStartedAllIsReadOnTheCallers) {
  const std::string trace = "{\"traceEvents\":[" + ManyEvents(50'000) + "]}";
  ASSERT_TRUE(Read(trace).ok());
  const Rows plain = part_.Rows(EventKind::kSlice);
  const NoMoreThreads none;
  for (const std::string& source : {trace, Gzip(trace)}) {
    WorkerPool pool({.threads = 2});
    const Result<ReadSourceResult> read = ReadOn(pool, source);
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    EXPECT_TRUE(part_.Rows(EventKind::kSlice) == plain);
    EXPECT_EQ(read->warnings, Rows{});
  }
}

TEST_F(SourceReaderTest, OfMtiaWhatRunsOnTheDeviceIsOnItsStreams) {
  const std::vector<ChromeSample> samples = ChromeSamples();
  const auto sample = std::find_if(samples.begin(), samples.end(), [](const auto& it) { return it.name == "mtia"; });
  const Result<ReadSourceResult> read = Read(sample->text);
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(read->warnings, Rows{});
  Rows tracks;
  for (const TrackRow& track : part_.tracks) {
    if (track.tid == "0") continue;  // of a process as a whole
    tracks.push_back(track.kind + " " + *track.pid + ":" + *track.tid + " '" + track.name + "' device " +
                     std::to_string(track.device.value_or(-1)) + " stream " +
                     std::to_string(track.stream.value_or(-1)));
  }
  std::sort(tracks.begin(), tracks.end());
  EXPECT_EQ(tracks,
            (Rows{"cpu_thread 4021:4021 '4021' device -1 stream -1", "cpu_thread 4021:77 '77' device -1 stream -1",
                  "cpu_thread 4021:78 '78' device -1 stream -1", "gpu_stream 3:12 'stream 12 ' device 3 stream 12",
                  "gpu_stream 3:13 'stream 13' device 3 stream 13"}));
  EXPECT_EQ(part_.SortedRows(EventKind::kSlice),
            (Rows{"slice 1000000+1000 3:13 dma/mtia_ccp_events #41 {stream='13', correlation=#}",
                  "slice 1001000+3000 4021:77 insight/mtia_insight", "slice 1002000+0 4021:78 poll/mtia_workerd_events",
                  "slice 1005000+2250 4021:4021 runtime: wait/mtia_runtime #42 {correlation='42', device=3, "
                  "stream_id=12, executable_name=''}",
                  "slice 995500+8000 4021:4021 runtime: launch/mtia_runtime #41 {correlation=#, device=3, "
                  "stream_id='12', cmd_name='launch', mem size='4096'}",
                  "slice 999125+90500 3:12 fc_kernel/mtia_ccp_events #41 {stream=12, packet_ptr=140231, sqid=2, "
                  "direction='H2D', size=4096, k_work_ptr=9, correlation=#, column='0', row='7', seq_num=1, "
                  "host_ctx=1, wait_on_stream=-1}"}));
  EXPECT_EQ(part_.Rows(EventKind::kFlow).size(), 2u);
}

TEST_F(SourceReaderTest, SaysWhatItWasReadAs) {
  for (const char* format : {"auto", "kineto", "chrome"}) {
    const Result<ReadSourceResult> read = Read("[]", {.format = format});
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(read->format, "chrome");
    EXPECT_EQ(Read(R"({"schemaVersion": 1, "traceEvents": []})", {.format = format})->format, "kineto");
  }
}

TEST_F(SourceReaderTest, WithoutEventsItSaysSo) {
  const std::string nsys = DatabaseOf("CREATE TABLE META_DATA_EXPORT (name, value)");
  for (const std::string& content : {std::string("[]"), std::string("{\"traceEvents\":[]}"), nsys}) {
    const Result<ReadSourceResult> read = Read(content);
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    EXPECT_EQ(read->warnings, Rows{"it has no events"});
  }
}

TEST_F(SourceReaderTest, OfAPackedDatabaseItSaysToUnpackIt) {
  const std::string nsys = DatabaseOf("CREATE TABLE META_DATA_EXPORT (name, value)");
  for (const char* format : {"auto", "chrome", "nsys-sqlite"}) {
    const Status status = Failure(Gzip(nsys), {.format = format});
    EXPECT_EQ(status.code(), ErrorCode::kBadInput);
    EXPECT_TRUE(status.remedy().starts_with("unpack it first")) << status.ToString();
  }
}

TEST_F(SourceReaderTest, WhatIsOfAnotherFormatThanItIsSaidToBeSaysOfWhich) {
  struct Case {
    std::string content;
    const char* format;
    const char* why;
    const char* remedy;
  };
  const std::string nsys = DatabaseOf("CREATE TABLE META_DATA_EXPORT (name, value)");
  for (const Case& c : {Case{nsys, "chrome", "it is an SQLite database", "give nsys-sqlite"},
                        Case{nsys, "kineto", "it is an SQLite database", "give nsys-sqlite"},
                        Case{"[]", "nsys-sqlite", "it looks like JSON, as Chrome", "give chrome"},
                        Case{Gzip(" {}"), "nsys-sqlite", "it looks like JSON, as Chrome", "give chrome"},
                        Case{"words", "nsys-sqlite", "it is no SQLite database", "nsys export --type sqlite"}}) {
    const Status status = Failure(c.content, {.format = c.format});
    EXPECT_EQ(status.code(), ErrorCode::kBadInput) << status.ToString();
    EXPECT_NE(status.why().find(c.why), std::string::npos) << c.content << status.why();
    EXPECT_TRUE(status.remedy().starts_with("leave --format out, or ")) << status.ToString();
    EXPECT_NE(status.remedy().find(c.remedy), std::string::npos) << status.ToString();
  }
}

// The output of a program may stand before the table, and look like anything.
TEST_F(SourceReaderTest, FindsATableOfNcuBehindOtherTextWhereItIsSaidToBeThere) {
  const std::string table =
      "\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n\"0\",\"k\",\"a\",\"\",\"1\"\n";
  const std::string log = "[step 1]\n" + std::string(2 * kSniffBytes, 'x') + "\n" + table;
  for (const std::string& content : {log, Gzip(log)}) {
    const Result<ReadSourceResult> read = Read(content, {.format = "ncu-csv"});
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    EXPECT_EQ(read->format, "ncu-csv");
  }
  EXPECT_EQ(Failure("[]", {.format = "ncu-csv"}).code(), ErrorCode::kBadInput);
}

TEST_F(SourceReaderTest, AMessageNamesItsSourceOnce) {
  std::string broken = DatabaseOf("CREATE TABLE StringIds (id, value)");
  std::fill(broken.begin() + 100, broken.end(), '\xff');
  for (const std::string& content : {DatabaseOf("CREATE TABLE StringIds (id, value)"), broken}) {
    const std::string text = Failure(content).ToString();
    EXPECT_NE(text.find("trace.json"), text.npos);
    EXPECT_EQ(text.find("trace.json"), text.rfind("trace.json")) << text;
  }
}

TEST_F(SourceReaderTest, AFormatThatThereIsNotIsAMistake) {
  const Status status = Failure("[]", {.format = "otf2"});
  EXPECT_EQ(status.code(), ErrorCode::kUsage);
  EXPECT_EQ(status.why(), "there is no format \"otf2\"");
}

TEST_F(SourceReaderTest, WhatIsNoTraceIsRefusedAndNamed) {
  for (const std::string& content : {std::string(), std::string("hello"), Gzip("hello"), Zstd(""), std::string("{}"),
                                     std::string("[1]"), DatabaseOf("CREATE TABLE t (start, end)")}) {
    const Status status = Failure(content);
    EXPECT_EQ(status.code(), ErrorCode::kNotFound) << content;
    EXPECT_EQ(status.what(), "read trace.json") << content;
  }
  // These may be what is left of one.
  for (const std::string& content :
       {std::string("SQLite format 3\0", 16), std::string("\x1f\x8b garbage"), std::string("\x28\xb5\x2f\xfd garbage"),
        std::string("["), Gzip("{\"traceEvents\":[]}").substr(0, 20)}) {
    const Status status = Failure(content);
    EXPECT_EQ(status.code(), ErrorCode::kBadInput) << content;
    EXPECT_EQ(status.what(), "read trace.json") << content;
  }
}

TEST_F(SourceReaderTest, OfWhatIsEmptyItSaysSo) {
  for (const std::string& content : {std::string(), Gzip(""), Zstd(""), std::string(" \n\t\r\n"), Gzip("\n")}) {
    const Status status = Failure(content);
    EXPECT_EQ(status.code(), ErrorCode::kNotFound);
    EXPECT_NE(status.why().find("it is empty"), std::string::npos) << status.ToString();
  }
  EXPECT_NE(Failure(std::string(10'000, '\n')).why().find("nothing but white space"), std::string::npos);
}

TEST_F(SourceReaderTest, ACutPackedSourceIsKeptUpToThere) {
  const std::string trace = "{\"traceEvents\":[" + ManyEvents(2000) + "]}";
  for (const std::string& packed : {Gzip(trace), Zstd(trace)}) {
    const Result<ReadSourceResult> read = Read(packed.substr(0, packed.size() - 200));
    if (LooksLikeZstd(packed) && !read.ok()) continue;  // all of it is one block
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    const size_t kept = part_.Rows(EventKind::kSlice).size();
    EXPECT_TRUE(kept > 100 && kept < 2000) << kept;
    ASSERT_EQ(read->warnings.size(), 1u);
    EXPECT_NE(read->warnings[0].find("it ends in the middle, at byte "), std::string::npos) << read->warnings[0];
  }
}

TEST_F(SourceReaderTest, WhatIsWrongWithAPackedSourceBehindItsTraceIsTold) {
  const std::string trace = "{\"traceEvents\":[" + ManyEvents(2000) + "]}";
  std::string damaged = Gzip(trace);
  damaged[damaged.size() - 6] ^= 1;  // in its checksum
  for (const auto& [packed, why] :
       {std::pair(damaged, "its checksum is of other bytes"),
        std::pair(Gzip(trace).substr(0, Gzip(trace).size() - 3), "it was cut off"),
        std::pair(Gzip(trace) + "what is no gzip at all", "stands what is no gzip"),
        std::pair(Zstd(trace) + "what is no zstd at all", "stands what is no zstd"),
        std::pair(Gzip(trace + std::string(9 << 20, ' ')) + "what is no gzip at all", "stands what is no gzip")}) {
    const Result<ReadSourceResult> read = Read(packed);
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    EXPECT_EQ(part_.Rows(EventKind::kSlice).size(), 2000u);
    ASSERT_EQ(read->warnings.size(), 1u) << why;
    EXPECT_TRUE(read->warnings[0].starts_with("all of its trace was read, but it cannot be read to its end: "));
    EXPECT_TRUE(read->warnings[0].ends_with(why)) << read->warnings[0];
  }
}

TEST_F(SourceReaderTest, TracesPackedOneBehindTheOtherAreReadAsOneWhereTheyAreLists) {
  const std::string list = "[" + ManyEvents(20) + "]";
  Result<ReadSourceResult> read = Read(Gzip(list) + Gzip(list));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(part_.Rows(EventKind::kSlice).size(), 40u);
  EXPECT_EQ(read->warnings, Rows{});
  const std::string object = "{\"traceEvents\":" + list + "}";
  read = Read(Gzip(object) + Gzip(object));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(part_.Rows(EventKind::kSlice).size(), 20u);
  EXPECT_EQ(read->warnings, Rows{"its trace ends before byte " + std::to_string(object.size()) +
                                 ": what stands from there on was not read"});
}

TEST_F(SourceReaderTest, WarningsAreFactsToo) {
  const Result<ReadSourceResult> read =
      Read(R"([{"ph":"i"},{"ph":"B","ts":1},{"ph":"E","tid":7,"ts":2},{"ph":"i","ts":3},garbage])");
  ASSERT_TRUE(read.ok());
  ASSERT_EQ(read->warnings.size(), 4u);
  EXPECT_EQ(read->warnings[0], "bytes 74 to 81 are skipped: what stands at byte 74 is no event");
  EXPECT_EQ(read->warnings[2], "1 slices begin and never end");
  EXPECT_EQ(read->warnings[3], "1 ends have no begin");
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(part_.facts["warning." + std::to_string(i + 1)], read->warnings[i]);
}

TEST_F(SourceReaderTest, TheBaseIsThePartsAndNotTheSources) {
  ASSERT_TRUE(
      Read(R"({"baseTimeNanoseconds":1700000000000000000,"traceEvents":[{"ph":"i","ts":5.5},{"ph":"i","ts":7}]})")
          .ok());
  EXPECT_EQ(part_.facts["base_unix_ns"], "1700000000000005500");
  EXPECT_EQ(part_.Rows(EventKind::kInstant), (Rows{"instant 0 : /", "instant 1500 : /"}));
  ASSERT_TRUE(Read(R"([{"ph":"i","ts":1700000000000000.25}])").ok());
  EXPECT_EQ(part_.facts["base_unix_ns"], "1700000000000000250");
  ASSERT_TRUE(Read(R"({"baseTimeNanoseconds":9223372036854775807,"traceEvents":[{"ph":"i","ts":5.5}]})").ok());
  EXPECT_FALSE(part_.facts.contains("base_unix_ns"));
}

TEST_F(SourceReaderTest, WhatTheSourceCalledTimeZeroIsKeptWhateverItsClock) {
  ASSERT_TRUE(Read(R"([{"ph":"i","ts":81234567.125},{"ph":"i","ts":81234568}])").ok());
  EXPECT_EQ(part_.facts["base_source_ns"], "81234567125");
  EXPECT_EQ(part_.facts["clock"], "unknown");
  EXPECT_FALSE(part_.facts.contains("base_unix_ns"));
  ASSERT_TRUE(
      Read(R"({"baseTimeNanoseconds":1700000000000000000,"traceEvents":[{"ph":"i","ts":5.5},{"ph":"i","ts":7}]})")
          .ok());
  EXPECT_EQ(part_.facts["base_source_ns"], "5500");
  ASSERT_TRUE(Read("[]").ok());
  EXPECT_FALSE(part_.facts.contains("base_source_ns"));
}

TEST_F(SourceReaderTest, AnNsightExportCountsFromTheStartOfItsCapture) {
  const std::string events =
      "CREATE TABLE StringIds (id, value);CREATE TABLE DIAGNOSTIC_EVENT (timestamp INTEGER, text TEXT);"
      "INSERT INTO DIAGNOSTIC_EVENT VALUES (500, 'a'), (-20, 'b');";
  ASSERT_TRUE(Read(DatabaseOf(events)).ok());
  EXPECT_EQ(part_.facts["base_source_ns"], "0");
  EXPECT_FALSE(part_.facts.contains("base_unix_ns"));
  EXPECT_EQ(part_.Rows(EventKind::kInstant).size(), 2u);
  EXPECT_TRUE(part_.Rows(EventKind::kInstant)[0].starts_with("instant -20 ")) << part_.Rows(EventKind::kInstant)[0];
  ASSERT_TRUE(Read(DatabaseOf(events + "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);"
                                       "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1754324972242076786)"))
                  .ok());
  EXPECT_EQ(part_.facts["base_unix_ns"], "1754324972242076786");
}

TEST_F(SourceReaderTest, MoreTextThanMayBeFails) {
  const Status status = Failure("[{\"ph\":\"i\",\"ts\":1,\"name\":\"" + std::string(2 << 20, 'x') + "\"}]",
                                {.limits = {.text_bytes = 1 << 20}});
  EXPECT_EQ(status.code(), ErrorCode::kBadInput);
  EXPECT_NE(status.why().find("more than 1 MiB"), std::string::npos);
}

TEST_F(SourceReaderTest, OfTooMuchItNamesTheSettingOnlyWhereThatRaisesIt) {
  const std::string few = R"([{"ph":"i","ts":1,"tid":1,"args":{"a":1}},{"ph":"i","ts":1,"tid":2,"args":{"b":1}}])";
  for (const ReadingLimits& limits : {ReadingLimits{.tracks = 1}, ReadingLimits{.shapes = 2}}) {
    const Status status = Failure(few, {.limits = limits});
    EXPECT_EQ(status.remedy(), "raise [import] memory_megabytes, of which up to 1024 count") << status.ToString();
  }
  std::string many = "[";
  for (int i = 0; i <= 1 << 20; ++i) many += "{\"ph\":\"i\",\"ts\":1,\"tid\":" + std::to_string(i) + "},";
  const Status status = Failure(many + "]");
  EXPECT_NE(status.why().find("more than 1048576 tracks"), std::string::npos) << status.ToString();
  EXPECT_EQ(status.remedy(), "import it in parts: no setting allows more");
}

TEST_F(SourceReaderTest, ABombIsKeptUpToItsLimit) {
  const std::string bomb = Gzip("[{\"ph\":\"i\",\"ts\":1}," + std::string(20 << 20, ' ') + "{\"ph\":\"i\",\"ts\":2}]");
  const Result<ReadSourceResult> read = Read(bomb, {.unpacked_bytes = 5 << 20});
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(part_.Rows(EventKind::kInstant).size(), 1u);
  ASSERT_EQ(read->warnings.size(), 1u);
  EXPECT_NE(read->warnings[0].find("more than 5 MiB of text"), std::string::npos);
}

TEST_F(SourceReaderTest, WhatThePartRefusesFails) {
  const std::string trace = R"({"a":1,"traceEvents":[{"ph":"X","ts":1,"dur":1,"args":{"k":1}},{"ph":"i"}]})";
  ASSERT_TRUE(Read(trace).ok());
  const int64_t calls = part_.calls;
  for (int64_t call = 1; call <= calls; ++call) {
    const SourceFile source = *SourceFile::Open(fd_.get(), "trace.json");
    MemoryPart part;
    part.fail_at_call = call;
    const Result<ReadSourceResult> read = ReadSource(source, {}, pool_, part, [](int64_t, int64_t) {}, {});
    ASSERT_FALSE(read.ok()) << call;
    EXPECT_EQ(read.status().code(), ErrorCode::kStorageFull);
  }
}

TEST_F(SourceReaderTest, OnceStoppedItIsCancelled) {
  std::stop_source stop;
  stop.request_stop();
  const Result<ReadSourceResult> read = Read(R"([{"ph":"i","ts":1}])", {}, stop.get_token());
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.status().code(), ErrorCode::kCancelled);
}

}  // namespace
}  // namespace kprof
