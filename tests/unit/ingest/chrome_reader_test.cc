#include "daemon/ingest/chrome/chrome_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/fakes/ingest/batch_texts.h"
#include "tests/fakes/ingest/chrome_samples.h"
#include "tests/fakes/ingest/memory_text.h"

namespace kprof {
namespace {

struct ReadBack {
  Status status;
  BatchTexts sink;
  bool read_released = false;
  int64_t released = 0;
};

ReadBack Read(const std::string& source, const ChromeReaderOptions& options = {}, size_t threads = 2,
              std::optional<Status> cut = {}) {
  ReadBack read;
  MemoryText text(source);
  text.cut = std::move(cut);
  WorkerPool pool({.threads = threads});
  read.status = ReadChrome(text, pool, read.sink, options);
  pool.End();
  read.read_released = text.read_released;
  read.released = text.released();
  return read;
}

using Rows = std::vector<std::string>;

TEST(ChromeReader, HasTheEventsAndWhatStandsBesideThem) {
  const ReadBack read =
      Read(R"({"a":1,"traceEvents":[{"ph":"X","name":"n","ts":1,"dur":2,"pid":3,"tid":4}],"deviceProperties":[2, 3]})");
  ASSERT_TRUE(read.status.ok()) << read.status.ToString();
  EXPECT_EQ(read.sink.rows, Rows{"slice 1000+2000 3:4 n/"});
  EXPECT_EQ(read.sink.facts, (std::map<std::string, std::string>{
                                 {"source.a", "1"}, {"source.deviceProperties", "[2,3]"}, {"clock", "unknown"}}));
  EXPECT_EQ(read.sink.warnings, Rows{});
  EXPECT_EQ(read.sink.events, 1);
}

// The pieces are no part of what a trace says.
TEST(ChromeReader, IsTheSameInPiecesOfAnySizeByAnyNumberOfReaders) {
  for (const ChromeSample& sample : ChromeSamples()) {
    const ReadBack whole = Read(sample.text, {.readers = 1}, 0);
    for (const int64_t piece_bytes : {16, 17, 64, 333, 4096}) {
      for (const size_t readers : {1, 2, 4}) {
        for (const size_t threads : {size_t{0}, readers}) {
          const ReadBack read = Read(sample.text, {.readers = readers, .piece_bytes = piece_bytes}, threads);
          SCOPED_TRACE(sample.name + ": pieces of " + std::to_string(piece_bytes) + ", readers " +
                       std::to_string(readers) + ", threads " + std::to_string(threads));
          ASSERT_EQ(read.status.ToString(), whole.status.ToString());
          ASSERT_EQ(read.sink.Sorted(), whole.sink.Sorted());
          ASSERT_EQ(read.sink.facts, whole.sink.facts);
          ASSERT_EQ(read.sink.warnings, whole.sink.warnings);
          ASSERT_EQ(read.sink.events, whole.sink.events);
          ASSERT_FALSE(read.read_released);
        }
      }
    }
  }
}

// Counted from 0 through the whole text, however it is cut.
TEST(ChromeReader, CountersOfLaunchesAreMetrics) {
  std::string events;
  Rows expected;
  for (int i = 0; i < 40; ++i) {
    const std::string n = std::to_string(i);
    events += R"({"ph":"X","cat":"kernel","name":"other","ts":1,"dur":1,"args":{"grid":7}},)"
              R"({"ph":"X","cat":"cuda_profiler_range","name":"gemm<)" +
              std::to_string(i % 3) + R"(>","pid":0,"tid":0,"ts":)" + n + R"(,"dur":2,"args":{"inst.sum":)" + n +
              R"(,"share.pct":1.25,"tiny":2e-7,"text":"7","list":[1]}},)";
    const std::string of = "metric gemm<" + std::to_string(i % 3) + "> " + n + " ";
    expected.insert(expected.end(), {of + "inst.sum " + n + " ", of + "share.pct 1.25 ", of + "tiny 2e-07 "});
  }
  events += R"({"ph":"X","cat":"cuda_profiler_range","name":"counted nothing","ts":1,"dur":1},)"
            R"({"ph":"X","cat":"cuda_profiler_range","name":"last","ts":1,"dur":1,"args":{"a":-0.5}})";
  expected.push_back("metric last 41 a -0.5 ");
  const ReadBack whole = Read("[" + events + "]", {.readers = 1}, 0);
  EXPECT_EQ(whole.sink.side_rows, expected);
  EXPECT_EQ(whole.sink.rows.size(), 82u);
  EXPECT_EQ(whole.sink.warnings, Rows{});
  for (const int64_t piece_bytes : {16, 64, 333, 4096}) {
    for (const size_t readers : {1, 2, 4}) {
      EXPECT_EQ(Read("[" + events + "]", {.readers = readers, .piece_bytes = piece_bytes}, readers).sink.side_rows,
                expected)
          << piece_bytes << ", " << readers;
    }
  }
}

TEST(ChromeReader, WholeTracesHaveNoWarnings) {
  for (const std::string name : {"kineto", "mtia", "list", "list that is not closed", "byte order mark", "empty list",
                                 "empty events", "space of all sorts", "strings that look like events", "names",
                                 "lists of what looks like events", "behind the list", "2021",
                                 "arguments of every kind", "deep", "deeper", "large events", "many commas", "many"}) {
    for (const ChromeSample& sample : ChromeSamples()) {
      if (sample.name != name) continue;
      const ReadBack read = Read(sample.text);
      EXPECT_TRUE(read.status.ok()) << name << ": " << read.status.ToString();
      EXPECT_EQ(read.sink.warnings, Rows{}) << name;
    }
  }
}

TEST(ChromeReader, TheClockIsThatOfTheFirstEventWithATime) {
  const std::string now = R"({"ph":"i","ts":1689179602091354})";
  const std::string early = R"({"ph":"i","ts":5})";
  const std::string untimed = R"({"ph":"M","name":"process_name","pid":1,"ts":0})";
  for (const int64_t piece_bytes : {16, 4096}) {
    const auto clock = [&](const std::string& events) {
      return Read("[" + events + "]", {.piece_bytes = piece_bytes}).sink.facts["clock"];
    };
    EXPECT_EQ(clock(untimed + "," + now + "," + early), "unix") << piece_bytes;
    EXPECT_EQ(clock(early + "," + now), "unknown") << piece_bytes;
  }
}

TEST(ChromeReader, StringsThatLookLikeEventsAreNone) {
  const ReadBack read =
      Read(R"([{"ph":"i","ts":1,"name":"\"},{\"ph\":\"X\"}"},{"ph":"i","ts":2,"args":{"l":[{"ph":"X"}]}}])",
           {.piece_bytes = 16});
  EXPECT_EQ(read.sink.rows, (Rows{R"(instant 1000 : "},{"ph":"X"}/)", R"(instant 2000 : / {l=[{"ph":"X"}]})"}));
}

TEST(ChromeReader, ATextThatIsCutAnywhereIsKeptUpToThere) {
  const std::string before = R"({"a": 1, "traceEvents": [ )";
  const std::vector<std::string> events = {R"({"ph":"i","ts":1})", R"({"ph":"i","ts":2,"name":"},{"})",
                                           R"({"ph":"i","ts":3,"s":"t","args":{"a":[1,{"ph":"X"}]}})"};
  std::string source = before;
  std::vector<size_t> begins;
  std::vector<size_t> ends;
  for (const std::string& event : events) {
    source += ends.empty() ? "" : " , ";
    begins.push_back(source.size());
    source += event;
    ends.push_back(source.size());
  }
  source += " ] , \"b\": 2 }";
  const size_t bracket = ends.back() + 1;
  const ReadBack whole = Read(source);
  for (size_t size = 0; size < source.size(); ++size) {
    for (const int64_t piece_bytes : {16, 1000}) {
      SCOPED_TRACE(std::to_string(size) + " bytes, pieces of " + std::to_string(piece_bytes));
      const ReadBack read = Read(source.substr(0, size), {.piece_bytes = piece_bytes});
      size_t kept = 0;
      while (kept < ends.size() && ends[kept] <= size) ++kept;
      if (kept == 0) {
        EXPECT_FALSE(read.status.ok());
        EXPECT_EQ(read.sink.rows, Rows{});
        continue;
      }
      ASSERT_TRUE(read.status.ok()) << read.status.ToString();
      EXPECT_EQ(read.sink.rows, Rows(whole.sink.rows.begin(), whole.sink.rows.begin() + static_cast<ptrdiff_t>(kept)));
      ASSERT_EQ(read.sink.warnings.size(), 1u);
      const bool in_events = size <= bracket;
      const size_t at = !in_events ? bracket + 1 : kept < begins.size() && begins[kept] < size ? begins[kept] : size;
      EXPECT_NE(read.sink.warnings[0].find("byte " + std::to_string(at) + (in_events ? ", in the middle" : " on")),
                std::string::npos)
          << read.sink.warnings[0] << "; expected " << at;
    }
  }
}

TEST(ChromeReader, AListWithoutItsBracketIsWhole) {
  for (const std::string end : {"", ",", "\n", ",\n ", " ,"}) {
    const ReadBack read = Read(R"([{"ph":"i","ts":1},{"ph":"i","ts":2})" + end, {.piece_bytes = 16});
    EXPECT_TRUE(read.status.ok());
    EXPECT_EQ(read.sink.rows.size(), 2u);
    EXPECT_EQ(read.sink.warnings, Rows{}) << end;
  }
}

TEST(ChromeReader, WhatIsNoEventIsSkippedAndNamed) {
  for (const std::string none :
       {"garbage", "7", "null", "{\"ph\" \"X\"}", "{\"ph\":\"i\",}", "[]", "\"x\"", "{\"ph\":\"X\",\"a\":}"}) {
    const std::string before = R"({"traceEvents":[{"ph":"i","ts":1},{"ph":"i","ts":2},)";
    const ReadBack read = Read(before + none + R"(,{"ph":"i","ts":3}],"a":1})", {.piece_bytes = 20});
    ASSERT_TRUE(read.status.ok());
    EXPECT_EQ(read.sink.rows.size(), 3u) << none;
    EXPECT_EQ(read.sink.warnings,
              Rows{"bytes " + std::to_string(before.size()) + " to " + std::to_string(before.size() + none.size()) +
                   " are skipped: what stands at byte " + std::to_string(before.size()) + " is no event"});
    EXPECT_EQ(read.sink.facts.count("source.a"), 1u);
  }
}

TEST(ChromeReader, ReadingGoesOnBehindAMissingQuoteBraceOrBracket) {
  for (const std::string none :
       {R"({"ph":"i","name":"broken,"ts":5})", R"({"ph":"i","ts":5,"args":{"a":1})", R"({"ph":"i","ts":5)",
        R"({"ph":"i","ts":5,"args":{"a":[1,2}})", R"("ph":"i","ts":5})", R"({"ph":"i","name":b{c}d,"ts":5})"}) {
    const std::string source = "{\"traceEvents\":[" + ManyEvents(50) + "," + none + "," + ManyEvents(50) + "],\"a\":1}";
    const ReadBack read = Read(source, {.piece_bytes = 300});
    ASSERT_TRUE(read.status.ok());
    EXPECT_EQ(read.sink.rows.size(), 100u) << none;
    ASSERT_EQ(read.sink.warnings.size(), 1u) << none;
    EXPECT_TRUE(read.sink.warnings[0].starts_with("bytes " + std::to_string(source.find(none)) + " to "));
    EXPECT_EQ(read.sink.facts.count("source.a"), 1u) << none;
  }
}

TEST(ChromeReader, NumbersThatAreNoneAreNoReasonToSkip) {
  const ReadBack read =
      Read(R"([{"ph":"i","ts":1,"args":{"a":nan,"b":-nan,"c":inf,"d":+inf,"e":-Infinity}},{"ph":"i","ts":2}])");
  EXPECT_EQ(read.sink.rows,
            (Rows{"instant 1000 : / {a=number nan, b=number -nan, c=number inf, d=number +inf, e=number -Infinity}",
                  "instant 2000 : /"}));
  EXPECT_EQ(read.sink.warnings, Rows{});
}

TEST(ChromeReader, AnyDepthIsKept) {
  const std::string deep = std::string(5000, '[') + std::string(5000, ']');
  const ReadBack read = Read(R"([{"ph":"i","ts":1,"args":{"d":)" + deep + R"(}},{"ph":"i","ts":2}])");
  EXPECT_EQ(read.sink.rows, (Rows{"instant 1000 : / {d=" + deep + "}", "instant 2000 : /"}));
  EXPECT_EQ(read.sink.warnings, Rows{});
}

TEST(ChromeReader, WhatIsSkippedOneBehindTheOtherIsCounted) {
  for (const int64_t piece_bytes : {20, 50, 1 << 20}) {
    const ReadBack read =
        Read(R"([{"ph":"i","ts":1},{"ph" "X"},7,{"ph":"i",},[],"x",{"ph":"i","ts":2}])", {.piece_bytes = piece_bytes});
    EXPECT_EQ(read.sink.rows.size(), 2u);
    EXPECT_EQ(read.sink.warnings,
              Rows{"bytes 19 to 50 are skipped, in 5 stretches: what stands at byte 19 is no event"});
  }
}

TEST(ChromeReader, OfManyPlacesThatAreSkippedTheFirstAreNamed) {
  std::string events = R"({"ph":"i","ts":1})";
  for (int i = 0; i < 30; ++i) events += R"(,1,{"ph":"i","ts":2})";
  const ReadBack read = Read("[" + events + "]", {.piece_bytes = 50});
  EXPECT_EQ(read.sink.rows.size(), 31u);
  ASSERT_EQ(read.sink.warnings.size(), 18u);
  EXPECT_EQ(read.sink.warnings[0], "bytes 19 to 20 are skipped: what stands at byte 19 is no event");
  EXPECT_EQ(read.sink.warnings.back(), "in 13 more places 13 bytes are skipped for such reasons");
}

TEST(ChromeReader, WithNoEventBehindWhatIsNoneTheTraceEndsThere) {
  const ReadBack read = Read(R"([{"ph":"i","ts":1},x y]})" + std::string(1000, ' '), {.piece_bytes = 100});
  EXPECT_EQ(read.sink.rows.size(), 1u);
  EXPECT_EQ(read.sink.warnings, Rows{"what stands at byte 19 is no event; the 1 events before were kept"});
}

// Where the list of an event that is broken seems to end all events.
TEST(ChromeReader, ABracketBehindWhatWasSkippedMayBeAnother) {
  const ReadBack read =
      Read(R"({"traceEvents":[{"ph":"i","ts":1},{"l":[{"ph":"i","ts":2}] x},{"ph":"i","ts":3}],"a":1})",
           {.piece_bytes = 30});
  EXPECT_EQ(read.sink.rows.size(), 3u);
  EXPECT_EQ(read.sink.facts.count("source.a"), 1u);
  EXPECT_EQ(read.sink.warnings.size(), 2u);
}

TEST(ChromeReader, ListsOneBehindTheOtherAreOne) {
  for (const int64_t piece_bytes : {16, 20, 21, 1000}) {
    const ReadBack read = Read("[{\"ph\":\"i\",\"ts\":1}]\n[][{\"ph\":\"i\",\"ts\":2},{\"ph\":\"i\",\"ts\":3}]\n",
                               {.piece_bytes = piece_bytes});
    EXPECT_EQ(read.sink.rows.size(), 3u);
    EXPECT_EQ(read.sink.warnings, Rows{});
  }
}

TEST(ChromeReader, WhatStandsBehindATraceIsSaid) {
  for (const std::string rest : {"garbage {\"ph\":\"X\"}", "{\"traceEvents\":[{\"ph\":\"i\",\"ts\":2}]}", "}"}) {
    for (const size_t spaces : {2, 300'000}) {
      for (const std::string trace : {"[{\"ph\":\"i\",\"ts\":1}]", "{\"traceEvents\":[{\"ph\":\"i\",\"ts\":1}]}"}) {
        const ReadBack read = Read(trace + std::string(spaces, ' ') + rest, {.piece_bytes = 16});
        EXPECT_EQ(read.sink.rows.size(), 1u);
        EXPECT_EQ(read.sink.warnings, Rows{"its trace ends before byte " + std::to_string(trace.size() + spaces) +
                                           ": what stands from there on was not read"});
      }
    }
  }
}

TEST(ChromeReader, WithoutOneWholeEventThereIsNoTrace) {
  struct Case {
    ErrorCode code;
    std::string text;
    std::string why;
  };
  const ErrorCode broken = ErrorCode::kBadInput;
  const ErrorCode none = ErrorCode::kNotFound;
  for (const Case& c :
       {Case{broken, "[", "it ends at byte 1, in the middle"}, Case{none, "[x", "what stands at byte 1 is no event"},
        Case{none, "[1,\"a\",[]]", "what stands at byte 1 is no event"},
        Case{none, R"([{"id":1},{"id":2,"ph":"X"}])", "it is a list of objects that have no time (\"ts\")"},
        Case{broken, "[{\"ph\":", "it ends at byte 1, in the middle"},
        Case{broken, "{\"traceEvents\":[", "it ends at byte 16, in the middle"},
        Case{broken, "{\"traceEvents\":[x]}", "what stands at byte 16 is no event"},
        Case{none, "{}", "it has no list \"traceEvents\""}, Case{none, "hello", "it does not begin with { or ["}}) {
    const ReadBack read = Read(c.text);
    ASSERT_FALSE(read.status.ok()) << c.text;
    EXPECT_EQ(read.status.code(), c.code) << c.text;
    EXPECT_EQ(read.status.what(), "read it as a Chrome trace");
    EXPECT_EQ(read.status.why(), c.why);
  }
}

TEST(ChromeReader, WhyATextThatCannotBeUnpackedEndsIsSaid) {
  const Status cut = Fail(ErrorCode::kBadInput, "unpack gzip", "its checksum is of other bytes");
  ReadBack read = Read(R"([{"ph":"i","ts":1},{"ph":)", {}, 2, cut);
  EXPECT_EQ(read.sink.warnings, Rows{"it cannot be read beyond byte 19 of its text: its checksum is of other bytes; "
                                     "what is whole before was kept"});
  read = Read(R"([{"ph":)", {}, 2, cut);
  EXPECT_EQ(read.status.code(), ErrorCode::kBadInput);
  EXPECT_NE(read.status.ToString().find("its checksum is of other bytes"), std::string::npos);
  for (const std::string trace : {R"([{"ph":"i","ts":1}])", R"({"traceEvents":[{"ph":"i","ts":1}]})"}) {
    read = Read(trace, {}, 2, cut);  // what is missing is none of the trace
    EXPECT_EQ(read.sink.warnings,
              Rows{"all of its trace was read, but it cannot be read to its end: its checksum is of other bytes"});
  }
}

TEST(ChromeReader, TwoListsOfEventsInOneObjectAreReadAsOne) {
  for (const std::string between : {",", " , \n"}) {
    const ReadBack read = Read(R"({"traceEvents":[{"ph":"i","ts":1}])" + between +
                               R"("traceEvents": [{"ph":"i","ts":2},{"ph":"i","ts":3}],"a":1})");
    EXPECT_TRUE(read.status.ok());
    EXPECT_EQ(read.sink.rows.size(), 3u);
    EXPECT_EQ(read.sink.warnings, Rows{});
    EXPECT_EQ(read.sink.facts.count("source.a"), 1u);
  }
}

TEST(ChromeReader, AnotherListOfEventsThatComesBehindOtherMembersIsTold) {
  const std::string begin = R"({"traceEvents":[{"ph":"i","ts":1}],"a":1,"traceEvents":[)";
  const std::string at = std::to_string(begin.size());
  EXPECT_EQ(Read(begin + R"({"ph":"i","ts":2}],"b":1})").sink.warnings,
            Rows{"another list of events begins behind other members at byte " + at + ": it was not read"});
  EXPECT_EQ(Read(begin + R"({"ph":"i","ts":2})").sink.warnings,
            Rows{"another list of events begins behind other members at byte " + at +
                 ": it was not read, nor what stands behind it"});
}

TEST(ChromeReader, WhatIsCutOffBehindTheEventsIsSaid) {
  const ReadBack read = Read(R"({"traceEvents":[{"ph":"i","ts":1}],"a":1,"b":[)");
  EXPECT_TRUE(read.status.ok());
  EXPECT_EQ(read.sink.facts.count("source.a"), 1u);
  EXPECT_EQ(read.sink.warnings, Rows{"what stands behind its events, from byte 34 on, is cut off or no JSON: of that, "
                                     "what is whole was read"});
}

TEST(ChromeReader, EventsWithoutATimeAreCountedInAWarning) {
  const ReadBack read = Read(R"([{"ph":"i"},{"ph":"X","ts":NaN},{"ph":"i","ts":1}])");
  EXPECT_EQ(read.sink.rows.size(), 3u);
  EXPECT_EQ(read.sink.warnings, Rows{"2 events have no time, or one of more than 73 years: kept as metadata"});
}

TEST(ChromeReader, EventsOfAPhaseThatIsNotKnownAreKeptAndCountedInAWarning) {
  const ReadBack read =
      Read(R"([{"ph":"P","ts":1},{"ph":"long","ts":2},{"ts":3},{"ph":"M","ts":4},{"ph":"n","ts":5}])");
  EXPECT_EQ(read.sink.rows.size(), 5u);
  EXPECT_EQ(read.sink.warnings, Rows{"3 events are of a \"ph\" that is not known: kept as metadata"});
}

TEST(ChromeReader, AnEventWithThousandsOfArgumentsHasThemAsOne) {
  std::string args = "\"a0\":0";
  for (int i = 1; i < 3000; ++i) args += ", \"a" + std::to_string(i) + "\":" + std::to_string(i);
  const std::string event = R"({"ph":"i","ts":2,"name":"many","args":{)" + args + "}}";
  const std::string source = R"([{"ph":"i","ts":1},)" + event + "," + event + R"(,{"ph":"i","ts":3,"args":{"a":1}}])";
  const ReadBack read = Read(source, {.piece_bytes = 100});
  ASSERT_TRUE(read.status.ok());
  ASSERT_EQ(read.sink.rows.size(), 4u);
  EXPECT_TRUE(read.sink.rows[1].starts_with(R"(instant 2000 : many/ {*args={"a0":0,"a1":1,)"))
      << read.sink.rows[1].substr(0, 80);
  EXPECT_TRUE(read.sink.rows[1].ends_with(R"("a2999":2999}})"));
  EXPECT_EQ(read.sink.rows[3], "instant 3000 : / {a=1}");
  EXPECT_EQ(read.sink.warnings, Rows{});
}

TEST(ChromeReader, AnEventWithThousandsOfMembersIsSkippedAndNamed) {
  std::string event = R"({"ph":"i","ts":2)";
  for (int i = 1; i < 3000; ++i) event += ",\"a" + std::to_string(i) + "\":" + std::to_string(i);
  const ReadBack read = Read(R"([{"ph":"i","ts":1},)" + event + R"(},{"ph":"i","ts":3}])");
  EXPECT_EQ(read.sink.rows.size(), 2u);
  EXPECT_EQ(read.sink.warnings, Rows{"bytes 19 to " + std::to_string(19 + event.size() + 1) +
                                     " are skipped: the event at byte 19 has more members than one may have"});
}

TEST(ChromeReader, AnEventOfMoreBytesThanMayBeIsNamed) {
  const ReadBack read = Read(
      R"([{"ph":"i","ts":1},{"ph":"i","ts":2,"name":")" + std::string(1'000'000, 'x') + "\"},{\"ph\":\"i\",\"ts\":3}]",
      {.piece_bytes = 1000, .most_event_bytes = 100'000});
  EXPECT_EQ(read.sink.rows.size(), 2u);
  EXPECT_EQ(read.sink.warnings,
            Rows{"bytes 19 to 1000047 are skipped: the event at byte 19 is larger than one may be"});
}

TEST(ChromeReader, WhatASinkRefusesEndsTheReading) {
  for (const size_t readers : {1, 4}) {
    for (const int at : {1, 2, 5}) {
      MemoryText text("[" + ManyEvents(300) + "]");
      WorkerPool pool({.threads = readers});
      BatchTexts sink;
      sink.fail_at_take = at;
      EXPECT_EQ(ReadChrome(text, pool, sink, {.readers = readers, .piece_bytes = 64}).code(), ErrorCode::kStorageFull);
      EXPECT_EQ(sink.takes, at);
    }
  }
}

TEST(ChromeReader, ACancelledReadingEnds) {
  MemoryText text("[" + ManyEvents(300) + "]");
  WorkerPool pool({.threads = 2});
  BatchTexts sink;
  sink.cancel_at_event = 100;
  EXPECT_EQ(ReadChrome(text, pool, sink, {.piece_bytes = 200}).code(), ErrorCode::kCancelled);
  EXPECT_LT(sink.events, 110);
}

TEST(ChromeReader, ATextThatCannotBeReadFails) {
  for (const int64_t from : {0, 1000, 70'000, 80'000}) {
    MemoryText text("[" + ManyEvents(1000) + "]");
    text.fail_from = from;
    WorkerPool pool({.threads = 2});
    BatchTexts sink;
    EXPECT_EQ(ReadChrome(text, pool, sink, {.piece_bytes = 1000}).code(), ErrorCode::kBadInput) << from;
  }
}

// Whoever keeps the text does not have it any more: also where one event is longer than all that is read ahead.
TEST(ChromeReader, NothingIsReadThatWasReleased) {
  const std::string large = R"({"ph":"i","ts":2,"name":")" + std::string(200'000, 'x') + "\"}";
  const std::string source = "[" + ManyEvents(300) + "," + large + "," + large + "," + ManyEvents(300) + "]";
  for (const size_t threads : {0, 1, 2}) {
    const ReadBack read = Read(source, {.piece_bytes = 4096}, threads);
    ASSERT_TRUE(read.status.ok());
    EXPECT_EQ(read.sink.rows.size(), 602u);
    EXPECT_FALSE(read.read_released);
    EXPECT_GT(read.released, static_cast<int64_t>(source.size()) - 10'000);
  }
}

TEST(ChromeReader, APoolThatTakesNoMoreJobsIsNoReasonNotToRead) {
  MemoryText text("[" + ManyEvents(300) + "]");
  WorkerPool pool({.threads = 1, .queue_limit_jobs = 1});
  BatchTexts sink;
  EXPECT_TRUE(ReadChrome(text, pool, sink, {.readers = 4, .piece_bytes = 100}).ok());
  EXPECT_EQ(sink.rows.size(), 300u);
}

TEST(ChromeReader, IsKnownByItsFirstCharacter) {
  for (const std::string text : {"{", "[", " \r\n\t{", "\xef\xbb\xbf[", "\xef\xbb\xbf \n{\"a\":1"}) {
    EXPECT_TRUE(LooksLikeChrome(text)) << text;
  }
  for (const std::string text : {"", " ", "\"", "SQLite format 3", "\xef\xbb\xbf", "\x1f\x8b"}) {
    EXPECT_FALSE(LooksLikeChrome(text)) << text;
  }
}

}  // namespace
}  // namespace kprof
