#include "daemon/analysis/verdict/quantiles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "daemon/analysis/verdict/random_draws.h"

namespace kprof {
namespace {

TEST(Quantiles, StudentsAreThoseOfTheTables) {
  struct Row {
    double tail;
    int64_t degrees;
    double value;
  };
  const Row rows[] = {{0.025, 1, 12.7062},  {0.025, 4, 2.77645},         {0.025, 5, 2.57058},
                      {0.025, 30, 2.04227}, {0.005, 4, 4.60409},         {0.0005, 9, 4.78091},
                      {0.05, 10, 1.81246},  {0.025, 1'000'000, 1.96044}, {1e-6, 4, 41.5779}};
  for (const Row& row : rows) {
    EXPECT_NEAR(StudentQuantile(row.tail, row.degrees), row.value, row.value * 1e-4) << row.tail << " " << row.degrees;
  }
}

TEST(Quantiles, OfSortedValuesLieBetweenThem) {
  const std::array<double, 4> values{1, 2, 3, 4};
  EXPECT_EQ(SortedQuantile(values, 0), 1);
  EXPECT_EQ(SortedQuantile(values, 0.5), 2.5);
  EXPECT_EQ(SortedQuantile(values, 0.625), 3);
  EXPECT_EQ(SortedQuantile(values, 1), 4);
  EXPECT_EQ(SortedQuantile(std::array<double, 1>{7}, 0.3), 7);
}

// Against medians of real resamples.
TEST(Quantiles, PlacesOfTheMedianAreThoseOfResamples) {
  RandomDraws draws(3);
  for (const size_t count : {3u, 9u, 31u, 101u}) {
    std::vector<double> samples(count);
    for (size_t i = 0; i < count; ++i) samples[i] = static_cast<double>(i);
    double squares = 0;
    constexpr int kTurns = 4'000;
    std::vector<double> resample(count);
    for (int turn = 0; turn < kTurns; ++turn) {
      for (double& value : resample) value = samples[draws.Below(count)];
      std::nth_element(resample.begin(), resample.begin() + static_cast<ptrdiff_t>(count / 2), resample.end());
      const double distance = resample[count / 2] - static_cast<double>(count / 2);
      squares += distance * distance / kTurns;
    }
    double by_places = 0;
    for (const double place : PlacesOfMedian(count)) {
      const double distance = SortedQuantile(samples, place) - static_cast<double>(count / 2);
      by_places += distance * distance / std::tuple_size_v<MedianPlaces>;
    }
    EXPECT_NEAR(std::sqrt(by_places), std::sqrt(squares), std::sqrt(squares) * 0.15) << count;
  }
}

TEST(Quantiles, PlacesOfTheMedianAreSymmetricAndRise) {
  for (const size_t count : {1u, 2u, 10u, 1'000u, 1'000'000u}) {
    const MedianPlaces places = PlacesOfMedian(count);
    EXPECT_TRUE(std::is_sorted(places.begin(), places.end()));
    EXPECT_GE(places.front(), 0);
    for (size_t i = 0; i < places.size(); ++i) EXPECT_NEAR(places[i] + places[places.size() - 1 - i], 1, 1e-12);
  }
}

// A stored seed brings back the same numbers with each compiler.
TEST(RandomDraws, TheNumbersOfASeedAreKnown) {
  RandomDraws draws(1);
  EXPECT_EQ(draws.Bits(), 12966619160104079557u);
  EXPECT_EQ(draws.Bits(), 9600361134598540522u);
}

TEST(RandomDraws, AllNumbersBelowALimitComeAsOften) {
  RandomDraws draws(1);
  std::array<int, 7> counts{};
  for (int i = 0; i < 70'000; ++i) ++counts[draws.Below(counts.size())];
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 400);
}

}  // namespace
}  // namespace kprof
