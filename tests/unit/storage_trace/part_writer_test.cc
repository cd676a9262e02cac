#include "storage/trace/write/part_writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <fstream>
#include <limits>

#include "storage/trace/format/event_time.h"
#include "storage/trace/format/part_schema.h"
#include "storage/trace/read/part_reader.h"
#include "tests/fakes/base/temporary_folder.h"
#include "tests/fakes/storage/faulty_disk.h"
#include "tests/fakes/trace/read_part.h"
#include "tests/fakes/trace/sample_part.h"

namespace kprof {
namespace {

using Values = std::vector<int64_t>;

class PartWriterTest : public testing::Test {
 protected:
  std::unique_ptr<PartWriter> Create() { return *PartWriter::Create(*files_, path_); }
  std::unique_ptr<PartReader> Open() { return *PartReader::Open(path_, cache_); }
  bool IsThere() const { return std::filesystem::exists(path_); }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      names.push_back(entry.path().filename());
    return names;
  }
  // All of a kind's column.
  Values Read(EventKind kind, EventColumn column) {
    const std::unique_ptr<PartReader> reader = Open();
    Values values;
    for (const Segment& segment : reader->segments(kind)) {
      const DecodedColumn some = *reader->Read(segment, column);
      values.insert(values.end(), some->begin(), some->end());
    }
    return values;
  }
  // A whole part, from its begin to its end.
  Status Write(Files& files, const char* vfs) const {
    ASSIGN_OR_RETURN(const std::unique_ptr<PartWriter> writer, PartWriter::Create(files, path_, vfs));
    RETURN_IF_ERROR(FillSample(*writer));
    // More than SQLite's cache, so that it is written before the end, too.
    for (uint32_t id = 8; id < 24; ++id) RETURN_IF_ERROR(writer->AddString(id, std::string(300'000, 'x')));
    return writer->Finish({}).status();
  }

  void Clear(FaultyDisk& disk) const {
    for (const std::string& name : Names()) std::filesystem::remove(folder_ / name);
    disk.plan.Forget();
  }
  // The first operations of that on the disk, the last ones, and some of those between, which are all alike.
  std::vector<int64_t> PlacesToFail(FaultyDisk& disk) const {
    disk.plan.Heal();
    EXPECT_TRUE(Write(disk.files, disk.vfs.name()).ok());
    const int64_t ops = disk.plan.ops();
    Clear(disk);
    std::vector<int64_t> places;
    for (int64_t at = 1; at <= ops; at += at < 30 || at > ops - 30 ? 1 : 59) places.push_back(at);
    EXPECT_GT(ops, 200);
    return places;
  }

  TemporaryFolder folder_;
  const std::string path_ = folder_ / "rank0.trace.db";
  const std::string partial_ = path_ + std::string(kPartialEnding);
  std::unique_ptr<Files> files_ = MakePosixFiles();
  ColumnCache cache_{1 << 20};
};

TEST_F(PartWriterTest, NothingIsThereBeforeItIsFinished) {
  const std::unique_ptr<PartWriter> writer = Create();
  ASSERT_TRUE(FillSample(*writer).ok());
  EXPECT_FALSE(IsThere());
  ASSERT_TRUE(writer->Finish({}).ok());
  EXPECT_TRUE(IsThere());
}

TEST_F(PartWriterTest, OnlyThePartIsThereAfterwards) {
  const std::unique_ptr<PartWriter> writer = Create();
  ASSERT_TRUE(FillSample(*writer).ok() && writer->Finish({}).ok());
  EXPECT_EQ(Names(), std::vector<std::string>{"rank0.trace.db"});
}

TEST_F(PartWriterTest, SaysItsSize) {
  const std::unique_ptr<PartWriter> writer = Create();
  ASSERT_TRUE(FillSample(*writer).ok());
  const int64_t size_bytes = *writer->Finish({});
  EXPECT_EQ(size_bytes, static_cast<int64_t>(std::filesystem::file_size(path_)));
}

TEST_F(PartWriterTest, APartMayHaveNothingInIt) {
  ASSERT_TRUE(Create()->Finish({}).ok());
  EXPECT_EQ(Open()->rows(EventKind::kSlice), 0);
}

TEST_F(PartWriterTest, WhatWasNotFinishedGoesWithIt) {
  std::unique_ptr<PartWriter> writer = Create();
  ASSERT_TRUE(FillSample(*writer).ok());
  EXPECT_TRUE(std::filesystem::exists(partial_));
  writer.reset();
  EXPECT_TRUE(Names().empty());
}

TEST_F(PartWriterTest, ReplacesWhatAFormerOneLeft) {
  std::ofstream(partial_) << "left by one that died";
  ASSERT_TRUE(Create()->Finish({}).ok());
  EXPECT_EQ(Names(), std::vector<std::string>{"rank0.trace.db"});
  Open();
}

TEST_F(PartWriterTest, CountsRowsAndTracks) {
  const std::unique_ptr<PartWriter> writer = Create();
  ASSERT_TRUE(FillSample(*writer).ok());
  EXPECT_EQ(writer->rows(EventKind::kSlice), 23);
  EXPECT_EQ(writer->rows(EventKind::kCounter), 3);
  EXPECT_EQ(writer->tracks(), 3);
}

TEST_F(PartWriterTest, ALaterFactTakesThePlaceOfAFormerOne) {
  const std::unique_ptr<PartWriter> writer = Create();
  ASSERT_TRUE(writer->SetFact("clock", "mono").ok());
  ASSERT_TRUE(writer->SetFact("clock", "unix").ok());
  ASSERT_TRUE(writer->Finish({}).ok());
  EXPECT_EQ(Open()->TextFact("clock"), "unix");
}

TEST_F(PartWriterTest, KeepsHowManyRowsOfEachKindThereAre) {
  const std::unique_ptr<PartWriter> writer = Create();
  ASSERT_TRUE(FillSample(*writer).ok() && writer->Finish({}).ok());
  EXPECT_EQ(Open()->IntegerFact("rows.slice"), 23);
  EXPECT_EQ(Open()->IntegerFact("rows.metadata"), 1);
}

TEST_F(PartWriterTest, OfSmallPagesAPartIsSmaller) {
  std::vector<int64_t> sizes;
  for (const int page_bytes : {kPartPageBytes, kSmallPartPageBytes}) {
    const std::unique_ptr<PartWriter> writer = *PartWriter::Create(*files_, path_, nullptr, page_bytes);
    ASSERT_TRUE(FillSample(*writer).ok());
    sizes.push_back(*writer->Finish({}));
    EXPECT_EQ(Open()->rows(EventKind::kSlice), 23);
  }
  EXPECT_GE(sizes[0], 10 * kPartPageBytes / 2);
  EXPECT_LE(sizes[1], 16 * kSmallPartPageBytes);
}

TEST_F(PartWriterTest, EndsWhenToldToAndLeavesNothing) {
  std::stop_source stop;
  stop.request_stop();
  std::unique_ptr<PartWriter> writer = Create();
  EXPECT_EQ(writer->Finish(stop.get_token()).status().code(), ErrorCode::kCancelled);
  writer.reset();
  EXPECT_TRUE(Names().empty());
}

// Depths.

// Slices with depths of their own, which no search would find.
EventRows WithDepths(const std::vector<PlainSlice>& slices, int64_t depth) {
  EventRows rows = RowsOf(slices);
  rows.of(EventColumn::kDepth).assign(slices.size(), depth);
  return rows;
}

EventRows OneSummary() {
  EventRows rows;
  AppendRow(rows, EventKind::kSummary, {0, 5, 0, 0, 0, 2, 4, 5});
  return rows;
}

TEST_F(PartWriterTest, KeepsDepthsThatCameWithAllSlices) {
  const std::unique_ptr<PartWriter> writer = Create();
  ASSERT_TRUE(writer->AddString(0, "").ok());
  ASSERT_TRUE(AddRows(*writer, EventKind::kSlice, WithDepths({{0, 5, 0, 0}, {10, 5, 0, 0}}, 7)).ok());
  ASSERT_TRUE(AddRows(*writer, EventKind::kSlice, WithDepths({{5, 5, 1, 0}}, 8)).ok());
  ASSERT_TRUE(AddRows(*writer, EventKind::kSummary, OneSummary()).ok());
  ASSERT_TRUE(writer->Finish({}).ok());
  EXPECT_EQ(Read(EventKind::kSlice, EventColumn::kDepth), (Values{7, 7, 8}));
  EXPECT_EQ(Read(EventKind::kSummary, EventColumn::kBusy), Values{4});
}

TEST_F(PartWriterTest, MakesDepthsAnewWhereNotAllSlicesHaveThem) {
  const std::unique_ptr<PartWriter> writer = Create();
  ASSERT_TRUE(AddRows(*writer, EventKind::kSlice, WithDepths({{0, 50, 0, 0}}, 7)).ok());
  ASSERT_TRUE(AddRows(*writer, EventKind::kSlice, RowsOf({{60, 5, 0, 0}})).ok());
  ASSERT_TRUE(writer->Finish({}).ok());
  EXPECT_EQ(Read(EventKind::kSlice, EventColumn::kDepth), (Values{0, 0}));
}

TEST_F(PartWriterTest, LevelsThatAreMadeAnewAreThereOnce) {
  std::vector<PlainSlice> slices;
  for (int64_t i = 0; i < 100; ++i) slices.push_back({i * 10, 5, 0, 0});
  const std::unique_ptr<PartWriter> writer = Create();
  ASSERT_TRUE(AddRows(*writer, EventKind::kSummary, OneSummary()).ok());
  ASSERT_TRUE(AddRows(*writer, EventKind::kSlice, RowsOf(slices)).ok());
  ASSERT_TRUE(AddRows(*writer, EventKind::kSummary, OneSummary()).ok());
  ASSERT_TRUE(writer->Finish({}).ok());
  EXPECT_EQ(Read(EventKind::kSummary, EventColumn::kCount), Values{100});
  EXPECT_EQ(Open()->IntegerFact("rows.summary"), 1);
  EXPECT_EQ(Open()->segments(EventKind::kSummary)[0].first_row, 0);
}

// Of 8 instants and 8 samples in 1,024 ns.
Status AddPoints(PartWriter& writer) {
  EventRows instants;
  EventRows samples;
  for (int64_t i = 0; i < 8; ++i) {
    AppendRow(instants, EventKind::kInstant, {i * 100, 0, 0, 0, 0});
    AppendRow(samples, EventKind::kCounter, {i * 100, 1, 0, std::bit_cast<int64_t>(static_cast<double>(i))});
  }
  RETURN_IF_ERROR(AddRows(writer, EventKind::kInstant, instants));
  return AddRows(writer, EventKind::kCounter, samples);
}

TEST_F(PartWriterTest, MakesLevelsOfInstantsAndCounters) {
  const std::unique_ptr<PartWriter> writer = Create();
  ASSERT_TRUE(AddPoints(*writer).ok());
  ASSERT_TRUE(writer->Finish({}).ok());
  EXPECT_EQ(Read(EventKind::kInstantSummary, EventColumn::kCount), Values{8});
  EXPECT_EQ(Read(EventKind::kInstantSummary, EventColumn::kDuration), Values{700});
  EXPECT_EQ(Read(EventKind::kCounterSummary, EventColumn::kCount), Values{8});
  EXPECT_EQ(Read(EventKind::kCounterSummary, EventColumn::kMost), Values{std::bit_cast<int64_t>(7.0)});
  EXPECT_EQ(Open()->IntegerFact("rows.instant_summary"), 1);
}

TEST_F(PartWriterTest, KeepsLevelsOfInstantsAndCountersThatCame) {
  EventRows instants;
  AppendRow(instants, EventKind::kInstantSummary, {0, 700, 0, 0, 7, 6});
  EventRows samples;
  AppendRow(samples, EventKind::kCounterSummary, {0, 700, 1, 0, 6, 6, 0, 0, 0});
  const std::unique_ptr<PartWriter> writer = Create();
  ASSERT_TRUE(AddPoints(*writer).ok());
  ASSERT_TRUE(AddRows(*writer, EventKind::kInstantSummary, instants).ok());
  ASSERT_TRUE(AddRows(*writer, EventKind::kCounterSummary, samples).ok());
  ASSERT_TRUE(writer->Finish({}).ok());
  EXPECT_EQ(Read(EventKind::kInstantSummary, EventColumn::kCount), Values{7});
  EXPECT_EQ(Read(EventKind::kCounterSummary, EventColumn::kCount), Values{6});
}

TEST_F(PartWriterTest, SaysNothingOfDepthsWhereAllSlicesHaveThem) {
  const std::unique_ptr<PartWriter> writer = Create();
  ASSERT_TRUE(FillSample(*writer).ok() && writer->Finish({}).ok());
  EXPECT_EQ(Open()->IntegerFact("slices_without_depth"), std::nullopt);
}

// What it is given.

// An otherwise good segment of two slices, changed.
Status StatusOf(PartWriter& writer, const std::function<void(EncodedSegment&)>& change) {
  const EventRows rows = RowsOf({{0, 5, 0, 0}, {10, 5, 0, 0}});
  EncodedSegment segment = SegmentMaker(EventKind::kSlice, rows).Encode(0);
  change(segment);
  return writer.AddSegment(segment);
}

TEST_F(PartWriterTest, RefusesSegmentsThatNoReaderTakes) {
  using Column = EncodedSegment::Column;
  const std::function<void(EncodedSegment&)> changes[] = {
      [](auto& segment) { segment.kind = static_cast<EventKind>(0); },
      [](auto& segment) { segment.kind = static_cast<EventKind>(kEventKinds + 1); },
      [](auto& segment) { segment.rows = 0; },
      [](auto& segment) { segment.rows = kMaxSegmentRows + 1; },
      [](auto& segment) { segment.rows = 3; },
      [](auto& segment) { segment.min_time_ns = -kMostTimeNs; },
      [](auto& segment) { segment.max_end_ns = kMostTimeNs; },
      [](auto& segment) { segment.min_time_ns = 11; },
      [](auto& segment) { segment.max_end_ns = 9; },
      [](auto& segment) { segment.columns.pop_back(); },
      [](auto& segment) { segment.columns.push_back(Column(segment.columns[0])); },
      [](auto& segment) { segment.columns[2].column = 0; },
      [](auto& segment) { segment.columns[2].column = kEventColumns + 1; },
      [](auto& segment) { segment.columns[2].rows = 1; },
      [](auto& segment) {
        segment.columns.push_back({kMostShapes, 0, 1, segment.columns[0].encoded});
      },
      [](auto& segment) {
        segment.columns.push_back({1, kMostShapeSlots, 1, segment.columns[0].encoded});
      },
      [](auto& segment) {
        segment.columns.push_back({1, 0, 0, segment.columns[0].encoded});
      },
      [](auto& segment) {
        segment.columns.push_back({1, 0, 3, segment.columns[0].encoded});
      },
      [](auto& segment) {
        segment.columns.insert(segment.columns.end(), 2, {1, 0, 1, segment.columns[0].encoded});
      },
  };
  for (const auto& change : changes) {
    const Status status = StatusOf(*Create(), change);
    EXPECT_EQ(status.code(), ErrorCode::kBadInput) << &change - changes << ": " << status.ToString();
  }
}

TEST_F(PartWriterTest, RefusesASliceThatEndsBeyondAllTimes) {
  const std::unique_ptr<PartWriter> writer = Create();
  const EventRows rows = RowsOf({{5, 10, 0, 0}});
  EncodedSegment segment = SegmentMaker(EventKind::kSlice, rows).Encode(0);
  segment.max_end_ns = kMostTimeNs;
  EXPECT_EQ(writer->AddSegment(segment).code(), ErrorCode::kBadInput);
}

TEST_F(PartWriterTest, RefusesShapesThatNoReaderTakes) {
  const ArgSlot slot{0, ArgType::kString, false};
  struct Case {
    uint32_t id;
    ArgShape shape;
  };
  const Case cases[] = {{0, {slot}},
                        {1, {}},
                        {kMostShapes, {slot}},
                        {1, ArgShape(kMostShapeSlots + 1, slot)},
                        {1, {{0, static_cast<ArgType>(0), false}}},
                        {1, {{0, static_cast<ArgType>(10), false}}},
                        {1, {{5, ArgType::kString, false}}}};
  for (const Case& c : cases) {
    const std::unique_ptr<PartWriter> writer = Create();
    ASSERT_TRUE(writer->AddString(0, "").ok());
    const Status status = writer->AddShape(c.id, c.shape);
    EXPECT_EQ(status.code(), ErrorCode::kBadInput) << &c - cases << ": " << status.ToString();
  }
}

TEST_F(PartWriterTest, RefusesANumberThatComesTwice) {
  const ArgShape shape = {{0, ArgType::kString, false}};
  const auto twice = [&](const std::function<Status(PartWriter&)>& add) {
    const std::unique_ptr<PartWriter> writer = Create();
    EXPECT_TRUE(writer->AddString(0, "").ok());
    EXPECT_TRUE(add(*writer).ok());
    return add(*writer).code();
  };
  EXPECT_EQ(twice([](PartWriter& writer) { return writer.AddString(1, "a"); }), ErrorCode::kBadInput);
  EXPECT_EQ(twice([](PartWriter& writer) { return writer.AddTrack({}); }), ErrorCode::kBadInput);
  EXPECT_EQ(twice([&](PartWriter& writer) { return writer.AddShape(1, shape); }), ErrorCode::kBadInput);
}

TEST_F(PartWriterTest, RefusesNumbersThatAreNotDense) {
  const auto finish = [&](const std::function<Status(PartWriter&)>& add) {
    const std::unique_ptr<PartWriter> writer = Create();
    EXPECT_TRUE(writer->AddString(0, "").ok());
    EXPECT_TRUE(add(*writer).ok());
    return writer->Finish({}).status().code();
  };
  EXPECT_EQ(finish([](PartWriter& writer) { return writer.AddString(2, ""); }), ErrorCode::kBadInput);
  EXPECT_EQ(finish([](PartWriter& writer) { return writer.AddTrack({.id = UINT32_MAX}); }), ErrorCode::kBadInput);
  EXPECT_EQ(finish([](PartWriter& writer) {
              return writer.AddShape(2, {{0, ArgType::kNull, false}});
            }),
            ErrorCode::kBadInput);
}

TEST_F(PartWriterTest, AfterAFailureThereWillBeNoPart) {
  const std::unique_ptr<PartWriter> writer = Create();
  ASSERT_EQ(writer->AddShape(1, {}).code(), ErrorCode::kBadInput);
  EXPECT_EQ(writer->AddString(0, "").code(), ErrorCode::kBadInput);
  EXPECT_EQ(writer->Finish({}).status().code(), ErrorCode::kBadInput);
  EXPECT_FALSE(IsThere());
}

// The disk.

TEST_F(PartWriterTest, WhateverFailsIsSaidAndNothingIsLeft) {
  FaultyDisk disk;
  for (const Fault fault : {Fault::kNoSpace, Fault::kInputOutput, Fault::kTear}) {
    for (const int64_t at : PlacesToFail(disk)) {
      disk.plan.FailAt(at, fault);
      const Status status = Write(disk.files, disk.vfs.name());
      ASSERT_TRUE(disk.plan.has_failed()) << at;
      const ErrorCode code = fault == Fault::kNoSpace ? ErrorCode::kStorageFull : ErrorCode::kStorageBroken;
      ASSERT_EQ(status.code(), code) << "operation " << at << ": " << status.ToString();
      ASSERT_TRUE(Names().empty()) << "operation " << at << ": " << Names()[0];
      disk.plan.Forget();
    }
  }
}

TEST_F(PartWriterTest, AFailureToFinishNamesThePart) {
  FaultyDisk disk;
  const std::unique_ptr<PartWriter> writer = *PartWriter::Create(disk.files, path_, disk.vfs.name());
  ASSERT_TRUE(FillSample(*writer).ok());
  disk.plan.FailAt(1, Fault::kNoSpace, /*lasting=*/true);
  const Status status = writer->Finish({}).status();
  disk.plan.Heal();
  EXPECT_EQ(status.code(), ErrorCode::kStorageFull);
  EXPECT_NE(status.ToString().find(path_), std::string::npos) << status.ToString();
}

TEST_F(PartWriterTest, AfterALossOfPowerThePartIsWholeOrNotThere) {
  using enum FaultPlan::Survives;
  FaultyDisk disk;
  for (const int64_t at : PlacesToFail(disk)) {
    for (const auto survives : {kNothing, kEverything, kSome}) {
      disk.plan.FailAt(at, Fault::kPowerCut);
      ASSERT_FALSE(Write(disk.files, disk.vfs.name()).ok()) << at;
      disk.plan.RestoreSynced(survives, static_cast<uint64_t>(at));
      if (IsThere()) {
        const Status read = ReadAll(*Open());
        ASSERT_TRUE(read.ok()) << at << ": " << read.ToString();
      }
      Clear(disk);
    }
  }
}

TEST_F(PartWriterTest, AFinishedPartOutlastsALossOfPowerOnceItsFolderIsSynced) {
  FaultyDisk disk;
  ASSERT_TRUE(Write(disk.files, disk.vfs.name()).ok());
  ASSERT_TRUE(disk.files.SyncFolder(FolderOf(path_)).ok());
  disk.plan.RestoreSynced(FaultPlan::Survives::kNothing);
  ASSERT_TRUE(IsThere());
  EXPECT_TRUE(ReadAll(*Open()).ok());
}

}  // namespace
}  // namespace kprof
