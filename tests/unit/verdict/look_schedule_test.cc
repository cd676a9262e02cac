#include "daemon/analysis/verdict/look_schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "daemon/analysis/verdict/quantiles.h"
#include "tests/unit/verdict/made_samples.h"

namespace kprof {
namespace {

TEST(LookSchedule, LooksAreAtGeometricCounts) {
  std::vector<int64_t> looks;
  for (int64_t blocks = -1; blocks <= 120; ++blocks) {
    if (LooksAgainAt(blocks)) looks.push_back(blocks);
  }
  EXPECT_EQ(looks, (std::vector<int64_t>{5, 7, 10, 14, 20, 28, 40, 56, 80, 112}));
}

TEST(LookSchedule, LooksAreCountedUpToTheMostBlocks) {
  EXPECT_EQ(LooksUpTo(0), 1);
  EXPECT_EQ(LooksUpTo(5), 1);
  EXPECT_EQ(LooksUpTo(9), 2);
  EXPECT_EQ(LooksUpTo(56), 8);
  EXPECT_EQ(LooksUpTo(INT64_MAX), kMostLooks);
}

TEST(LookSchedule, OneLookHasTheWholeChance) {
  EXPECT_EQ(LevelOfEachLook(0.05, 1), 0.05);
}

TEST(LookSchedule, EachLookHasMoreThanAnEqualShareAndLessThanAll) {
  for (const double alpha : {0.5, 0.05, 0.001, 1e-6}) {
    double last = alpha;
    for (int64_t looks = 2; looks <= kMostLooks; ++looks) {
      const double level = LevelOfEachLook(alpha, looks);
      EXPECT_LT(level, last);
      EXPECT_GT(level, alpha / static_cast<double>(looks));
      last = level;
    }
  }
}

// Random walks that look at themselves: the chance that they cross once is the one that was promised.
TEST(LookSchedule, AllLooksTogetherHaveThePromisedChance) {
  constexpr int64_t kLooks = 6;
  constexpr int kWalks = 20'000;
  const double limit = StudentQuantile(LevelOfEachLook(0.1, kLooks) / 2, 5'000);
  RandomDraws draws(1);
  int crossed = 0;
  for (int walk = 0; walk < kWalks; ++walk) {
    double sum = 0;
    int64_t blocks = 0;
    bool is_over = false;
    for (int64_t look = 1; look <= kLooks && !is_over; ++look) {
      sum += NormalDraw(draws) * std::sqrt(static_cast<double>(BlocksOfLook(look) - blocks));
      blocks = BlocksOfLook(look);
      is_over = std::abs(sum) > limit * std::sqrt(static_cast<double>(blocks));
    }
    crossed += is_over ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(crossed) / kWalks, 0.1, 0.006);
}

}  // namespace
}  // namespace kprof
