#include "daemon/ingest/assemble/trace_assembler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "daemon/ingest/chrome/chrome_events.h"
#include "daemon/ingest/text/json_scan.h"
#include "storage/trace/read/metric_table.h"
#include "storage/trace/write/part_writer.h"
#include "tests/fakes/base/temporary_folder.h"
#include "tests/fakes/ingest/memory_part.h"

namespace kprof {
namespace {

using Rows = std::vector<std::string>;

TraceBatch BatchOf(ChromeEvents& reader, const std::string& events) {
  const std::string padded = events + std::string(kScanSlackBytes, '\0');
  const char* end = padded.data() + events.size();
  KPROF_CHECK(reader.Add(padded.data(), end, end).why == ChromeEvents::Stopped::kAtLimit);
  return reader.TakeBatch();
}

class TraceAssemblerTest : public testing::Test {
 protected:
  void Begin(const AssemblerLimits& limits = {}) {
    part_ = MemoryPart();
    reader_.emplace(0);
    assembler_.emplace(part_, pool_, limits);
  }
  Status Add(const std::string& events) { return assembler_->Add(BatchOf(*reader_, events)); }
  void AddAll(const std::string& events, const AssemblerLimits& limits = {}) {
    Begin(limits);
    ASSERT_TRUE(Add(events).ok());
    ASSERT_TRUE(assembler_->Finish().ok());
  }
  Rows Rows_(EventKind kind) const { return part_.Rows(kind); }
  std::vector<int64_t> Depths() const {
    std::vector<int64_t> depths;
    for (const MemoryPart::OneSegment& segment : part_.segments) {
      const std::vector<int64_t>& of_segment = segment.rows.of(EventColumn::kDepth);
      if (segment.kind == EventKind::kSlice) depths.insert(depths.end(), of_segment.begin(), of_segment.end());
    }
    return depths;
  }

  WorkerPool pool_{{.threads = 2}};
  MemoryPart part_;
  std::optional<ChromeEvents> reader_;
  std::optional<TraceAssembler> assembler_;
};

TEST_F(TraceAssemblerTest, RowsStandInTheOrderOfTimeWhateverTheirsWas) {
  AddAll(R"({"ph":"i","ts":30,"name":"c"},{"ph":"i","ts":10,"name":"a"},{"ph":"i","ts":20,"name":"b"})");
  EXPECT_EQ(Rows_(EventKind::kInstant), (Rows{"instant 0 : a/", "instant 10000 : b/", "instant 20000 : c/"}));
  EXPECT_EQ(assembler_->base_ns(), 10'000);
}

TEST_F(TraceAssemblerTest, WhatIsNotSortedAtOnceIsKeptAllTheSame) {
  std::string events;
  for (int i = 0; i < 200; ++i) {
    events += R"({"ph":"X","name":"n)" + std::to_string(i % 3) + R"(","ts":)" + std::to_string(i * 7919 % 200 + 1) +
              R"(,"dur":1,"tid":)" + std::to_string(i % 2) + R"(,"args":{"i":)" + std::to_string(i) + "}},";
  }
  AddAll(events);
  const Rows whole = part_.SortedRows(EventKind::kSlice);
  for (const size_t rows_at_once : {size_t{1}, size_t{7}, size_t{100}}) {
    Begin({.rows_at_once = rows_at_once});
    ChromeEvents reader(0);
    for (size_t begin = 0; begin < events.size();) {  // in small batches
      size_t end = begin;
      for (int i = 0; i < 5 && end < events.size(); ++i) end = events.find("}},", end) + 3;
      ASSERT_TRUE(assembler_->Add(BatchOf(reader, events.substr(begin, end - begin))).ok());
      begin = end;
    }
    ASSERT_TRUE(assembler_->Finish().ok());
    Rows rows;
    for (std::string row : Rows_(EventKind::kSlice)) rows.push_back(row);
    EXPECT_EQ(rows.size(), 200u);
    // Their times are counted from the first batch's earliest.
    const int64_t shift = *assembler_->base_ns() - 1000;
    Rows shifted;
    for (const std::string& row : whole) {
      const size_t plus = row.find('+');
      shifted.push_back("slice " + std::to_string(std::stoll(row.substr(6, plus - 6)) - shift));
    }
    for (std::string& row : rows) row = row.substr(0, row.find('+'));
    // Depths differ by how much is seen at once; times do not.
    std::sort(rows.begin(), rows.end());
    std::sort(shifted.begin(), shifted.end());
    EXPECT_EQ(rows, shifted) << rows_at_once;
  }
}

TEST_F(TraceAssemblerTest, ReadersWithNumbersOfTheirOwnAreOnePart) {
  Begin();
  ChromeEvents a(1);
  ChromeEvents b(2);
  const std::string first = R"({"ph":"i","name":"x","ts":1,"pid":1,"tid":1,"args":{"k":"v"}})";
  const std::string second = R"({"ph":"i","name":"y","ts":2,"pid":2,"tid":1,"args":{"k":"w"}},)" + first;
  ASSERT_TRUE(assembler_->Add(BatchOf(a, first)).ok());
  ASSERT_TRUE(assembler_->Add(BatchOf(b, second)).ok());
  ASSERT_TRUE(assembler_->Add(BatchOf(a, second)).ok());
  ASSERT_TRUE(assembler_->Finish().ok());
  EXPECT_EQ(part_.SortedRows(EventKind::kInstant),
            (Rows{"instant 0 1:1 x/ {k='v'}", "instant 0 1:1 x/ {k='v'}", "instant 0 1:1 x/ {k='v'}",
                  "instant 1000 2:1 y/ {k='w'}", "instant 1000 2:1 y/ {k='w'}"}));
  EXPECT_EQ(part_.tracks.size(), 2u);
  EXPECT_EQ(part_.shapes.size(), 2u);
  EXPECT_EQ(part_.strings.size(), 8u);  // "", k, v, w, x, y, 1, 2
}

TEST_F(TraceAssemblerTest, TextsAreWhatTheirEscapesSay) {
  AddAll(R"({"ph":"i","name":"\u0061","ts":1},{"ph":"i","name":"a","ts":2,"args":{"l":[ 1,  2 ]}},)"
         R"({"ph":"i","name":"a","ts":3,"args":{"l":[1,2]}})");
  EXPECT_EQ(Rows_(EventKind::kInstant),
            (Rows{"instant 0 : a/", "instant 1000 : a/ {l=[1,2]}", "instant 2000 : a/ {l=[1,2]}"}));
  EXPECT_EQ(std::count(part_.strings.begin(), part_.strings.end(), "a"), 1);
  EXPECT_EQ(std::count(part_.strings.begin(), part_.strings.end(), "[1,2]"), 1);
}

TEST_F(TraceAssemblerTest, BeginsAndEndsAreSlicesInEachOther) {
  AddAll(R"({"ph":"B","name":"outer","ts":10,"tid":1,"args":{"in":1}},{"ph":"B","name":"inner","ts":12,"tid":1},
    {"ph":"B","name":"other","ts":11,"tid":2},{"ph":"E","ts":15,"tid":1},{"ph":"E","ts":20,"tid":1,"args":{"out":"x"}},
    {"ph":"E","ts":13,"tid":2})");
  EXPECT_EQ(Rows_(EventKind::kSlice), (Rows{"slice 0+10000 :1 outer/ {in=1, out='x'}", "slice 2000+3000 :1 inner/",
                                            "slice 1000+2000 :2 other/"}));
  EXPECT_EQ(Depths(), (std::vector<int64_t>{0, 1, 0}));
  EXPECT_EQ(Rows_(EventKind::kMetadata), Rows{});
}

TEST_F(TraceAssemblerTest, AsyncSpansLieOnTracksOfTheirIds) {
  AddAll(
      R"({"ph":"b","cat":"io","id":1,"name":"read","ts":10,"pid":5},{"ph":"b","cat":"io","id":2,"name":"read","ts":11,"pid":5},
    {"ph":"n","cat":"io","id":1,"name":"half","ts":12,"pid":5},{"ph":"e","cat":"io","id":1,"name":"read","ts":14,"pid":5},
    {"ph":"e","cat":"io","id":2,"name":"read","ts":13,"pid":5})");
  EXPECT_EQ(part_.SortedRows(EventKind::kSlice),
            (Rows{"slice 0+4000 async 5:io 1 read/io", "slice 1000+2000 async 5:io 2 read/io"}));
  EXPECT_EQ(Rows_(EventKind::kInstant), Rows{"instant 2000 async 5:io 1 half/io"});
}

TEST_F(TraceAssemblerTest, WhatHasNoOtherEndIsCounted) {
  AddAll(R"({"ph":"E","ts":5,"tid":1},{"ph":"B","name":"b","ts":10,"tid":1},{"ph":"e","id":1,"ts":11})");
  EXPECT_EQ(assembler_->ends_alone(), 2);
  EXPECT_EQ(assembler_->begins_alone(), 1);
  EXPECT_EQ(Rows_(EventKind::kSlice), Rows{"slice 5000+? :1 b/"});
  EXPECT_EQ(Rows_(EventKind::kMetadata).size(), 2u);
}

TEST_F(TraceAssemblerTest, TimesAreCountedFromTheEarliestOfTheFirst) {
  Begin();
  ASSERT_TRUE(Add(R"({"ph":"M","name":"process_name","pid":1,"args":{"name":"p"}})").ok());
  EXPECT_FALSE(assembler_->base_ns());  // that has no time
  ASSERT_TRUE(Add(R"({"ph":"i","ts":200},{"ph":"C","name":"c","ts":100,"args":{"v":1}})").ok());
  EXPECT_EQ(assembler_->base_ns(), 100'000);
  ASSERT_TRUE(Add(R"({"ph":"i","ts":50})").ok());
  ASSERT_TRUE(assembler_->Finish().ok());
  EXPECT_EQ(Rows_(EventKind::kInstant), (Rows{"instant -50000 : /", "instant 100000 : /"}));
  EXPECT_EQ(Rows_(EventKind::kMetadata), Rows{"metadata 0 1: process_name/ M {name='p'}"});
}

TEST_F(TraceAssemblerTest, ATimeOfZeroIsATime) {
  AddAll(R"({"ph":"B","name":"b","ts":0,"tid":1},{"ph":"E","ts":5,"tid":1},{"ph":"X","name":"x","ts":0,"dur":1,"tid":2},
    {"ph":"X","name":"x","ts":7,"dur":1,"tid":2},{"ph":"E","ts":0,"tid":9})");
  EXPECT_EQ(part_.SortedRows(EventKind::kSlice),
            (Rows{"slice 0+1000 :2 x/", "slice 0+5000 :1 b/", "slice 7000+1000 :2 x/"}));
  EXPECT_EQ(assembler_->base_ns(), 0);
}

TEST_F(TraceAssemblerTest, MetadataMayComeBeforeOrBehindWhatItTellsOf) {
  const std::string slice = R"({"ph":"X","cat":"cpu_op","name":"x","ts":1,"dur":1,"pid":1,"tid":2})";
  const std::string metadata = R"({"ph":"M","name":"thread_name","pid":1,"tid":2,"args":{"name":"main"}},
    {"ph":"M","name":"process_name","pid":1,"args":{"name":"python"}})";
  for (const std::string& events : {slice + "," + metadata, metadata + "," + slice}) {
    AddAll(events, {.rows_at_once = 1});
    const auto track =
        std::find_if(part_.tracks.begin(), part_.tracks.end(), [](const TrackRow& row) { return row.tid == "2"; });
    ASSERT_NE(track, part_.tracks.end());
    EXPECT_EQ(track->name, "main");
    EXPECT_EQ(track->process, "python");
    EXPECT_EQ(track->kind, "cpu_thread");
  }
}

TEST_F(TraceAssemblerTest, StreamsOfADeviceAreKnown) {
  AddAll(R"({"ph":"X","cat":"kernel","name":"k","ts":1,"dur":1,"pid":0,"tid":7,"args":{"device":0,"stream":7}})");
  ASSERT_EQ(part_.tracks.size(), 1u);
  EXPECT_EQ(part_.tracks[0].kind, "gpu_stream");
  EXPECT_EQ(part_.tracks[0].stream, 7);
}

TEST_F(TraceAssemblerTest, WhatAReaderKnowsOfItsTracksIsTheirs) {
  Begin();
  TraceBatch batch = BatchOf(*reader_, R"({"ph":"X","name":"k","ts":1,"dur":1,"pid":0,"tid":7})");
  TrackRow known;
  known.kind = "nc_engine";
  known.name = "tensor";
  batch.known_tracks.push_back(known);
  ASSERT_TRUE(assembler_->Add(std::move(batch)).ok());
  ASSERT_TRUE(assembler_->Finish().ok());
  EXPECT_EQ(part_.tracks[0], known);
}

TEST_F(TraceAssemblerTest, BatchesMayHaveNoStrings) {
  Begin();
  for (int i = 1; i < 4; ++i) ASSERT_TRUE(Add(R"({"ph":"i","ts":1})").ok());
  ASSERT_TRUE(assembler_->Finish().ok());
  EXPECT_EQ(part_.SortedRows(EventKind::kInstant).size(), 3u);
  Begin();
  ASSERT_TRUE(assembler_->Finish().ok());  // no batch at all
  EXPECT_EQ(part_.strings, Rows{""});
}

TEST_F(TraceAssemblerTest, WithoutEventsThereIsAnEmptyPart) {
  AddAll("");
  EXPECT_EQ(part_.strings, Rows{""});
  EXPECT_TRUE(part_.segments.empty() && part_.tracks.empty());
}

// Two readers, whose numbers of strings are their own.
TEST_F(TraceAssemblerTest, RowsOfSideTablesComeInTheirOrder) {
  Begin();
  const SideTable lines{"lines", {{"file", SideType::kText, ""}, {"line", SideType::kInteger, ""}}};
  for (const uint32_t source : {1u, 2u, 1u}) {
    TraceBatch batch;
    batch.source = source;
    batch.strings = {"=a" + std::to_string(source), "=b"};
    const int64_t first = source == 1 && !part_.side.empty() ? 3 : 1;  // numbers go on
    batch.of(lines).Add(std::vector<int64_t>{first, 10 * source});
    batch.of(lines).Add(std::vector<int64_t>{kNoValue, kNoValue});
    batch.of(MetricSideTable()).Add(std::vector<int64_t>{first + 1, 0, first, 5, 0});
    ASSERT_TRUE(assembler_->Add(std::move(batch)).ok());
  }
  ASSERT_TRUE(assembler_->Finish().ok());
  ASSERT_EQ(part_.side.size(), 2u);
  EXPECT_EQ(part_.side[0].table, lines);
  EXPECT_EQ(part_.side[0].columns[1], (std::vector<int64_t>{10, kNoValue, 20, kNoValue, 10, kNoValue}));
  Rows files;
  for (const int64_t file : part_.side[0].columns[0]) {
    files.push_back(file == kNoValue ? "" : part_.strings.at(static_cast<size_t>(file)));
  }
  EXPECT_EQ(files, (Rows{"a1", "", "a2", "", "a1", ""}));
  EXPECT_EQ(part_.strings.at(static_cast<size_t>(part_.side[1].columns[0][1])), "b");
  EXPECT_EQ(part_.side_segments, (std::vector<uint32_t>{6, 3}));
}

TEST_F(TraceAssemblerTest, ManyRowsOfASideTableAreSegments) {
  Begin();
  const SideTable lines{"lines", {{"line", SideType::kInteger, ""}}};
  for (int batch_number = 0; batch_number < 3; ++batch_number) {
    TraceBatch batch;
    for (int64_t i = 0; i < 50'000; ++i) batch.of(lines).Add(std::vector<int64_t>{batch_number * 50'000 + i});
    ASSERT_TRUE(assembler_->Add(std::move(batch)).ok());
  }
  ASSERT_TRUE(assembler_->Finish().ok());
  EXPECT_EQ(part_.side_segments, (std::vector<uint32_t>{65'536, 65'536, 18'928}));
  for (size_t i = 0; i < 150'000; ++i) ASSERT_EQ(part_.side[0].columns[0][i], static_cast<int64_t>(i));
}

TEST_F(TraceAssemblerTest, ASideTableOfOtherColumnsIsRefused) {
  Begin();
  TraceBatch batch;
  batch.of(SideTable{"lines", {{"line", SideType::kInteger, ""}}}).Add(std::vector<int64_t>{1});
  batch.of(SideTable{"lines", {{"line", SideType::kReal, ""}}}).Add(std::vector<int64_t>{1});
  EXPECT_EQ(assembler_->Add(std::move(batch)).code(), ErrorCode::kInternal);
}

TEST_F(TraceAssemblerTest, MoreThanTheLimitsSayFails) {
  std::string events;
  for (int i = 0; i < 20; ++i) {
    events += R"({"ph":"B","name":"name )" + std::to_string(i) + R"(","ts":1,"tid":)" + std::to_string(i) +
              R"(,"args":{"k)" + std::to_string(i) + "\":1}},";
  }
  struct Case {
    AssemblerLimits limits;
    std::string why;
  };
  for (const Case& c :
       {Case{{.text_bytes = 300}, "its different names and texts are more than 0 MiB"},
        Case{{.tracks = 10}, "it has more than 10 tracks, which each thread, counter and id of async events is"},
        Case{{.shapes = 10}, "it has more than 10 kinds of argument lists"}}) {
    Begin(c.limits);
    const Status status = Add(events);
    EXPECT_EQ(status.code(), ErrorCode::kBadInput);
    EXPECT_EQ(status.why(), c.why);
  }
}

TEST_F(TraceAssemblerTest, OfMoreSpansThanMayBeOpenTheOldestHaveNoEnd) {
  std::string events;
  for (int i = 0; i < 20; ++i) events += R"({"ph":"B","name":"n","ts":1,"tid":)" + std::to_string(i) + "},";
  Begin({.open_spans = 12});
  ASSERT_TRUE(Add(events).ok());
  ASSERT_TRUE(assembler_->Finish().ok());
  EXPECT_EQ(part_.Rows(EventKind::kSlice).size(), 20u);
  EXPECT_EQ(assembler_->spans_given_up(), 8);
  EXPECT_EQ(assembler_->begins_alone(), 12);
}

TEST_F(TraceAssemblerTest, WhatThePartRefusesFails) {
  const std::string events = R"({"ph":"X","name":"x","ts":1,"dur":1,"args":{"k":1}},{"ph":"i","ts":3})";
  AddAll(events);
  const int64_t calls = part_.calls;
  for (int64_t call = 1; call <= calls; ++call) {
    Begin();
    part_.fail_at_call = call;
    Status status = Add(events);
    if (status.ok()) status = assembler_->Finish();
    EXPECT_EQ(status.code(), ErrorCode::kStorageFull) << call;
    EXPECT_EQ(part_.calls, call);
  }
}

TEST_F(TraceAssemblerTest, APoolThatIsFullIsNoReasonNotToWrite) {
  WorkerPool full({.threads = 1, .queue_limit_jobs = 0});
  TraceAssembler assembler(part_, full);
  ChromeEvents reader(0);
  ASSERT_TRUE(assembler.Add(BatchOf(reader, R"({"ph":"i","ts":1})")).ok());
  ASSERT_TRUE(assembler.Finish().ok());
  EXPECT_EQ(Rows_(EventKind::kInstant).size(), 1u);
}

TEST_F(TraceAssemblerTest, TotalsAreThoseOfAllSlices) {
  std::string events;
  for (int64_t i = 0; i < 40; ++i) {
    const std::string time = std::to_string(i * (i % 2 == 0 ? 10 : 3));  // in no order
    events +=
        R"({"ph":"X","ts":)" + time + R"(,"dur":2,"name":")" + (i % 4 == 0 ? "a" : "b") + R"(","cat":"c","tid":1},)";
  }
  AddAll(events);
  using Values = std::vector<int64_t>;
  size_t found = 0;
  for (const MemoryPart::OneSegment& segment : part_.segments) {
    if (segment.kind != EventKind::kTotal) continue;
    ++found;
    EXPECT_EQ(segment.rows.of(EventColumn::kCount), (Values{10, 30}));
    EXPECT_EQ(segment.rows.of(EventColumn::kBusy), (Values{20'000, 60'000}));
    EXPECT_EQ(segment.rows.of(EventColumn::kSlice), (Values{0, 0}));
  }
  EXPECT_EQ(found, 1u);
}

TEST_F(TraceAssemblerTest, SlicesInTooManyOthersAreCounted) {
  std::string events;
  const int64_t count = kMostDepth + 10;
  for (int64_t i = 0; i < count; ++i) {
    events +=
        R"({"ph":"X","name":"x","ts":)" + std::to_string(i) + R"(,"dur":)" + std::to_string(10 * count - 2 * i) + "},";
  }
  AddAll(events);
  EXPECT_EQ(assembler_->crowded_slices(), 10);
  EXPECT_EQ(part_.facts.at("slices_too_deep"), "10");
  EXPECT_EQ(Depths().back(), kMostDepth);
}

// Then the levels are the part's to make, of all slices, and the depths with them.
TEST_F(TraceAssemblerTest, LevelsThatAreTooCoarseForWhatComesLaterAreGivenUp) {
  for (const bool grows_dense : {false, true}) {
    std::string events;
    int64_t time = 0;  // us
    for (int64_t i = 0; i < 400'000; ++i) {
      const bool dense = grows_dense == (i >= 132'000);
      events += R"({"ph":"X","ts":)" + std::to_string(time) + R"(,"dur":1},)";
      time += dense ? 1 : 300;
    }
    AddAll(events);
    EXPECT_EQ(Depths().size() == 400'000, !grows_dense);
    EXPECT_EQ(Rows_(EventKind::kSlice).size(), 400'000u);
  }
}

// By hand: in how many others of its track each is, as docs/trace_format.md has it.
class DepthTest : public testing::Test {
 protected:
  struct Slice {
    int64_t time = 0;
    int64_t duration = 0;
    int track = 0;
  };
  // Of a trace that comes in such batches, through a part of the real kind: "time+duration track depth".
  Rows Depths(const std::vector<std::vector<Slice>>& batches, size_t rows_at_once) {
    const std::unique_ptr<Files> files = MakePosixFiles();
    const std::string path = folder_ / ("part" + std::to_string(++parts_) + ".trace.db");
    std::unique_ptr<PartWriter> part = *PartWriter::Create(*files, path);
    TraceAssembler assembler(*part, pool_, {.rows_at_once = rows_at_once});
    ChromeEvents reader(0);
    for (const std::vector<Slice>& batch : batches) {
      std::string events;
      for (const Slice& slice : batch) {
        events += R"({"ph":"X","name":"x","ts":)" + std::to_string(slice.time) + R"(,"dur":)" +
                  std::to_string(slice.duration) + R"(,"tid":)" + std::to_string(slice.track) + "},";
      }
      KPROF_CHECK(assembler.Add(BatchOf(reader, events)).ok());
    }
    KPROF_CHECK(assembler.Finish().ok());
    KPROF_CHECK(part->Finish({}).ok());
    ColumnCache cache(1 << 20);
    const std::unique_ptr<PartReader> written = *PartReader::Open(path, cache);
    Rows rows;
    for (const Segment& segment : written->segments(EventKind::kSlice)) {
      const DecodedColumn times = *written->Read(segment, EventColumn::kTime);
      const DecodedColumn durations = *written->Read(segment, EventColumn::kDuration);
      const DecodedColumn tracks = *written->Read(segment, EventColumn::kTrack);
      const DecodedColumn depths = *written->Read(segment, EventColumn::kDepth);
      for (size_t row = 0; row < times->size(); ++row) {
        rows.push_back(std::to_string((*times)[row]) + "+" + std::to_string((*durations)[row]) + " " +
                       *written->tracks()[static_cast<size_t>((*tracks)[row])].tid + " " +
                       std::to_string((*depths)[row]));
      }
    }
    std::sort(rows.begin(), rows.end());
    return rows;
  }

  TemporaryFolder folder_;
  WorkerPool pool_{{.threads = 2}};
  int parts_ = 0;
};

TEST_F(DepthTest, IsTheSameHoweverManyAreSeenAtOnce) {
  std::mt19937 random(7);
  for (int turn = 0; turn < 60; ++turn) {
    const bool in_order = turn % 2 == 0;
    std::vector<Slice> slices;
    for (int i = 0; i < 60; ++i) {
      slices.push_back(
          {static_cast<int64_t>(random() % 30), static_cast<int64_t>(random() % 12), static_cast<int>(random() % 2)});
    }
    slices.insert(slices.begin(), {0, 20, 2});  // the base is the same in all
    if (in_order) {
      std::stable_sort(slices.begin(), slices.end(), [](const Slice& a, const Slice& b) { return a.time < b.time; });
    }
    std::vector<std::vector<Slice>> batches(1);
    for (const Slice& slice : slices) {
      if (batches.back().size() == 5) batches.emplace_back();
      batches.back().push_back(slice);
    }
    const Rows at_once = Depths({slices}, 100'000);
    for (const size_t rows_at_once : {size_t{1}, size_t{11}}) {
      ASSERT_EQ(Depths(batches, rows_at_once), at_once) << turn << " " << rows_at_once;
    }
  }
}

TEST_F(DepthTest, OneThatBeginsTogetherWithAShorterOneBeforeIsAroundIt) {
  EXPECT_EQ(Depths({{{0, 1, 0}, {10, 2, 0}}, {{10, 5, 0}, {20, 1, 0}}}, 1),
            (Rows{"0+1000 0 0", "10000+2000 0 1", "10000+5000 0 0", "20000+1000 0 0"}));
}

}  // namespace
}  // namespace kprof
