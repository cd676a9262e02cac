#include "daemon/analysis/operators/interval_sweep.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

namespace kprof {
namespace {

TEST(IntervalSweep, TimesAtOnceAreWhatCountingMakes) {
  std::mt19937_64 random(7);
  for (int turn = 0; turn < 50; ++turn) {
    std::array<int64_t, 8> counted{};
    std::vector<std::vector<Interval>> unions(3);
    std::array<unsigned, 400> running{};
    for (size_t i = 0; i < unions.size(); ++i) {
      // Some touch: the next may begin where the last one ends.
      for (int64_t at = static_cast<int64_t>(random() % 9); at < 390;) {
        const int64_t end = at + 1 + static_cast<int64_t>(random() % 9);
        unions[i].push_back({at, end});
        for (int64_t t = at; t < end; ++t) running[static_cast<size_t>(t)] |= 1u << i;
        at = end + static_cast<int64_t>(random() % 9);
      }
    }
    for (const unsigned mask : running) ++counted[mask];
    counted[0] = 0;
    std::array<int64_t, 8> found{};
    AddTimesAtOnce(unions, found);
    EXPECT_EQ(found, counted);
  }
}

TEST(IntervalSweep, NothingRunsInNoUnion) {
  std::array<int64_t, 4> found{};
  AddTimesAtOnce(std::vector<std::vector<Interval>>{{}, {}}, found);
  EXPECT_EQ(found, (std::array<int64_t, 4>{}));
}

TEST(IntervalSweep, AppendedIntervalsThatTouchAreOne) {
  std::vector<Interval> pieces;
  AppendInterval(0, 5, pieces);
  AppendInterval(5, 7, pieces);
  AppendInterval(6, 6, pieces);
  AppendInterval(6, 7, pieces);
  AppendInterval(9, 10, pieces);
  EXPECT_EQ(pieces, (std::vector<Interval>{{0, 7}, {9, 10}}));
}

}  // namespace
}  // namespace kprof
