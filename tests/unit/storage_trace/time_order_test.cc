#include "storage/trace/format/event_time.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <tuple>

namespace kprof {
namespace {

using Times = std::vector<int64_t>;

std::vector<uint32_t> Plain(const Times& times) {
  std::vector<uint32_t> order(times.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return times[a] < times[b]; });
  return order;
}

TEST(TimeOrder, IsThatOfTheTimesAndOfOneTimeThatOfTheRows) {
  std::mt19937_64 random(3);
  for (const size_t count : {1, 2, 255, 256, 257, 5000, 70'000}) {
    for (const int bits : {1, 8, 20, 40, 63, 64}) {
      Times times(count);
      for (int64_t& time : times) time = static_cast<int64_t>(random() >> (64 - bits)) - 1000;
      ASSERT_EQ(OrderByTime(times, {}), Plain(times)) << count << " rows, " << bits << " bits";
    }
  }
}

// As of sources that write one kind of event after the other.
TEST(TimeOrder, OfRunsThatAreInOrderIsThatOfTheTimes) {
  std::mt19937_64 random(5);
  for (size_t runs = 1; runs <= 20; ++runs) {
    for (const uint64_t range : {uint64_t{3}, uint64_t{10'000}, uint64_t{1} << 40}) {
      Times times;
      for (size_t run = 0; run < runs; ++run) {
        Times of_run(1 + random() % 1000);
        for (int64_t& time : of_run) time = static_cast<int64_t>(random() % range) - 5;
        std::sort(of_run.begin(), of_run.end());
        times.insert(times.end(), of_run.begin(), of_run.end());
      }
      ASSERT_EQ(OrderByTime(times, {}), Plain(times)) << runs << " runs, times below " << range;
    }
  }
}

TEST(TimeOrder, HoldsAtBothEndsOfTime) {
  Times times(1000);
  for (size_t i = 0; i < times.size(); ++i) {
    times[i] = i % 3 == 0 ? std::numeric_limits<int64_t>::min() : i % 3 == 1 ? std::numeric_limits<int64_t>::max() : 0;
  }
  EXPECT_EQ(OrderByTime(times, {}), Plain(times));
}

TEST(TimeOrder, WithinASegmentTrackByTrackAndTheLongestFirst) {
  std::mt19937_64 random(4);
  for (const int64_t spread : {int64_t{1}, int64_t{1'000'000'007}}) {  // tracks whose numbers lie far apart, too
    const size_t count = 20'000;
    Times times(count);
    Times tracks(count);
    Times durations(count);
    for (size_t i = 0; i < count; ++i) {
      times[i] = static_cast<int64_t>(random() % 3000);
      tracks[i] = static_cast<int64_t>(random() % 50) * spread - 7;
      durations[i] = static_cast<int64_t>(random() % 10);
    }
    std::vector<uint32_t> rows = OrderByTime(times, durations);
    std::vector<uint32_t> expected = Plain(times);
    std::stable_sort(expected.begin(), expected.end(), [&](uint32_t a, uint32_t b) {
      return std::tuple(tracks[a], times[a], -durations[a]) < std::tuple(tracks[b], times[b], -durations[b]);
    });
    OrderByTrack(rows, tracks);
    EXPECT_EQ(rows, expected);
  }
}

TEST(TimeOrder, WithoutDurationsRowsOfOneTimeStayInTheirs) {
  const Times times = {5, 5, 5, 1};
  const Times tracks = {2, 1, 2, 2};
  std::vector<uint32_t> rows = OrderByTime(times, {});
  OrderByTrack(rows, tracks);
  EXPECT_EQ(rows, (std::vector<uint32_t>{1, 3, 0, 2}));
}

}  // namespace
}  // namespace kprof
