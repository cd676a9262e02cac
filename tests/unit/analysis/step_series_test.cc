#include "daemon/analysis/functions/step_series.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace kprof {
namespace {

// 0 for 10 ns, 4 for 30 ns, 1 for 60 ns.
const std::vector<SeriesPoint> kSeries = {{0, 0}, {10, 4}, {40, 1}};

TEST(StepSeries, WeighsValuesByTheirTime) {
  const auto numbers = DescribeTime(kSeries, 100, false);
  ASSERT_TRUE(numbers.has_value());
  EXPECT_EQ(numbers->points, 3);
  EXPECT_DOUBLE_EQ(numbers->mean, 1.8);
  EXPECT_DOUBLE_EQ(*numbers->stddev, std::sqrt((3.24 * 10 + 4.84 * 30 + 0.64 * 60) / 100));
  EXPECT_EQ(numbers->min, 0);
  EXPECT_EQ(numbers->p25, 1);
  EXPECT_EQ(numbers->p50, 1);
  EXPECT_EQ(numbers->p75, 4);
  EXPECT_EQ(numbers->max, 4);
}

TEST(StepSeries, LeavesOutTheTimeOfNothing) {
  const auto numbers = DescribeTime(kSeries, 100, true);
  ASSERT_TRUE(numbers.has_value());
  EXPECT_EQ(numbers->points, 2);
  EXPECT_DOUBLE_EQ(numbers->mean, 2);
  EXPECT_EQ(numbers->min, 1);
}

TEST(StepSeries, CountsPointsAsPandasDoes) {
  const auto numbers = DescribePoints({{0, 4}, {1, 1}, {2, 2}, {2, 9}});
  ASSERT_TRUE(numbers.has_value());
  EXPECT_EQ(numbers->points, 4);
  EXPECT_DOUBLE_EQ(numbers->mean, 4);
  EXPECT_NEAR(*numbers->stddev, 3.559026, 1e-6);
  EXPECT_DOUBLE_EQ(numbers->p25, 1.75);
  EXPECT_DOUBLE_EQ(numbers->p50, 3);
  EXPECT_DOUBLE_EQ(numbers->p75, 5.25);
  EXPECT_FALSE(DescribePoints({{0, 1}})->stddev.has_value());
}

TEST(StepSeries, OfNothingHasNoNumbers) {
  EXPECT_FALSE(DescribePoints({}).has_value());
  EXPECT_FALSE(DescribeTime({}, 10, false).has_value());
  EXPECT_FALSE(DescribeTime({{5, 1}}, 5, false).has_value());
  EXPECT_EQ(TimeAtLeast({}, 10, 0), 0);
  EXPECT_TRUE(StretchesOf(kSeries, {5, 5}, 10).empty());
}

TEST(StepSeries, IsLongEnoughForATime) {
  EXPECT_EQ(TimeAtLeast(kSeries, 100, 1), 90);
  EXPECT_EQ(TimeAtLeast(kSeries, 100, 2), 30);
  EXPECT_EQ(TimeAtLeast(kSeries, 100, 5), 0);
}

TEST(StepSeries, IsAveragedOverStretches) {
  const auto stretches = StretchesOf(kSeries, {-20, 100}, 3);
  ASSERT_EQ(stretches.size(), 3u);
  EXPECT_EQ(stretches[0].time, (Interval{-20, 20}));
  EXPECT_DOUBLE_EQ(stretches[0].mean, 1);
  EXPECT_EQ(stretches[0].max, 4);
  EXPECT_DOUBLE_EQ(stretches[1].mean, 2.5);
  EXPECT_DOUBLE_EQ(stretches[2].mean, 1);
  EXPECT_EQ(stretches[2].max, 1);
}

TEST(StepSeries, IsCutIntoNoMoreStretchesThanNanoseconds) {
  const auto stretches = StretchesOf(kSeries, {0, 3}, 10);
  ASSERT_EQ(stretches.size(), 3u);
  EXPECT_EQ(stretches[2].time, (Interval{2, 3}));
}

}  // namespace
}  // namespace kprof
