#include "daemon/analysis/slice_tiles.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <tuple>

#include "tests/unit/analysis/sample_trace.h"

namespace kprof {
namespace {

bool Touches(const SampleRow& row, int64_t from, int64_t to) {
  return row.slice.time < to && (row.slice.time >= from || row.end() > from);
}

TEST(SliceTiles, NearByEachSliceIsDrawnOnce) {
  for (const size_t batches : {1u, 4u}) {
    SampleTrace trace;
    PartReader& reader = trace.Add(RandomSlices(2'000, 1), 100, batches);
    const std::vector<SampleRow> rows = RowsOf(reader);
    for (int64_t from = -3'000; from < 120'000; from += 1'511) {
      const Viewport viewport{.from_ns = from, .to_ns = from + 800, .pixels = 100, .tracks = {0, 3}};
      const SliceTiles tiles = *MakeSliceTiles(reader, viewport, {});
      EXPECT_EQ(tiles.level, 0);
      EXPECT_EQ(tiles.pixel_ns, 8);
      int64_t expected = 0;
      for (const SampleRow& row : rows) {
        expected += (row.slice.track == 0 || row.slice.track == 3) && Touches(row, from, from + 800);
      }
      int64_t drawn = 0;
      for (const TileBox& box : tiles.boxes) {
        drawn += box.count;
        EXPECT_LE(box.busy_ns, box.end_ns - box.begin_ns);
        if (box.row == kNoValue) continue;
        const SampleRow& row = rows[static_cast<size_t>(box.row)];
        EXPECT_EQ(box.begin_ns, row.slice.time);
        EXPECT_EQ(box.end_ns, row.end());
        EXPECT_EQ(box.depth, row.depth);
        EXPECT_EQ(int64_t{box.track}, row.slice.track);
        EXPECT_EQ(*reader.ReadString(box.name), row.slice.name);
      }
      ASSERT_EQ(drawn, expected) << from;
    }
  }
}

TEST(SliceTiles, WhatIsNarrowerThanAPixelIsPutTogether) {
  SampleTrace trace;
  PartReader& reader = trace.Add({{.time = 10, .duration = 3, .name = "short"},
                                  {.time = 20, .duration = 40, .name = "long"},
                                  {.time = 70, .duration = 5, .name = "short"},
                                  {.time = 150, .duration = 500, .name = "wide"}},
                                 100);
  const SliceTiles tiles = *MakeSliceTiles(reader, {.from_ns = 0, .to_ns = 1'000, .pixels = 10, .tracks = {}}, {});
  ASSERT_EQ(tiles.boxes.size(), 2u);
  EXPECT_EQ(tiles.boxes[0].count, 3);
  EXPECT_EQ(tiles.boxes[0].begin_ns, 10);
  EXPECT_EQ(tiles.boxes[0].end_ns, 75);
  EXPECT_EQ(tiles.boxes[0].busy_ns, 48);
  EXPECT_EQ(*reader.ReadString(tiles.boxes[0].name), "long");
  EXPECT_EQ(tiles.boxes[0].row, kNoValue);
  EXPECT_EQ(tiles.boxes[1].count, 1);
  EXPECT_EQ(*reader.ReadString(tiles.boxes[1].name), "wide");
}

TEST(SliceTiles, WhatCrossesFillsWhatItSharesOnce) {
  SampleTrace trace;
  PartReader& reader =
      trace.Add({{.time = 0, .duration = 40, .name = "a"}, {.time = 20, .duration = 40, .name = "b"}}, 100);
  const SliceTiles tiles = *MakeSliceTiles(reader, {.from_ns = 0, .to_ns = 1'000, .pixels = 10, .tracks = {}}, {});
  ASSERT_EQ(tiles.boxes.size(), 1u);
  EXPECT_EQ(tiles.boxes[0].busy_ns, 60);
}

// Of each pixel of a track and depth all slices that are narrower, one by one.
TEST(SliceTiles, HowMuchOfABoxIsFilledIsWhatItsSlicesFillTogether) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 20; ++round) {
    std::vector<SampleSlice> slices;
    for (int i = 0; i < 400; ++i) {
      const auto time = static_cast<int64_t>(random() % 4'000);
      const auto duration = static_cast<int64_t>(random() % (random() % 10 == 0 ? 400 : 60));
      slices.push_back({.time = time, .duration = duration, .track = static_cast<int64_t>(random() % 2), .name = "n"});
    }
    SampleTrace trace;
    PartReader& reader = trace.Add(slices, 150);
    const int64_t from = round * 37;
    const int64_t to = 4'000 - round * 11;
    const SliceTiles tiles = *MakeSliceTiles(reader, {.from_ns = from, .to_ns = to, .pixels = 40, .tracks = {}}, {});
    std::map<std::tuple<int64_t, int64_t, int64_t>, std::set<int64_t>> filled;  // track, depth, pixel: each ns
    for (const SampleRow& row : RowsOf(reader)) {
      if (!Touches(row, from, to) || row.end() - row.slice.time >= tiles.pixel_ns) continue;
      std::set<int64_t>& of =
          filled[{row.slice.track, row.depth, (std::max(row.slice.time, from) - from) / tiles.pixel_ns}];
      for (int64_t ns = row.slice.time; ns < row.end(); ++ns) of.insert(ns);
    }
    size_t narrow = 0;
    for (const TileBox& box : tiles.boxes) {
      if (box.count == 1 && box.end_ns - box.begin_ns >= tiles.pixel_ns) continue;
      ++narrow;
      const auto& of = filled[{int64_t{box.track}, box.depth, (std::max(box.begin_ns, from) - from) / tiles.pixel_ns}];
      EXPECT_EQ(box.busy_ns, static_cast<int64_t>(of.size())) << round << ": " << box.begin_ns;
    }
    EXPECT_EQ(narrow, filled.size());
  }
}

TEST(SliceTiles, FromFarAwayAllSlicesAreCounted) {
  SampleTrace trace;
  std::vector<SampleSlice> slices;
  for (int64_t i = 0; i < 40'000; ++i) slices.push_back({.time = i * 100, .duration = 60, .track = i % 3, .name = "n"});
  slices.push_back({.time = 0, .duration = 4'000'000, .track = 4, .name = "all"});
  PartReader& reader = trace.Add(slices, 5'000);
  std::vector<int> levels;
  for (const int pixels : {1'000, 200, 20}) {
    const SliceTiles tiles =
        *MakeSliceTiles(reader, {.from_ns = 0, .to_ns = 4'000'000, .pixels = pixels, .tracks = {}}, {});
    levels.push_back(tiles.level);
    int64_t count = 0;
    int64_t busy = 0;
    for (const TileBox& box : tiles.boxes) {
      count += box.count;
      busy += box.busy_ns;
      EXPECT_LE(box.busy_ns, box.end_ns - box.begin_ns);
    }
    EXPECT_EQ(count, 40'001);
    EXPECT_EQ(busy, 40'000 * 60 + 4'000'000);
    EXPECT_LE(tiles.boxes.size(), static_cast<size_t>(3 * 2 * pixels + 1));
  }
  EXPECT_GT(levels.back(), 0);
}

TEST(SliceTiles, WhatReachesInFromLongBeforeIsDrawn) {
  SampleTrace trace;
  std::vector<SampleSlice> slices = {{.time = 0, .duration = 1'000'000, .track = 1, .name = "all"}};
  for (int64_t i = 0; i < 1'000; ++i) slices.push_back({.time = i * 1'000, .duration = 10, .track = 0, .name = "n"});
  PartReader& reader = trace.Add(slices, 50);
  const SliceTiles tiles =
      *MakeSliceTiles(reader, {.from_ns = 900'100, .to_ns = 900'200, .pixels = 10, .tracks = {}}, {});
  ASSERT_EQ(tiles.boxes.size(), 1u);
  EXPECT_EQ(*reader.ReadString(tiles.boxes[0].name), "all");
}

TEST(SliceTiles, MoreBoxesThanAskedForAreLeftOutAndThatIsSaid) {
  SampleTrace trace;
  PartReader& reader = trace.Add(RandomSlices(2'000, 1), 100);
  const Viewport viewport{.from_ns = 0, .to_ns = 50'000, .pixels = 10'000, .tracks = {}};
  EXPECT_TRUE(MakeSliceTiles(reader, viewport, {})->is_complete);
  const SliceTiles few = *MakeSliceTiles(reader, viewport, {}, {.most_boxes = 20});
  EXPECT_FALSE(few.is_complete);
  EXPECT_EQ(few.boxes.size(), 20u);
}

TEST(SliceTiles, AViewportThatIsNoneIsRefused) {
  SampleTrace trace;
  PartReader& reader = trace.Add({}, 100);
  for (const Viewport& viewport : {Viewport{.from_ns = 5, .to_ns = 5}, Viewport{.from_ns = 0, .to_ns = 9, .pixels = 0},
                                   Viewport{.from_ns = 0, .to_ns = 9, .pixels = 1 << 20}}) {
    EXPECT_EQ(MakeSliceTiles(reader, viewport, {}).status().code(), ErrorCode::kUsage);
  }
  EXPECT_TRUE(MakeSliceTiles(reader, {.from_ns = INT64_MIN, .to_ns = INT64_MAX, .pixels = 1, .tracks = {9}}, {})
                  ->boxes.empty());
}

}  // namespace
}  // namespace kprof
