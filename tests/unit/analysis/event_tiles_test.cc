#include "daemon/analysis/operators/event_tiles.h"

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

TEST(EventTiles, NearByEachSliceIsDrawnOnce) {
  for (const size_t batches : {1u, 4u}) {
    SampleTrace trace;
    PartReader& reader = trace.Add(RandomSlices(2'000, 1), 100, batches);
    const std::vector<SampleRow> rows = RowsOf(reader);
    for (int64_t from = -3'000; from < 120'000; from += 1'511) {
      const Viewport viewport{.from_ns = from, .to_ns = from + 800, .pixels = 100, .tracks = {0, 3}};
      const EventTiles tiles = *MakeSliceTiles(reader, viewport, {});
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

TEST(EventTiles, WhatIsNarrowerThanAPixelIsPutTogether) {
  SampleTrace trace;
  PartReader& reader = trace.Add({{.time = 10, .duration = 3, .name = "short"},
                                  {.time = 20, .duration = 40, .name = "long"},
                                  {.time = 70, .duration = 5, .name = "short"},
                                  {.time = 150, .duration = 500, .name = "wide"}},
                                 100);
  const EventTiles tiles = *MakeSliceTiles(reader, {.from_ns = 0, .to_ns = 1'000, .pixels = 10, .tracks = {}}, {});
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

TEST(EventTiles, WhatCrossesFillsWhatItSharesOnce) {
  SampleTrace trace;
  PartReader& reader =
      trace.Add({{.time = 0, .duration = 40, .name = "a"}, {.time = 20, .duration = 40, .name = "b"}}, 100);
  const EventTiles tiles = *MakeSliceTiles(reader, {.from_ns = 0, .to_ns = 1'000, .pixels = 10, .tracks = {}}, {});
  ASSERT_EQ(tiles.boxes.size(), 1u);
  EXPECT_EQ(tiles.boxes[0].busy_ns, 60);
}

// Of each pixel of a track and depth all slices that are narrower, one by one.
TEST(EventTiles, HowMuchOfABoxIsFilledIsWhatItsSlicesFillTogether) {
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
    const EventTiles tiles = *MakeSliceTiles(reader, {.from_ns = from, .to_ns = to, .pixels = 40, .tracks = {}}, {});
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

TEST(EventTiles, FromFarAwayAllSlicesAreCounted) {
  SampleTrace trace;
  std::vector<SampleSlice> slices;
  for (int64_t i = 0; i < 40'000; ++i) slices.push_back({.time = i * 100, .duration = 60, .track = i % 3, .name = "n"});
  slices.push_back({.time = 0, .duration = 4'000'000, .track = 4, .name = "all"});
  PartReader& reader = trace.Add(slices, 5'000);
  std::vector<int> levels;
  for (const int pixels : {1'000, 200, 20}) {
    const EventTiles tiles =
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

TEST(EventTiles, WhatReachesInFromLongBeforeIsDrawn) {
  SampleTrace trace;
  std::vector<SampleSlice> slices = {{.time = 0, .duration = 1'000'000, .track = 1, .name = "all"}};
  for (int64_t i = 0; i < 1'000; ++i) slices.push_back({.time = i * 1'000, .duration = 10, .track = 0, .name = "n"});
  PartReader& reader = trace.Add(slices, 50);
  const EventTiles tiles =
      *MakeSliceTiles(reader, {.from_ns = 900'100, .to_ns = 900'200, .pixels = 10, .tracks = {}}, {});
  ASSERT_EQ(tiles.boxes.size(), 1u);
  EXPECT_EQ(*reader.ReadString(tiles.boxes[0].name), "all");
}

struct SampleInstant {
  int64_t time = 0;
  int64_t track = 0;
  std::string name;
};

PartReader& AddInstants(SampleTrace& trace, const std::vector<SampleInstant>& instants, size_t segment_rows) {
  SamplePart part(trace.NewPath());
  AddSampleTracks(part);
  EventRows rows;
  for (const SampleInstant& instant : instants) {
    rows.of(EventColumn::kTime).push_back(instant.time);
    rows.of(EventColumn::kTrack).push_back(instant.track);
    rows.of(EventColumn::kName).push_back(part.StringNumber(instant.name));
    rows.of(EventColumn::kCategory).push_back(0);
    rows.of(EventColumn::kShape).push_back(kNoArgs);
  }
  part.AddRows(EventKind::kInstant, rows, segment_rows);
  return trace.Take(part);
}

TEST(InstantTiles, EachPixelOfATrackHasThoseInIt) {
  std::mt19937_64 random(11);
  std::vector<SampleInstant> instants;
  for (int i = 0; i < 3'000; ++i) {
    instants.push_back({static_cast<int64_t>(random() % 20'000), static_cast<int64_t>(random() % 3),
                        "name " + std::to_string(random() % 5)});
  }
  SampleTrace trace;
  PartReader& reader = AddInstants(trace, instants, 250);
  for (int64_t from = -500; from < 20'500; from += 777) {
    const Viewport viewport{.from_ns = from, .to_ns = from + 2'000, .pixels = 100, .tracks = {0, 2}};
    const EventTiles tiles = *MakeInstantTiles(reader, viewport, {});
    EXPECT_EQ(tiles.level, 0);
    std::map<std::pair<int64_t, int64_t>, std::vector<int64_t>> expected;  // track, pixel: times
    for (const SampleInstant& instant : instants) {
      if (instant.track == 1 || instant.time < from || instant.time >= from + 2'000) continue;
      expected[{instant.track, (instant.time - from) / 20}].push_back(instant.time);
    }
    ASSERT_EQ(tiles.boxes.size(), expected.size());
    auto next = expected.begin();
    for (const TileBox& box : tiles.boxes) {
      const auto& [place, times] = *next++;
      EXPECT_EQ(std::pair(int64_t{box.track}, (box.begin_ns - from) / 20), place);
      EXPECT_EQ(box.begin_ns, *std::min_element(times.begin(), times.end()));
      EXPECT_EQ(box.end_ns, *std::max_element(times.begin(), times.end()));
      EXPECT_EQ(box.count, static_cast<int64_t>(times.size()));
      EXPECT_EQ(box.depth, 0);
      EXPECT_EQ(box.busy_ns, 0);
      EXPECT_EQ(box.row != kNoValue, times.size() == 1);
    }
  }
}

// Of segments that have some in that time.
size_t RowsOfLevel(PartReader& reader, int level, int64_t from, int64_t to) {
  size_t rows = 0;
  for (const Segment& segment : reader.segments(EventKind::kInstantSummary)) {
    const bool is_of_level = reader.ReadBounds(segment, EventColumn::kLevel)->value().min == level;
    if (is_of_level && segment.min_time_ns < to && segment.max_end_ns >= from) rows += segment.rows;
  }
  return rows;
}

// A few at first, then many in a short time: no window is drawn from many more rows than it has pixels.
TEST(InstantTiles, FromFarAwayTheyAreOfFewRowsHoweverUnevenTheyLie) {
  std::vector<SampleInstant> instants;
  for (int64_t i = 0; i < 140'000; ++i) instants.push_back({i * 10'000'000, 0, "seldom"});
  const int64_t dense = 140'000 * int64_t{10'000'000};
  for (int64_t i = 0; i < 260'000; ++i) instants.push_back({dense + i * 100, i % 2, i % 2 == 0 ? "even" : "odd"});
  SampleTrace trace;
  PartReader& reader = AddInstants(trace, instants, 60'000);
  for (const auto& [from, to] : {std::pair<int64_t, int64_t>{0, dense + 26'000'000}, {dense, dense + 26'000'000}}) {
    for (const int pixels : {1, 10, 1'000}) {
      const Viewport viewport{.from_ns = from, .to_ns = to, .pixels = pixels, .tracks = {}};
      const EventTiles tiles = *MakeInstantTiles(reader, viewport, {});
      EXPECT_GT(tiles.level, 0);
      EXPECT_LE(int64_t{1} << (2 * tiles.level), tiles.pixel_ns);
      EXPECT_LE(tiles.boxes.size(), static_cast<size_t>(2 * (pixels + 1)));
      // Of each of two tracks some for a pixel, and what is in the segments besides.
      EXPECT_LE(RowsOfLevel(reader, tiles.level, from, to), static_cast<size_t>(pixels) * 2 * 8 + 2 * kMaxSegmentRows);
      int64_t drawn = 0;
      for (const TileBox& box : tiles.boxes) drawn += box.count;
      EXPECT_EQ(drawn, from == 0 ? 400'000 : 260'000);
    }
  }
  const EventTiles narrow =
      *MakeInstantTiles(reader, {.from_ns = dense, .to_ns = dense + 5'000'000, .pixels = 1'000, .tracks = {1}}, {});
  EXPECT_GT(narrow.level, 0);
  EXPECT_EQ(*reader.ReadString(narrow.boxes.front().name), "odd");
}

// Of a level, too: a row ends with its last instant, which a viewport may begin with.
TEST(InstantTiles, OneAtTheFirstMomentIsInTheViewport) {
  std::vector<SampleInstant> instants;
  for (int64_t i = 0; i < 11; ++i) instants.push_back({i * 100, 0, "early"});
  for (int64_t i = 0; i < 200; ++i) instants.push_back({2'048 + i * 100, 0, "late"});
  SampleTrace trace;
  PartReader& reader = AddInstants(trace, instants, 50);
  for (const int64_t to : {6'000, 21'000}) {
    const EventTiles tiles = *MakeInstantTiles(reader, {.from_ns = 1'000, .to_ns = to, .pixels = 10, .tracks = {}}, {});
    EXPECT_EQ(tiles.level, to == 21'000 ? 5 : 0);
    EXPECT_EQ(*reader.ReadString(tiles.boxes.front().name), "early");
    EXPECT_EQ(tiles.boxes.front().count, to == 21'000 ? 22 : 1);
  }
}

// Segments of a source without order overlap in time.
TEST(InstantTiles, APixelIsOneBoxInWhateverOrderTheyCame) {
  SampleTrace trace;
  SamplePart part(trace.NewPath());
  AddSampleTracks(part);
  for (int64_t first = 4; first >= 0; --first) {
    EventRows rows;
    for (int64_t i = first; i < 1'000; i += 5) {
      rows.of(EventColumn::kTime).push_back(i);
      rows.of(EventColumn::kTrack).push_back(0);
      rows.of(EventColumn::kName).push_back(part.StringNumber("of " + std::to_string(first)));
      rows.of(EventColumn::kCategory).push_back(0);
      rows.of(EventColumn::kShape).push_back(kNoArgs);
    }
    part.AddRows(EventKind::kInstant, rows, 100);
  }
  PartReader& reader = trace.Take(part);
  const EventTiles tiles = *MakeInstantTiles(reader, {.from_ns = 0, .to_ns = 1'000, .pixels = 20, .tracks = {}}, {});
  ASSERT_EQ(tiles.boxes.size(), 20u);
  for (size_t pixel = 0; pixel < 20; ++pixel) {
    EXPECT_EQ(tiles.boxes[pixel].count, 50);
    EXPECT_EQ(tiles.boxes[pixel].begin_ns, static_cast<int64_t>(pixel * 50));
    EXPECT_EQ(tiles.boxes[pixel].end_ns, static_cast<int64_t>(pixel * 50 + 49));
    EXPECT_EQ(*reader.ReadString(tiles.boxes[pixel].name), "of 0");
  }
}

TEST(EventTiles, MoreBoxesThanAskedForAreLeftOutAndThatIsSaid) {
  SampleTrace trace;
  PartReader& reader = trace.Add(RandomSlices(2'000, 1), 100);
  const Viewport viewport{.from_ns = 0, .to_ns = 50'000, .pixels = 10'000, .tracks = {}};
  EXPECT_TRUE(MakeSliceTiles(reader, viewport, {})->is_complete);
  const EventTiles few = *MakeSliceTiles(reader, viewport, {}, {.most_boxes = 20});
  EXPECT_FALSE(few.is_complete);
  EXPECT_EQ(few.boxes.size(), 20u);
}

TEST(EventTiles, AViewportThatIsNoneIsRefused) {
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
