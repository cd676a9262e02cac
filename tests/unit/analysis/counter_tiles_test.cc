#include "daemon/analysis/operators/counter_tiles.h"

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
    rows.of(EventColumn::kShape).push_back(kNoArgs);
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
        if (point.count++ == 0) point = {sample.time, sample.time, 1, sample.value, sample.value, sample.value, 0};
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

// 200,000 samples of 1 µs each, on two tracks in turns; the second one ends early.
std::vector<Sample> ManySamples() {
  std::mt19937_64 random(5);
  std::vector<Sample> samples;
  for (int64_t i = 0; i < 200'000; ++i) {
    const int64_t track = i % 2;
    if (track == 1 && i > 1'000) continue;
    samples.push_back({i * 1'000 + static_cast<int64_t>(random() % 900), track, static_cast<double>(random() % 1'000)});
  }
  return samples;
}

TEST(CounterTiles, FromFarAwayTheyAreOfFewRows) {
  SampleTrace trace;
  const std::vector<Sample> samples = ManySamples();
  PartReader& reader = AddCounters(trace, samples, 5'000);
  for (const int pixels : {1, 7, 100, 500}) {
    const CounterTiles tiles =
        *MakeCounterTiles(reader, {.from_ns = 0, .to_ns = 200'000'000, .pixels = pixels, .tracks = {}}, {});
    EXPECT_GE(tiles.level, 8);
    ASSERT_EQ(tiles.tracks.size(), 2u);
    for (const CounterTrack& track : tiles.tracks) {
      EXPECT_LE(track.points.size(), static_cast<size_t>(pixels));
      int64_t count = 0;
      for (const CounterPoint& point : track.points) {
        CounterPoint expected;
        double sum = 0;
        for (const Sample& sample : samples) {
          if (sample.track != track.track || sample.time < point.time_ns || sample.time > point.last_ns) continue;
          if (expected.count++ == 0) expected.min = expected.max = sample.value;
          expected.min = std::min(expected.min, sample.value);
          expected.max = std::max(expected.max, sample.value);
          expected.last = sample.value;
          sum += sample.value;
        }
        EXPECT_EQ(point.count, expected.count);
        EXPECT_EQ(point.min, expected.min);
        EXPECT_EQ(point.max, expected.max);
        EXPECT_EQ(point.last, expected.last);
        EXPECT_NEAR(point.mean, sum / static_cast<double>(expected.count), 1e-6);
        count += point.count;
      }
      EXPECT_EQ(count, std::count_if(samples.begin(), samples.end(),
                                     [&](const Sample& sample) { return sample.track == track.track; }));
    }
  }
}

TEST(CounterTiles, TheValueBeforeIsTheLastOneWhateverItIsMadeOf) {
  SampleTrace trace;
  const std::vector<Sample> samples = ManySamples();
  PartReader& reader = AddCounters(trace, samples, 5'000);
  std::mt19937_64 random(6);
  for (int round = 0; round < 100; ++round) {
    const auto from = static_cast<int64_t>(random() % 190'000'000);
    const int64_t width = int64_t{100} << random() % 16;
    const CounterTiles tiles =
        *MakeCounterTiles(reader, {.from_ns = from, .to_ns = from + width, .pixels = 10, .tracks = {}}, {});
    for (const CounterTrack& track : tiles.tracks) {
      std::optional<double> before;
      const int64_t end = track.points.empty() ? from : std::min(from, track.points.front().time_ns);
      for (const Sample& sample : samples) {
        if (sample.track == track.track && sample.time < end) before = sample.value;
      }
      EXPECT_EQ(track.before, before) << "from " << from << " track " << track.track;
    }
  }
}

// Its mean has no end either, or is none where there are both.
TEST(CounterTiles, WhatHasNoEndIsDrawnFromFarAwayToo) {
  SampleTrace trace;
  const double inf = std::numeric_limits<double>::infinity();
  std::vector<Sample> samples;
  for (int64_t i = 0; i < 64; ++i) {
    samples.push_back({i * 10, 0, i == 7 ? inf : i == 9 ? -inf : 1});
    samples.push_back({i * 10, 1, i == 0 ? inf : 1});
  }
  PartReader& reader = AddCounters(trace, samples, 200);
  for (const int64_t width : {1'000, 1'000'000}) {
    const CounterTiles tiles = *MakeCounterTiles(reader, {.from_ns = 0, .to_ns = width, .pixels = 1, .tracks = {}}, {});
    EXPECT_EQ(tiles.level > 0, width == 1'000'000);
    ASSERT_EQ(tiles.tracks.size(), 2u);
    ASSERT_EQ(tiles.tracks[0].points.size(), 1u);
    ASSERT_EQ(tiles.tracks[1].points.size(), 1u);
    EXPECT_EQ(tiles.tracks[1].points[0].mean, inf);
    const CounterPoint& point = tiles.tracks[0].points[0];
    EXPECT_EQ(point.count, 64);
    EXPECT_EQ(point.min, -inf);
    EXPECT_EQ(point.max, inf);
    EXPECT_EQ(point.last, 1);
    EXPECT_TRUE(std::isnan(point.mean));
  }
}

// Segments of a source without order overlap in time.
TEST(CounterTiles, APixelIsOnePointInWhateverOrderItsSamplesCame) {
  SampleTrace trace;
  SamplePart part(trace.NewPath());
  part.AddTrack("counter", "power");
  for (int64_t first = 0; first < 5; ++first) {
    EventRows rows;
    for (int64_t i = first; i < 1'000; i += 5) {
      rows.of(EventColumn::kTime).push_back(i);
      rows.of(EventColumn::kTrack).push_back(0);
      rows.of(EventColumn::kShape).push_back(kNoArgs);
      rows.of(EventColumn::kValue).push_back(std::bit_cast<int64_t>(static_cast<double>(i)));
    }
    part.AddRows(EventKind::kCounter, rows, 100);
  }
  PartReader& reader = trace.Take(part);
  const CounterTiles tiles = *MakeCounterTiles(reader, {.from_ns = 0, .to_ns = 1'000, .pixels = 20, .tracks = {}}, {});
  ASSERT_EQ(tiles.tracks.size(), 1u);
  ASSERT_EQ(tiles.tracks[0].points.size(), 20u);
  for (int64_t pixel = 0; pixel < 20; ++pixel) {
    const CounterPoint& point = tiles.tracks[0].points[static_cast<size_t>(pixel)];
    EXPECT_EQ(point.count, 50);
    EXPECT_EQ(point.time_ns, pixel * 50);
    EXPECT_EQ(point.last, static_cast<double>(pixel * 50 + 49));
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
