#include "storage/trace/levels/slice_pass.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include "storage/trace/format/column_store.h"
#include "storage/trace/format/event_time.h"
#include "storage/trace/format/part_schema.h"
#include "storage/trace/write/slice_nesting.h"
#include "tests/fakes/base/no_more_threads.h"
#include "tests/fakes/base/temporary_folder.h"
#include "tests/fakes/trace/sample_part.h"

namespace kprof {
namespace {

using Slices = std::vector<PlainSlice>;
// Track, time, duration, depth; sorted. Of slices that are alike nobody can say which one is in the other.
using Depths = std::vector<std::tuple<int64_t, int64_t, int64_t, int64_t>>;

// By looking at each pair: a slice is one deeper than the last one before it that holds it whole.
Depths PlainDepths(Slices slices) {
  std::sort(slices.begin(), slices.end(), [](const PlainSlice& a, const PlainSlice& b) {
    return std::tuple(a.track, a.time, -EndOf(a.time, a.duration), a.duration == kNoValue) <
           std::tuple(b.track, b.time, -EndOf(b.time, b.duration), b.duration == kNoValue);
  });
  Depths depths;
  for (size_t i = 0; i < slices.size(); ++i) {
    const PlainSlice& slice = slices[i];
    int64_t depth = 0;
    for (size_t j = i; j-- > 0 && depth == 0;) {
      const int64_t end = EndOf(slices[j].time, slices[j].duration);
      if (slices[j].track == slice.track && slices[j].duration != kNoValue && end > slice.time &&
          end >= EndOf(slice.time, slice.duration)) {
        depth = std::get<3>(depths[j]) + 1;
      }
    }
    depths.emplace_back(slice.track, slice.time, slice.duration, depth);
  }
  std::sort(depths.begin(), depths.end());
  return depths;
}

class SlicePassTest : public testing::Test {
 protected:
  SlicePassTest() { EXPECT_TRUE(CreatePartTables(db_).ok() && db_.Execute("BEGIN").ok()); }

  // Segments of so many rows, cut from these as one whole.
  void Add(const Slices& slices, size_t segment_rows = kMaxSegmentRows) {
    const EventRows rows = RowsOf(slices);
    SegmentMaker maker(EventKind::kSlice, rows, segment_rows);
    for (size_t i = 0; i < maker.segments(); ++i) {
      const EncodedSegment segment = maker.Encode(i);
      const auto id = static_cast<int64_t>(segments_.size() + 1);
      segments_.push_back({EventKind::kSlice, id, segment.rows, segment.min_time_ns, segment.max_time_ns});
      for (const EncodedSegment::Column& column : segment.columns) {
        ASSERT_TRUE(WriteColumn(db_, {id, column.shape, column.column}, column.rows, column.encoded).ok());
      }
    }
  }

  Result<int64_t> Make(const SlicePassLimits& limits = {}, const std::stop_token& stop = {}) {
    const auto see = [this](const EncodedSegment& segment) {
      for (const EncodedSegment::Column& column : segment.columns) {
        std::vector<int64_t> values(column.rows);
        RETURN_IF_ERROR(DecodeColumn(column.encoded.codec, column.encoded.bytes, values));
        if (column.column == static_cast<uint32_t>(EventColumn::kLevel)) levels_.insert(values.begin(), values.end());
        if (column.column != static_cast<uint32_t>(EventColumn::kCount)) continue;
        for (const int64_t count : values) in_levels_ += count;
      }
      return OkStatus();
    };
    ASSIGN_OR_RETURN(const MadeDepths made, MakeDepthsAndLevels(db_, segments_, see, stop, limits));
    return made.without;
  }

  Depths Read() {
    Depths depths;
    for (const WrittenSegment& segment : segments_) {
      auto read = [&](EventColumn column) { return *ReadColumn(db_, PlaceOf(segment.id, column)); };
      const std::vector<int64_t> depth = read(EventColumn::kDepth);
      const std::vector<int64_t> time = read(EventColumn::kTime);
      const std::vector<int64_t> duration = read(EventColumn::kDuration);
      const std::vector<int64_t> track = read(EventColumn::kTrack);
      EXPECT_EQ(depth.size(), segment.rows);
      for (size_t row = 0; row < depth.size(); ++row) {
        depths.emplace_back(track[row], time[row], duration[row], depth[row]);
      }
    }
    std::sort(depths.begin(), depths.end());
    return depths;
  }

  void Clear() {
    segments_.clear();
    in_levels_ = 0;
    levels_.clear();
    ASSERT_TRUE(db_.Execute("DELETE FROM segment_column").ok());
  }

  TemporaryFolder folder_;
  Db db_ = *Db::Open(folder_ / "a.db", {.mode = Db::Mode::kReadWrite, .wal = false});
  std::vector<WrittenSegment> segments_;
  int64_t in_levels_ = 0;  // slices that rows of levels stand for, on all of them
  std::set<int64_t> levels_;
};

// Of few times and durations, so that many are alike; some without an end.
Slices RandomSlices(std::mt19937_64& random, size_t count, int64_t begin, int64_t range, int64_t tracks) {
  Slices slices;
  for (size_t i = 0; i < count; ++i) {
    const auto below = [&](int64_t end) { return static_cast<int64_t>(random() % static_cast<uint64_t>(end)); };
    slices.push_back({begin + below(range), below(20) == 0 ? kNoValue : below(range / 4 + 2), below(tracks), 1});
  }
  return slices;
}

TEST_F(SlicePassTest, SegmentsInOrderGetTheDepthsOfAPlainSearch) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 60; ++round) {
    Clear();
    const Slices slices = RandomSlices(random, 150, -500, 5 + static_cast<int64_t>(random() % 500), 3);
    Add(slices, 1 + random() % 40);
    ASSERT_EQ(*Make(), 0);
    ASSERT_EQ(Read(), PlainDepths(slices)) << "round " << round;
  }
}

TEST_F(SlicePassTest, SegmentsThatOverlapGetTheDepthsOfAPlainSearch) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 60; ++round) {
    Clear();
    Slices all;
    for (int piece = 0; piece < 5; ++piece) {
      const Slices slices = RandomSlices(random, 40, static_cast<int64_t>(random() % 300), 100, 4);
      Add(slices, 7 + random() % 40);
      all.insert(all.end(), slices.begin(), slices.end());
    }
    ASSERT_EQ(*Make(), 0);
    ASSERT_EQ(Read(), PlainDepths(all)) << "round " << round;
  }
}

// Pieces touch each other at one time, where slices of one may hold those of the one before.
TEST_F(SlicePassTest, SegmentsThatMeetAtATimeGetTheDepthsOfAPlainSearch) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 200; ++round) {
    Clear();
    Slices all;
    for (int64_t piece = 0; piece < 6; ++piece) {
      const Slices slices = RandomSlices(random, 12, piece / 2 * 2, 3, 2);
      Add(slices, 1 + random() % 6);
      all.insert(all.end(), slices.begin(), slices.end());
    }
    ASSERT_EQ(*Make(), 0);
    ASSERT_EQ(Read(), PlainDepths(all)) << "round " << round;
  }
}

TEST_F(SlicePassTest, ALongerOneThatComesLaterHoldsThoseOfItsTime) {
  Add({{0, 5, 0}, {10, 1, 0}});
  Add({{10, 100, 0}, {20, 1, 0}});
  ASSERT_EQ(*Make(), 0);
  EXPECT_EQ(Read(), (Depths{{0, 0, 5, 0}, {0, 10, 1, 1}, {0, 10, 100, 0}, {0, 20, 1, 1}}));
}

TEST_F(SlicePassTest, ASliceHoldsThoseOfLaterSegments) {
  Add({{0, 1000, 0}});
  Add({{10, 5, 0}});
  Add({{500, 5, 0}, {2000, 5, 0}});
  ASSERT_EQ(*Make(), 0);
  EXPECT_EQ(Read(), (Depths{{0, 0, 1000, 0}, {0, 10, 5, 1}, {0, 500, 5, 1}, {0, 2000, 5, 0}}));
}

TEST_F(SlicePassTest, ManyTracksInSmallGroupsGetTheSameDepths) {
  std::mt19937_64 random(4);
  for (const size_t at_once : {1, 10, 50, 400}) {
    Clear();
    Slices all;
    for (int piece = 0; piece < 3; ++piece) {
      const Slices slices = RandomSlices(random, 100, piece * 10, 100, 40);
      Add(slices, 33);
      all.insert(all.end(), slices.begin(), slices.end());
    }
    ASSERT_EQ(*Make({.rows_at_once = at_once}), 0);
    ASSERT_EQ(Read(), PlainDepths(all)) << at_once;
  }
}

// Each is nested on another thread while the next one is read.
TEST_F(SlicePassTest, ManyRowsInSeveralClustersGetTheSameDepths) {
  constexpr size_t kRows = 9'000;
  for (const size_t at_once : {size_t{1}, kRows, 10 * kRows}) {
    std::mt19937_64 random(6);
    Clear();
    Depths expected;
    for (int64_t cluster = 0; cluster < 4; ++cluster) {
      Slices all;
      for (int piece = 0; piece < 3; ++piece) {
        const Slices slices = RandomSlices(random, kRows / 3, cluster * 1'000'000, 400'000, 1);
        Add(slices, 2'000);
        all.insert(all.end(), slices.begin(), slices.end());
      }
      const Depths of_cluster = PlainDepths(all);
      expected.insert(expected.end(), of_cluster.begin(), of_cluster.end());
    }
    ASSERT_EQ(*Make({.rows_at_once = at_once}), 0);
    std::sort(expected.begin(), expected.end());
    ASSERT_EQ(Read(), expected) << at_once;
    EXPECT_GT(in_levels_, 0);
  }
}

TEST_F(SlicePassTest, WhereNoThreadCanBeStartedTheDepthsAreTheSame) {
  std::mt19937_64 random(7);
  const Slices slices = RandomSlices(random, 60'000, 0, 1'000'000'000, 3'000);
  Add(slices, 10'000);
  ASSERT_EQ(*Make(), 0);
  const Depths depths = Read();
  Clear();
  Add(slices, 10'000);
  const NoMoreThreads none;
  ASSERT_EQ(*Make({.rows_at_once = 20'000}), 0);
  EXPECT_TRUE(Read() == depths);
}

TEST_F(SlicePassTest, ATrackOverTheLimitGetsNoDepthsAndTheOthersGetTheirs) {
  Add({{0, 100, 1}, {5, 10, 1}, {7, 10, 2}});
  Add({{3, 50, 1}, {8, 2, 2}});
  EXPECT_EQ(*Make({.rows_of_track = 2}), 3);
  EXPECT_EQ(Read(),
            (Depths{{1, 0, 100, kNoValue}, {1, 3, 50, kNoValue}, {1, 5, 10, kNoValue}, {2, 7, 10, 0}, {2, 8, 2, 1}}));
}

TEST_F(SlicePassTest, ATrackInSegmentsInOrderHasNoLimit) {
  const Slices slices = {{0, 100, 1}, {5, 10, 1}, {20, 10, 1}, {30, 10, 1}};
  Add(slices, 1);
  EXPECT_EQ(*Make({.rows_at_once = 1, .rows_of_track = 1}), 0);
  EXPECT_EQ(Read(), PlainDepths(slices));
}

TEST_F(SlicePassTest, SlicesWithoutEndOrDepthAreOnNoLevel) {
  Slices slices;
  for (int64_t i = 0; i < 100; ++i) slices.push_back({i, i < 10 ? kNoValue : 1, 0});
  Add(slices);
  Slices too_many;
  for (int64_t i = 0; i < 200; ++i) too_many.push_back({i, 1, 1});
  Add(too_many);
  EXPECT_EQ(*Make({.rows_of_track = 150}), 200);
  EXPECT_EQ(in_levels_ % 90, 0);
  EXPECT_GE(in_levels_, 90);
}

// As many that are far apart come first: by those alone, and by all at once, the finest ones were not worth their rows.
TEST_F(SlicePassTest, WhatIsDenserThanTheRestHasItsLevelsWhereverItLies) {
  for (const bool dense_first : {false, true}) {
    Clear();
    Slices slices;
    int64_t time = 0;
    for (int64_t i = 0; i < 600'000; ++i) {
      const bool dense = (i < 300'000) == dense_first;
      slices.push_back({time, dense ? 100 : 50'000, 0});
      time += dense ? 150 : 90'000;
    }
    Add(slices);
    ASSERT_EQ(*Make(), 0);
    ASSERT_FALSE(levels_.empty());
    EXPECT_EQ(*levels_.begin(), 6) << dense_first;  // 4,096 ns, of 27 of them
  }
}

TEST_F(SlicePassTest, DepthsEndAtTheMost) {
  Slices slices;
  for (int64_t i = 0; i < kMostDepth + 10; ++i) slices.push_back({i, 200'000 - 2 * i, 0});
  Add(slices);
  Add({{kMostDepth, 1, 0}});  // overlaps: the other way goes there, too
  ASSERT_EQ(*Make(), 0);
  std::map<int64_t, int64_t> counts;
  for (const auto& [track, time, duration, depth] : Read()) ++counts[depth];
  EXPECT_EQ(counts.rbegin()->first, kMostDepth);
  EXPECT_EQ(counts.rbegin()->second, 11);
}

TEST_F(SlicePassTest, RefusesSlicesThatAreNotWhereTheirSegmentSays) {
  for (const bool early : {true, false}) {
    Clear();
    Add({{100, 5, 0}, {200, 5, 0}});
    (early ? segments_[0].min_time_ns : segments_[0].max_time_ns) = 150;
    EXPECT_EQ(Make().status().code(), ErrorCode::kBadInput);
  }
}

TEST_F(SlicePassTest, RefusesSlicesThatEndBeyondAllTimes) {
  Add({{100, std::numeric_limits<int64_t>::max(), 0}});
  EXPECT_EQ(Make().status().code(), ErrorCode::kBadInput);
}

TEST_F(SlicePassTest, RefusesASegmentThatLacksAColumn) {
  Add({{100, 5, 0}});
  ASSERT_TRUE(db_.Execute("DELETE FROM segment_column WHERE id & 1023 = 3").ok());
  EXPECT_EQ(Make().status().code(), ErrorCode::kStorageBroken);
}

TEST_F(SlicePassTest, EndsWhenToldTo) {
  std::stop_source stop;
  stop.request_stop();
  Add({{100, 5, 0}});
  EXPECT_EQ(Make({}, stop.get_token()).status().code(), ErrorCode::kCancelled);
}

}  // namespace
}  // namespace kprof
