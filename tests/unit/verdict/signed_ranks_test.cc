#include "daemon/analysis/verdict/signed_ranks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/unit/verdict/made_samples.h"

namespace kprof {
namespace {

// All flips, one after the other.
double ByAllFlips(const std::vector<double>& differences) {
  const size_t count = differences.size();
  const auto sum_of = [&](uint64_t signs) {
    double sum = 0;
    for (size_t i = 0; i < count; ++i) {
      double rank = 0.5;
      for (const double other : differences) {
        if (std::abs(other) < std::abs(differences[i])) rank += 1;
        if (std::abs(other) == std::abs(differences[i])) rank += 0.5;
      }
      sum += (signs >> i & 1) != 0 ? rank : -rank;
    }
    return sum;
  };
  uint64_t signs = 0;
  for (size_t i = 0; i < count; ++i) signs |= differences[i] > 0 ? uint64_t{1} << i : 0;
  const double seen = std::abs(sum_of(signs));
  int beyond = 0;
  for (uint64_t flips = 0; flips < uint64_t{1} << count; ++flips) beyond += std::abs(sum_of(flips)) >= seen ? 1 : 0;
  return static_cast<double>(beyond) / std::pow(2.0, static_cast<double>(count));
}

TEST(SignedRanks, CountAllFlips) {
  RandomDraws draws(1);
  for (int turn = 0; turn < 30; ++turn) {
    std::vector<double> differences;
    // Whole numbers, so that there are ties.
    while (differences.size() < 8) {
      const double value = std::round(NormalDraw(draws) * 4 + 2);
      if (value != 0) differences.push_back(value);
    }
    EXPECT_NEAR(SignFlipPValue(differences), ByAllFlips(differences), 1e-12);
  }
}

TEST(SignedRanks, FiveOnOneSideAreTheLeastPossible) {
  EXPECT_NEAR(SignFlipPValue(std::vector<double>{1, 2, 3, 4, 5}), 2.0 / 32, 1e-12);
  EXPECT_NEAR(SignFlipPValue(std::vector<double>{-1, -2, -3, -4, -5}), 2.0 / 32, 1e-12);
}

TEST(SignedRanks, ZerosTellNothing) {
  EXPECT_EQ(SignFlipPValue({}), 1);
  EXPECT_EQ(SignFlipPValue(std::vector<double>{0, 0, 0}), 1);
  EXPECT_NEAR(SignFlipPValue(std::vector<double>{0, 1, 2, 3, 4, 5}), 2.0 / 32, 1e-12);
}

TEST(SignedRanks, ManyDifferencesAreCloseToTheExactOnes) {
  RandomDraws draws(1);
  std::vector<double> differences;
  for (int i = 0; i < 200; ++i) differences.push_back(NormalDraw(draws) + 0.15);
  const double exact = SignFlipPValue(differences);
  differences.push_back(1e-9);  // one more than are counted
  EXPECT_NEAR(SignFlipPValue(differences), exact, 0.003);
}

TEST(SignedRanks, EqualSidesAreBelowFivePercentInFivePercent) {
  RandomDraws draws(1);
  int below = 0;
  for (int turn = 0; turn < 2'000; ++turn) {
    std::vector<double> differences(12);
    for (double& value : differences) value = NormalDraw(draws);
    below += SignFlipPValue(differences) <= 0.05 ? 1 : 0;
  }
  EXPECT_NEAR(below / 2'000.0, 0.05, 0.012);
}

}  // namespace
}  // namespace kprof
