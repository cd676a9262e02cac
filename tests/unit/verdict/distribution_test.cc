#include "daemon/analysis/verdict/distribution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

#include "tests/unit/verdict/made_samples.h"

namespace kprof {
namespace {

using Draw = std::function<double(RandomDraws&)>;

// The part of samples of that many values that have two modes.
double PartBimodal(const Draw& draw, int count, int trials) {
  RandomDraws draws(static_cast<uint64_t>(count));
  int bimodal = 0;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<double> samples(static_cast<size_t>(count));
    for (double& value : samples) value = draw(draws);
    std::sort(samples.begin(), samples.end());
    bimodal += ModesOf(samples) ? 1 : 0;
  }
  return static_cast<double>(bimodal) / trials;
}

Draw Mixture(double share, double distance) {
  return [=](RandomDraws& draws) { return 100 + NormalDraw(draws) + (draws.Unit() < share ? distance : 0); };
}

TEST(Distribution, FiguresAreThoseOfTheDefinitions) {
  const Distribution made = DistributionOf({4, 1, 3, 2, 10});
  EXPECT_EQ(made.count, 5);
  EXPECT_EQ(made.mean, 4);
  EXPECT_NEAR(made.deviation, std::sqrt(12.5), 1e-12);
  EXPECT_EQ(made.median, 3);
  EXPECT_EQ(made.q1, 1.75);
  EXPECT_EQ(made.q3, 5.5);
  EXPECT_EQ(made.p5, 1);
  EXPECT_EQ(made.p95, 10);
  EXPECT_EQ(made.p99, 10);
  EXPECT_EQ(made.min, 1);
  EXPECT_EQ(made.max, 10);
  EXPECT_EQ(made.median_deviation, 1);
  EXPECT_NEAR(*made.relative_noise, std::sqrt(12.5) / 4, 1e-12);
  EXPECT_FALSE(made.is_bimodal);
}

TEST(Distribution, NoValuesAreNoFigures) {
  EXPECT_EQ(DistributionOf({}).count, 0);
  const Distribution one = DistributionOf({7});
  EXPECT_EQ(one.median, 7);
  EXPECT_EQ(one.deviation, 0);
  EXPECT_FALSE(one.relative_noise);
  EXPECT_FALSE(one.autocorrelation);
}

TEST(Distribution, ValuesThatAreNoNumbersAreCountedAndLeftOut) {
  const double infinite = std::numeric_limits<double>::infinity();
  const Distribution made = DistributionOf({1, std::nan(""), 3, infinite, -infinite});
  EXPECT_EQ(made.count, 2);
  EXPECT_EQ(made.not_finite, 3);
  EXPECT_EQ(made.mean, 2);
}

TEST(Distribution, EqualValuesHaveNoNoiseAndOneBucket) {
  const Distribution made = DistributionOf(std::vector<double>(100, 0.1));
  EXPECT_EQ(made.deviation, 0);
  EXPECT_EQ(*made.relative_noise, 0);
  EXPECT_FALSE(made.autocorrelation);
  EXPECT_FALSE(made.is_bimodal);
  EXPECT_EQ(made.histogram.counts, std::vector<int64_t>{100});
  EXPECT_EQ(made.histogram.width, 0);
}

TEST(Distribution, AutocorrelationIsThatOfTheSeries) {
  RandomDraws draws(1);
  const auto of = [&](double correlation) {
    const MadeMachine machine{.samples = 5'000, .correlation = correlation};
    return *DistributionOf(MadeProcess(machine, 0, 1, draws).ns).autocorrelation;
  };
  EXPECT_NEAR(of(0.8), 0.8, 0.05);
  EXPECT_NEAR(of(0), 0, 0.05);
  std::vector<double> turns(100);
  for (size_t i = 0; i < turns.size(); ++i) turns[i] = i % 2 == 0 ? 1 : 2;
  EXPECT_NEAR(*DistributionOf(turns).autocorrelation, -1, 0.02);
}

TEST(Distribution, TheHistogramHasAllValues) {
  RandomDraws draws(1);
  std::vector<double> samples;
  for (int i = 0; i < 1'000; ++i) samples.push_back(100 + NormalDraw(draws));
  samples.push_back(1e6);
  samples.push_back(-1e6);
  const SampleHistogram histogram = DistributionOf(samples).histogram;
  EXPECT_EQ(histogram.below, 1);
  EXPECT_EQ(histogram.above, 1);
  EXPECT_EQ(std::accumulate(histogram.counts.begin(), histogram.counts.end(), int64_t{0}), 1'000);
  EXPECT_GT(histogram.counts.size(), 20u);
  EXPECT_LE(histogram.counts.size(), 64u);
}

TEST(Distribution, OneModeIsSeldomTakenForTwo) {
  struct Row {
    const char* name;
    Draw draw;
  };
  const Row rows[] = {
      {"normal", [](RandomDraws& draws) { return 100 + NormalDraw(draws); }},
      {"lognormal", [](RandomDraws& draws) { return std::exp(0.5 * NormalDraw(draws)); }},
      {"exponential tail", [](RandomDraws& draws) { return 100 + 0.5 * NormalDraw(draws) + ExponentialDraw(draws); }},
      {"spikes",
       [](RandomDraws& draws) {
         return 100 + NormalDraw(draws) + (draws.Unit() < 0.1 ? 30 * ExponentialDraw(draws) : 0);
       }},
  };
  for (const Row& row : rows) {
    for (const int count : {20, 30, 50, 100, 200, 500, 2'000}) {
      const int trials = count < 500 ? 500 : 100;
      EXPECT_LE(PartBimodal(row.draw, count, trials), 0.014) << row.name << ", " << count;
    }
  }
}

TEST(Distribution, TwoModesAreFound) {
  for (const int count : {50, 100, 200, 500, 2'000}) {
    const int trials = count < 500 ? 500 : 100;
    for (const double share : {0.5, 0.2, 0.8}) {
      EXPECT_GE(PartBimodal(Mixture(share, 6), count, trials), 0.94) << count << ", " << share;
    }
  }
}

TEST(Distribution, ModesHaveTheirCentresAndShares) {
  RandomDraws draws(1);
  const Draw draw = Mixture(0.2, 10);
  std::vector<double> samples;
  for (int i = 0; i < 2'000; ++i) samples.push_back(draw(draws));
  const Distribution made = DistributionOf(samples);
  ASSERT_TRUE(made.is_bimodal);
  EXPECT_NEAR(made.modes.low_center, 100, 0.3);
  EXPECT_NEAR(made.modes.high_center, 110, 0.4);
  EXPECT_NEAR(made.modes.low_share, 0.8, 0.03);
  EXPECT_NEAR(made.modes.high_share, 0.2, 0.03);
}

TEST(Distribution, TicksOfTheClockAreNoModes) {
  RandomDraws draws(1);
  for (const double noise : {10.0, 20.0, 40.0}) {
    std::vector<double> samples;
    for (int i = 0; i < 500; ++i) samples.push_back(std::round((1'000 + noise * NormalDraw(draws)) / 32) * 32);
    EXPECT_FALSE(DistributionOf(samples).is_bimodal) << noise;
  }
}

TEST(Distribution, HugeAndTinyValuesAreNoTrouble) {
  std::vector<double> samples;
  for (int i = 0; i < 100; ++i) samples.push_back(i % 3 == 0 ? 1e308 : i % 3 == 1 ? 5e-324 : -1e308);
  EXPECT_EQ(DistributionOf(samples).count, 100);
}

}  // namespace
}  // namespace kprof
