#include "storage/trace/write/segment_maker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <tuple>

namespace kprof {
namespace {

// Slices of a few tracks and three shapes with 0, 1 and 3 slots.
EventRows RandomSlices(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  EventRows rows;
  rows.args = {{}, {{}}, {{}, {}, {}}};
  for (size_t i = 0; i < count; ++i) {
    rows.of(EventColumn::kTime).push_back(static_cast<int64_t>(random() % 1'000'000));
    rows.of(EventColumn::kDuration).push_back(static_cast<int64_t>(random() % 1000));
    rows.of(EventColumn::kTrack).push_back(static_cast<int64_t>(random() % 7));
    rows.of(EventColumn::kName).push_back(static_cast<int64_t>(i));
    rows.of(EventColumn::kCategory).push_back(1);
    const int64_t shape = static_cast<int64_t>(random() % 3);
    rows.of(EventColumn::kShape).push_back(shape);
    rows.of(EventColumn::kCorrelation).push_back(kNoValue);
    for (std::vector<int64_t>& slot : rows.args[static_cast<size_t>(shape)]) {
      slot.push_back(
          static_cast<int64_t>(i * 10 + static_cast<size_t>(&slot - rows.args[static_cast<size_t>(shape)].data())));
    }
  }
  return rows;
}

std::vector<int64_t> DecodedSegment(const EncodedSegment::Column& column) {
  std::vector<int64_t> values(column.rows);
  EXPECT_TRUE(DecodeColumn(column.encoded.codec, column.encoded.bytes, values).ok());
  return values;
}

std::vector<int64_t> DecodedSegment(const EncodedSegment& segment, EventColumn column) {
  for (const EncodedSegment::Column& found : segment.columns) {
    if (found.shape == kNoArgs && found.column == static_cast<uint32_t>(column)) return DecodedSegment(found);
  }
  ADD_FAILURE() << "no column " << static_cast<int>(column);
  return {};
}

TEST(SegmentMaker, EveryRowIsInOneSegmentWithItsArguments) {
  const EventRows rows = RandomSlices(10'000, 5);
  SegmentMaker maker(EventKind::kSlice, rows, 1000);
  ASSERT_EQ(maker.segments(), 10u);
  std::vector<bool> seen(rows.size());
  for (size_t i = 0; i < maker.segments(); ++i) {
    const EncodedSegment segment = maker.Encode(i);
    ASSERT_EQ(segment.rows, 1000u);
    const std::vector<int64_t> names = DecodedSegment(segment, EventColumn::kName);
    const std::vector<int64_t> times = DecodedSegment(segment, EventColumn::kTime);
    const std::vector<int64_t> shapes = DecodedSegment(segment, EventColumn::kShape);
    std::map<std::pair<uint32_t, uint32_t>, std::vector<int64_t>> args;
    for (const EncodedSegment::Column& column : segment.columns) {
      if (column.shape != kNoArgs) args[{column.shape, column.column}] = DecodedSegment(column);
    }
    std::map<int64_t, size_t> next;
    for (size_t row = 0; row < names.size(); ++row) {
      const auto was = static_cast<size_t>(names[row]);  // its number before
      ASSERT_FALSE(seen[was]);
      seen[was] = true;
      EXPECT_EQ(times[row], rows.of(EventColumn::kTime)[was]);
      ASSERT_EQ(shapes[row], rows.of(EventColumn::kShape)[was]);
      const size_t of_shape = next[shapes[row]]++;
      for (uint32_t slot = 0; slot < rows.args[static_cast<size_t>(shapes[row])].size(); ++slot) {
        EXPECT_EQ((args[{static_cast<uint32_t>(shapes[row]), slot}].at(of_shape)),
                  static_cast<int64_t>(was * 10 + slot));
      }
    }
  }
  EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](bool is) { return is; }));
}

TEST(SegmentMaker, SegmentsAreSlicesOfTimeAndSayWhich) {
  const EventRows rows = RandomSlices(5000, 6);
  SegmentMaker maker(EventKind::kSlice, rows, 1024);
  int64_t before = -1;
  for (size_t i = 0; i < maker.segments(); ++i) {
    const EncodedSegment segment = maker.Encode(i);
    const std::vector<int64_t> times = DecodedSegment(segment, EventColumn::kTime);
    const std::vector<int64_t> durations = DecodedSegment(segment, EventColumn::kDuration);
    const std::vector<int64_t> tracks = DecodedSegment(segment, EventColumn::kTrack);
    EXPECT_GE(segment.min_time_ns, before);
    EXPECT_EQ(segment.min_time_ns, *std::min_element(times.begin(), times.end()));
    EXPECT_EQ(segment.max_time_ns, *std::max_element(times.begin(), times.end()));
    before = segment.max_time_ns;
    int64_t end = 0;
    for (size_t row = 0; row < times.size(); ++row) {
      end = std::max(end, times[row] + durations[row]);
      if (row == 0) continue;
      EXPECT_LE(std::tuple(tracks[row - 1], times[row - 1], -durations[row - 1]),
                std::tuple(tracks[row], times[row], -durations[row]));
    }
    EXPECT_EQ(segment.max_end_ns, end);
  }
}

TEST(SegmentMaker, WhatHasNoEndEndsWhereItBegins) {
  EventRows rows = RandomSlices(1, 7);
  rows.of(EventColumn::kDuration)[0] = kNoValue;
  const EncodedSegment segment = SegmentMaker(EventKind::kSlice, rows).Encode(0);
  EXPECT_EQ(segment.max_end_ns, segment.min_time_ns);
}

TEST(SegmentMaker, BoundsOfCorrelationsAreOfThoseThatThereAre) {
  using Bounds = std::pair<int64_t, int64_t>;
  const auto bounds_of = [](const std::vector<int64_t>& correlations) {
    EventRows rows = RandomSlices(correlations.size(), 7);
    rows.of(EventColumn::kCorrelation) = correlations;
    const EncodedSegment segment = SegmentMaker(EventKind::kSlice, rows).Encode(0);
    for (const EncodedSegment::Column& column : segment.columns) {
      const bool is_it = column.column == static_cast<uint32_t>(EventColumn::kCorrelation);
      if (column.shape == kNoArgs && is_it) return Bounds(column.encoded.min, column.encoded.max);
    }
    return Bounds();
  };
  EXPECT_EQ(bounds_of({7, 3, 9}), Bounds(3, 9));
  EXPECT_EQ(bounds_of({kNoValue, 3, 9}), Bounds(3, 9));
  EXPECT_EQ(bounds_of({-5, kNoValue, kNoValue}), Bounds(-5, -5));
  EXPECT_EQ(bounds_of({kNoValue, kNoValue}), Bounds(kNoValue, kNoValue));
}

TEST(SegmentMaker, AKindHasItsColumnsAndNoOthers) {
  EventRows rows;
  for (const int64_t i : {0, 1, 2}) {
    rows.of(EventColumn::kTime).push_back(i);
    rows.of(EventColumn::kTrack).push_back(5);
    rows.of(EventColumn::kShape).push_back(kNoArgs);
    rows.of(EventColumn::kValue).push_back(i * 100);
  }
  const EncodedSegment segment = SegmentMaker(EventKind::kCounter, rows).Encode(0);
  ASSERT_EQ(segment.columns.size(), 4u);
  EXPECT_EQ(DecodedSegment(segment, EventColumn::kValue), (std::vector<int64_t>{0, 100, 200}));
}

}  // namespace
}  // namespace kprof
