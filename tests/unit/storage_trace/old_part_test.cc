// Parts as former versions wrote them: tests/data/README.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>

#include "storage/trace/read/part_reader.h"
#include "tests/fakes/trace/read_part.h"

namespace kprof {
namespace {

using Values = std::vector<int64_t>;

class OldPart : public testing::Test {
 protected:
  explicit OldPart(const std::string& example)
      : reader_(*PartReader::Open(KPROF_SOURCE_DIR "/tests/data/" + example + "/example.trace.db", cache_)) {}

  // All of a kind's column, and of a shape's slot.
  Values Read(EventKind kind, EventColumn column) {
    Values values;
    for (const Segment& segment : reader_->segments(kind)) {
      const DecodedColumn some = *reader_->Read(segment, column);
      values.insert(values.end(), some->begin(), some->end());
    }
    return values;
  }
  Values ReadArg(uint32_t shape, uint32_t slot) {
    Values values;
    for (const Segment& segment : reader_->segments(EventKind::kSlice)) {
      const DecodedColumn some = *reader_->ReadArg(segment, shape, slot);
      values.insert(values.end(), some->begin(), some->end());
    }
    return values;
  }

  ColumnCache cache_{1 << 20};
  std::unique_ptr<PartReader> reader_;
};

class OldPartV1Test : public OldPart {
 protected:
  OldPartV1Test() : OldPart("trace-v1") {}
};

TEST_F(OldPartV1Test, AllOfItIsRead) {
  const Status status = ReadAll(*reader_);
  EXPECT_TRUE(status.ok()) << status.ToString();
}

TEST_F(OldPartV1Test, HasItsFacts) {
  EXPECT_EQ(reader_->IntegerFact("base_unix_ns"), 1'750'000'000'000'000'000);
  EXPECT_EQ(reader_->TextFact("clock"), "unix");
  EXPECT_EQ(reader_->IntegerFact("rows.slice"), 3001);
  EXPECT_EQ(reader_->facts().size(), 12u);
}

TEST_F(OldPartV1Test, HasItsStrings) {
  using namespace std::string_literals;
  EXPECT_EQ(*reader_->ReadString(2), "gemm");
  EXPECT_EQ(*reader_->ReadString(6), "\xff\xfe");
  EXPECT_EQ(*reader_->FindString("a\0b"s), 7);
}

TEST_F(OldPartV1Test, HasItsTracks) {
  EXPECT_EQ(reader_->tracks(), (std::vector<TrackRow>{{0, "cpu_thread", "main", "1", "1", "python3", {}, {}, 0},
                                                      {1, "gpu_stream", "stream 7", "0", "7", {}, 0, 7, -1},
                                                      {2, "counter", "power W", {}, {}, {}, {}, {}, {}}}));
}

TEST_F(OldPartV1Test, HasItsShapes) {
  ASSERT_EQ(reader_->shapes().size(), 4u);
  for (int type = 4; type <= 8; ++type) {
    EXPECT_EQ(reader_->shapes()[1][static_cast<size_t>(type - 4)].type, static_cast<ArgType>(type));
  }
  EXPECT_EQ(reader_->shapes()[2][3].type, ArgType::kCorrelation);
  EXPECT_TRUE(reader_->shapes()[1][1].of_event);
}

TEST_F(OldPartV1Test, HasItsRows) {
  EXPECT_EQ(reader_->segments(EventKind::kSlice).size(), 6u);
  const Values times = Read(EventKind::kSlice, EventColumn::kTime);
  EXPECT_EQ(times.size(), 3001u);
  EXPECT_EQ(std::accumulate(times.begin(), times.end(), int64_t{0}), 1'483'703'497);
  EXPECT_EQ(Read(EventKind::kInstant, EventColumn::kName), Values{7});
  EXPECT_EQ(Read(EventKind::kCounter, EventColumn::kTime), (Values{0, 100, 200, 300, 400, 500, 600, 700, 800, 900}));
  EXPECT_EQ(Read(EventKind::kCounter, EventColumn::kShape), (Values{3, 0, 0, 0, 0, 3, 0, 0, 0, 0}));
  EXPECT_EQ(Read(EventKind::kFlow, EventColumn::kPhase), (Values{'s', 'f'}));
  EXPECT_EQ(Read(EventKind::kMetadata, EventColumn::kTrack), Values{0});
}

TEST_F(OldPartV1Test, HasItsArguments) {
  Values decimals = ReadArg(1, 1);
  std::sort(decimals.begin(), decimals.end());
  ASSERT_EQ(decimals.size(), 1000u);
  for (size_t step = 0; step < 1000; ++step) EXPECT_EQ(decimals[step], static_cast<int64_t>(step * 16 + 1));
}

TEST_F(OldPartV1Test, HasHowItsSamplesWereWritten) {
  EXPECT_EQ(*(*reader_->ReadArg(reader_->segments(EventKind::kCounter)[0], 3, 0)), Values{16'001});
  EXPECT_EQ(*(*reader_->ReadArg(reader_->segments(EventKind::kCounter)[1], 3, 0)), Values{16'006});
}

TEST_F(OldPartV1Test, HasItsDepths) {
  const Values tracks = Read(EventKind::kSlice, EventColumn::kTrack);
  const Values names = Read(EventKind::kSlice, EventColumn::kName);
  const Values depths = Read(EventKind::kSlice, EventColumn::kDepth);
  int64_t within = 0;
  for (size_t row = 0; row < depths.size(); ++row) {
    if (tracks[row] == 1) within += depths[row];
    if (tracks[row] == 1) continue;
    EXPECT_EQ(depths[row], names[row] == 7 ? 1 : 0) << row;
  }
  EXPECT_EQ(within, 143);
}

TEST_F(OldPartV1Test, HasItsLevels) {
  std::map<int64_t, int64_t> rows;
  for (const int64_t level : Read(EventKind::kSummary, EventColumn::kLevel)) ++rows[level];
  EXPECT_EQ(rows, (std::map<int64_t, int64_t>{{6, 633}, {7, 186}, {8, 51}, {9, 15}, {10, 6}}));
  EXPECT_EQ(Read(EventKind::kCounterSummary, EventColumn::kCount), Values{10});
}

// That version was there before instants had levels, and went on.
TEST_F(OldPartV1Test, HasNoLevelsOfInstants) {
  EXPECT_TRUE(reader_->segments(EventKind::kInstantSummary).empty());
  EXPECT_EQ(reader_->rows(EventKind::kInstantSummary), 0);
}

class OldPartV1WithLevelsOfInstantsTest : public OldPart {
 protected:
  OldPartV1WithLevelsOfInstantsTest() : OldPart("trace-v1-instant-levels") {}
};

TEST_F(OldPartV1WithLevelsOfInstantsTest, AllOfItIsRead) {
  const Status status = ReadAll(*reader_);
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(reader_->facts().size(), 13u);
}

TEST_F(OldPartV1WithLevelsOfInstantsTest, HasItsLevels) {
  EXPECT_EQ(Read(EventKind::kInstant, EventColumn::kName), (Values{7, 7, 7, 7, 7}));
  EXPECT_EQ(Read(EventKind::kInstantSummary, EventColumn::kCount), Values{5});
  EXPECT_EQ(Read(EventKind::kInstantSummary, EventColumn::kDuration), Values{400});
  EXPECT_EQ(Read(EventKind::kInstantSummary, EventColumn::kLevel), Values{5});
  EXPECT_EQ(Read(EventKind::kCounterSummary, EventColumn::kCount), Values{10});
}

class OldPartV2Test : public OldPart {
 protected:
  OldPartV2Test() : OldPart("trace-v2") {}
  Values ReadSide(const char* table, size_t column) {
    Values values;
    for (const SideSegment& segment : reader_->FindSideTable(table)->segments) {
      const DecodedColumn some = *reader_->ReadSide(segment, column);
      values.insert(values.end(), some->begin(), some->end());
    }
    return values;
  }
};

TEST_F(OldPartV2Test, AllOfItIsRead) {
  const Status status = ReadAll(*reader_);
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(reader_->rows(EventKind::kSlice), 3001);
  EXPECT_EQ(reader_->facts().size(), 13u);
}

TEST_F(OldPartV2Test, HasItsSideTables) {
  ASSERT_EQ(reader_->side_tables().size(), 2u);
  const StoredSideTable& lines = reader_->side_tables()[0];
  EXPECT_EQ(
      lines.table,
      (SideTable{
          "lines",
          {{"file", SideType::kText, ""}, {"line", SideType::kInteger, ""}, {"share", SideType::kReal, "percent"}}}));
  EXPECT_EQ(lines.rows, 100);
  EXPECT_EQ(lines.segments.size(), 2u);
  const Values numbers = ReadSide("lines", 1);
  EXPECT_EQ(numbers[0], kNoValue);
  EXPECT_EQ(numbers[99], 99 * 99);
  EXPECT_EQ(ReadSide("lines", 2)[10], kNoReal);
  EXPECT_EQ(ReadSide("lines", 2)[66], std::bit_cast<int64_t>(16.5));
  EXPECT_EQ(ReadSide("metric", 1), (Values{0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(*reader_->ReadString(ReadSide("metric", 0)[0]), "gemm");
}

}  // namespace
}  // namespace kprof
