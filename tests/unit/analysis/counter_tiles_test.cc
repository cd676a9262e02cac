#include "daemon/analysis/counter_tiles.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "tests/unit/analysis/sample_trace.h"

namespace kprof {
namespace {

struct Sample {
  int64_t time = 0;
  int64_t track = 0;
  double value = 0;
};

PartReader& AddCounters(SampleTrace& trace, const std::vector<Sample>& samples, size_t segment_rows) {
  SamplePart part(trace.NewPath());
  part.AddTrack("counter", "power");
  part.AddTrack("counter", "clock");
  part.AddTrack("cpu_thread", "main");
  EventRows rows;
  for (const Sample& sample : samples) {
    rows.of(EventColumn::kTime).push_back(sample.time);
    rows.of(EventColumn::kTrack).push_back(sample.track);
    rows.of(EventColumn::kValue).push_back(std::bit_cast<int64_t>(sample.value));
  }
  part.AddRows(EventKind::kCounter, rows, segment_rows);
  return trace.Take(part);
}

TEST(CounterTiles, EachPixelHasItsLeastMostAndLast) {
  SampleTrace trace;
  std::mt19937_64 random(3);
  std::vector<Sample> samples;
  for (int64_t time = 0; time < 5'000; ++time) {
    if (random() % 3 == 0)
      samples.push_back({time, static_cast<int64_t>(random() % 2), static_cast<double>(random() % 100)});
  }
  PartReader& reader = AddCounters(trace, samples, 100);
  for (int64_t from = -150; from < 5'200; from += 333) {
    const CounterTiles tiles =
        *MakeCounterTiles(reader, {.from_ns = from, .to_ns = from + 1'000, .pixels = 50, .tracks = {}}, {});
    ASSERT_EQ(tiles.pixel_ns, 20);
    for (int64_t track = 0; track < 2; ++track) {
      std::optional<double> before;
      std::map<int64_t, CounterPoint> points;
      for (const Sample& sample : samples) {
        if (sample.track != track || sample.time >= from + 1'000) continue;
        if (sample.time < from) {
          before = sample.value;
          continue;
        }
        CounterPoint& point = points[(sample.time - from) / 20];
        if (point.count++ == 0) point = {sample.time, sample.time, 1, sample.value, sample.value, sample.value};
        point.last_ns = sample.time;
        point.last = sample.value;
        point.min = std::min(point.min, sample.value);
        point.max = std::max(point.max, sample.value);
      }
      const auto found = std::find_if(tiles.tracks.begin(), tiles.tracks.end(),
                                      [&](const CounterTrack& t) { return t.track == track; });
      if (found == tiles.tracks.end()) {
        EXPECT_TRUE(!before && points.empty());
        continue;
      }
      EXPECT_EQ(found->before, before);
      ASSERT_EQ(found->points.size(), points.size());
      size_t i = 0;
      for (const auto& [pixel, point] : points) {
        const CounterPoint& drawn = found->points[i++];
        EXPECT_EQ(drawn.time_ns, point.time_ns);
        EXPECT_EQ(drawn.last_ns, point.last_ns);
        EXPECT_EQ(drawn.count, point.count);
        EXPECT_EQ(drawn.min, point.min);
        EXPECT_EQ(drawn.max, point.max);
        EXPECT_EQ(drawn.last, point.last);
      }
    }
  }
}

TEST(CounterTiles, WhatIsNoNumberIsLeftOut) {
  SampleTrace trace;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  PartReader& reader = AddCounters(trace, {{0, 0, 1}, {10, 0, nan}, {20, 0, nan}, {21, 0, 3}}, 100);
  const CounterTiles tiles = *MakeCounterTiles(reader, {.from_ns = 15, .to_ns = 30, .pixels = 1, .tracks = {}}, {});
  ASSERT_EQ(tiles.tracks.size(), 1u);
  EXPECT_EQ(tiles.tracks[0].before, 1);
  ASSERT_EQ(tiles.tracks[0].points.size(), 1u);
  EXPECT_EQ(tiles.tracks[0].points[0].count, 1);
}

}  // namespace
}  // namespace kprof
