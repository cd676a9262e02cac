#include "storage/trace/levels/detail_levels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <thread>
#include <tuple>

#include "storage/trace/format/column_codec.h"

namespace kprof {
namespace {

using Slice = DetailSlice;

struct Row {
  int64_t track = 0;
  int64_t depth = 0;
  int64_t begin = 0;
  int64_t duration = 0;
  int64_t count = 0;
  int64_t busy = 0;
  int64_t name = 0;

  auto AsTuple() const { return std::tuple(track, depth, begin, duration, count, busy, name); }
  bool operator==(const Row& other) const { return AsTuple() == other.AsTuple(); }
  bool operator<(const Row& other) const { return AsTuple() < other.AsTuple(); }
};
using Rows = std::vector<Row>;
using Levels = std::map<int64_t, Rows>;  // each sorted

std::vector<int64_t> Decoded(const EncodedSegment& segment, EventColumn column) {
  for (const EncodedSegment::Column& found : segment.columns) {
    if (found.shape != kNoArgs || found.column != static_cast<uint32_t>(column)) continue;
    std::vector<int64_t> values(found.rows);
    EXPECT_TRUE(DecodeColumn(found.encoded.codec, found.encoded.bytes, values).ok());
    return values;
  }
  ADD_FAILURE() << "no column " << static_cast<int>(column);
  return {};
}

Status AddAll(DetailLevels& levels, const std::vector<Slice>& slices) {
  std::vector<uint32_t> order(slices.size());
  std::iota(order.begin(), order.end(), 0U);
  return levels.Add(order, [&](uint32_t row) { return slices[row]; });
}

void OnTwoThreads(const std::function<void()>& first, const std::function<void()>& second) {
  std::thread beside(second);
  first();
  beside.join();
}

Levels Made(const std::vector<Slice>& slices) {
  Levels levels;
  auto see = [&](const EncodedSegment& segment) {
    EXPECT_EQ(segment.kind, EventKind::kSummary);
    const std::vector<int64_t> level = Decoded(segment, EventColumn::kLevel);
    const std::vector<int64_t> begin = Decoded(segment, EventColumn::kTime);
    const std::vector<int64_t> duration = Decoded(segment, EventColumn::kDuration);
    const std::vector<int64_t> track = Decoded(segment, EventColumn::kTrack);
    const std::vector<int64_t> depth = Decoded(segment, EventColumn::kDepth);
    const std::vector<int64_t> count = Decoded(segment, EventColumn::kCount);
    const std::vector<int64_t> busy = Decoded(segment, EventColumn::kBusy);
    const std::vector<int64_t> name = Decoded(segment, EventColumn::kName);
    for (size_t i = 0; i < level.size(); ++i) {
      levels[level[i]].push_back({track[i], depth[i], begin[i], duration[i], count[i], busy[i], name[i]});
    }
    return OkStatus();
  };
  DetailLevels maker(see, OnTwoThreads);
  EXPECT_TRUE(AddAll(maker, slices).ok());
  EXPECT_TRUE(maker.Finish().ok());
  for (auto& [level, rows] : levels) std::sort(rows.begin(), rows.end());
  return levels;
}

// By its rule, slice by slice.
Rows Plain(const std::vector<Slice>& slices, int level) {
  const int64_t width = int64_t{1} << (2 * level);
  Rows rows;
  std::map<std::tuple<int64_t, int64_t, int64_t>, std::pair<Row, int64_t>> bins;  // and the longest in it
  for (const Slice& slice : slices) {
    const Row alone{slice.track, slice.depth, slice.time_ns, slice.duration_ns, 1, slice.duration_ns, slice.name};
    if (slice.duration_ns >= width) {
      rows.push_back(alone);
      continue;
    }
    const auto [bin, is_new] =
        bins.try_emplace({slice.track, slice.depth, slice.time_ns >> (2 * level)}, alone, slice.duration_ns);
    if (is_new) continue;
    auto& [row, longest] = bin->second;
    row.duration = std::max(row.duration, slice.time_ns + slice.duration_ns - row.begin);
    ++row.count;
    row.busy += slice.duration_ns;
    if (slice.duration_ns > longest) {
      longest = slice.duration_ns;
      row.name = slice.name;
    }
  }
  for (const auto& [key, bin] : bins) rows.push_back(bin.first);
  std::sort(rows.begin(), rows.end());
  return rows;
}

// On each track and depth one after the other, with times and gaps between 1 ns and 4^`widest` ns.
std::vector<Slice> RandomSlices(std::mt19937_64& random, size_t count, int tracks, int depths, int widest) {
  std::map<std::pair<int64_t, int64_t>, int64_t> ends;
  std::vector<Slice> slices;
  auto length = [&] {
    return static_cast<int64_t>(random() % (uint64_t{1} << (1 + random() % (2 * static_cast<uint64_t>(widest)))));
  };
  for (size_t i = 0; i < count; ++i) {
    Slice slice;
    slice.track = static_cast<int64_t>(random() % static_cast<uint64_t>(tracks));
    slice.depth = static_cast<int64_t>(random() % static_cast<uint64_t>(depths));
    int64_t& end = ends.try_emplace({slice.track, slice.depth}, -1'000'000).first->second;
    slice.time_ns = end + length();
    slice.duration_ns = length();
    slice.name = static_cast<int64_t>(i);
    end = slice.time_ns + slice.duration_ns;
    slices.push_back(slice);
  }
  return slices;
}

int64_t Count(const Rows& rows) {
  int64_t sum = 0;
  for (const Row& row : rows) sum += row.count;
  return sum;
}

TEST(DetailLevels, EachRowIsWhatTheRuleSays) {
  std::mt19937_64 random(21);
  for (int round = 0; round < 60; ++round) {
    const auto slices = RandomSlices(random, 1 + random() % 3000, 1 + round % 3, 1 + round % 4, 1 + round % 14);
    for (const auto& [level, rows] : Made(slices)) {
      ASSERT_EQ(rows, Plain(slices, static_cast<int>(level))) << "round " << round << ", level " << level;
    }
  }
}

TEST(DetailLevels, ThoseThatShrinkToAQuarterAndThenToAHalfAreKeptAndNoOthers) {
  std::mt19937_64 random(22);
  for (int round = 0; round < 60; ++round) {
    const auto slices = RandomSlices(random, random() % 3000, 1 + round % 3, 1, 1 + round % 14);
    const Levels levels = Made(slices);
    size_t finer = slices.size();
    size_t shrinking = 4;
    for (int level = kFinestLevel; level <= kCoarsestLevel; ++level) {
      const size_t rows = Plain(slices, level).size();
      const bool kept = finer > 1 && rows * shrinking <= finer;
      ASSERT_EQ(levels.count(level), kept ? 1u : 0u) << "round " << round << ", level " << level;
      if (!kept) continue;
      finer = rows;
      shrinking = 2;
    }
  }
}

TEST(DetailLevels, EachLevelStandsForAllSlicesAndTheirTime) {
  std::mt19937_64 random(23);
  // More than what the levels are chosen by, and more than a segment's rows of the finest.
  const auto slices = RandomSlices(random, 400'000, 2, 2, 3);
  int64_t busy = 0;
  for (const Slice& slice : slices) busy += slice.duration_ns;
  const Levels levels = Made(slices);
  ASSERT_GE(levels.size(), 2u);
  for (const auto& [level, rows] : levels) {
    EXPECT_EQ(Count(rows), static_cast<int64_t>(slices.size())) << level;
    int64_t sum = 0;
    for (const Row& row : rows) sum += row.busy;
    EXPECT_EQ(sum, busy) << level;
  }
}

// Those cross each other, and stand side by side all the same.
TEST(DetailLevels, WhateverCrossesEachRowBeginsAndEndsWithItsSlices) {
  std::mt19937_64 random(24);
  std::vector<Slice> slices;
  for (int64_t i = 0; i < 5000; ++i) slices.push_back({i * 20, static_cast<int64_t>(random() % 5000), 0, 0, i});
  for (const auto& [level, rows] : Made(slices)) {
    const int64_t width = int64_t{1} << (2 * level);
    EXPECT_EQ(Count(rows), 5000) << level;
    for (const Row& row : rows) {
      if (row.count == 1) continue;
      ASSERT_LT(row.duration, 2 * width);
      ASSERT_LE(row.busy, row.count * (width - 1));
    }
  }
}

TEST(DetailLevels, TheNameIsThatOfTheLongest) {
  const Levels levels = Made({{0, 5, 0, 0, 1}, {10, 50, 0, 0, 2}, {70, 7, 0, 0, 3}, {80, 50, 0, 0, 4}});
  ASSERT_EQ(levels.count(kFinestLevel), 1u);
  EXPECT_EQ(levels.at(kFinestLevel), (Rows{{0, 0, 0, 130, 4, 112, 2}}));
}

TEST(DetailLevels, OfNothingThereAreNone) {
  EXPECT_TRUE(Made({}).empty());
}

TEST(DetailLevels, OneSliceNeedsNone) {
  EXPECT_TRUE(Made({{0, 5, 0, 0, 1}}).empty());
}

TEST(DetailLevels, NumbersOfAllSizesAreCounted) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  std::vector<Slice> slices;
  for (const int64_t time : {kLeast, int64_t{0}, kMost}) {
    for (const int64_t duration : {kLeast + 1, int64_t{-1}, int64_t{0}, int64_t{5}, kMost}) {
      for (const int64_t depth : {kLeast, int64_t{5'000}, kMost}) {
        for (int i = 0; i < 20; ++i) slices.push_back({time, duration, kLeast, depth, kMost});
      }
    }
  }
  for (const auto& [level, rows] : Made(slices)) EXPECT_EQ(Count(rows), static_cast<int64_t>(slices.size())) << level;
}

TEST(DetailLevels, TheCoarsestAddsUpItsSlices) {
  constexpr int64_t kWidth = int64_t{1} << (2 * kCoarsestLevel);
  const std::vector<Slice> slices(8, {0, kWidth - 1, 0, 0, 1});
  const Levels levels = Made(slices);
  ASSERT_EQ(levels.count(kCoarsestLevel), 1u);
  EXPECT_EQ(levels.at(kCoarsestLevel), (Rows{{0, 0, 0, kWidth - 1, 8, 8 * (kWidth - 1), 1}}));
}

TEST(DetailLevels, PassesOnWhatFails) {
  DetailLevels levels([](const EncodedSegment&) { return Fail(ErrorCode::kStorageFull, "write", "full"); });
  std::vector<Slice> slices;
  for (int64_t i = 0; i < 10; ++i) slices.push_back({i, 1, 0, 0, 0});
  ASSERT_TRUE(AddAll(levels, slices).ok());
  EXPECT_EQ(levels.Finish().code(), ErrorCode::kStorageFull);
}

// Of more tracks and depths than are open at a time each slice is in one row of each level all the same.
TEST(DetailLevels, MoreTracksAndDepthsThanAreOpenAreInRowsAllTheSame) {
  for (const DetailLimits limits : {DetailLimits{.lanes = 20}, DetailLimits{.lane_places = 100}}) {
    std::mt19937_64 random(2);
    std::map<int64_t, int64_t> counts;
    std::map<int64_t, int64_t> busy;
    DetailLevels maker(
        [&](const EncodedSegment& segment) {
          const std::vector<int64_t> level = Decoded(segment, EventColumn::kLevel);
          const std::vector<int64_t> count = Decoded(segment, EventColumn::kCount);
          const std::vector<int64_t> sums = Decoded(segment, EventColumn::kBusy);
          for (size_t i = 0; i < level.size(); ++i) {
            counts[level[i]] += count[i];
            busy[level[i]] += sums[i];
          }
          return OkStatus();
        },
        OnTwoThreads, limits);
    int64_t sum = 0;
    std::vector<Slice> slices;
    for (int64_t i = 0; i < 20'000; ++i) {
      const auto duration = static_cast<int64_t>(random() % 50);
      sum += duration;
      // Mostly the same ones, at times another.
      const auto track = static_cast<int64_t>(random() % 100 == 0 ? random() % 1'000 : random() % 3);
      slices.push_back({i * 100, duration, track, static_cast<int64_t>(random() % 100 == 0 ? 20 : 0), 0});
    }
    ASSERT_TRUE(AddAll(maker, slices).ok());
    ASSERT_TRUE(maker.Finish().ok());
    EXPECT_FALSE(counts.empty());
    for (const auto& [level, count] : counts) {
      EXPECT_EQ(count, 20'000) << level;
      EXPECT_EQ(busy[level], sum) << level;
    }
  }
}

}  // namespace
}  // namespace kprof
