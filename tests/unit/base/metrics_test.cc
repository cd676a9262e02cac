#include "daemon/base/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <thread>
#include <vector>

namespace kprof {
namespace {

using testing::HasSubstr;

constexpr double kBounds[] = {1, 2.5, 10};

TEST(Counter, LosesNothingBetweenThreads) {
  Metrics metrics;
  Counter& counter = metrics.AddCounter("things_total", "Things.");
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int n = 0; n < 10'000; ++n) counter.Add();
      });
    }
  }
  EXPECT_EQ(counter.value(), 40'000);
}

TEST(Histogram, CountsWhatIsOnABoundAsBelowIt) {
  Histogram histogram(kBounds);
  for (double value : {0.5, 1.0, 1.1, 2.5, 10.0, 11.0}) histogram.Observe(value);
  EXPECT_EQ(histogram.count(0), 2u);
  EXPECT_EQ(histogram.count(1), 2u);
  EXPECT_EQ(histogram.count(2), 1u);
  EXPECT_EQ(histogram.count(3), 1u);
  EXPECT_DOUBLE_EQ(histogram.sum(), 26.1);
}

TEST(Histogram, CountsWhatIsNoNumberAboveAllBounds) {
  Histogram histogram(kBounds);
  histogram.Observe(std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(histogram.count(0) + histogram.count(1) + histogram.count(2), 0u);
  EXPECT_EQ(histogram.count(3), 1u);
}

TEST(Family, GivesTheSameValueForTheSameLabels) {
  Metrics metrics;
  Family<Gauge>& family = metrics.AddGauges("leases", "Leases.", {"device", "holder"});
  Gauge& one = family.With({"0", "run"});
  EXPECT_EQ(&one, &family.With({"0", "run"}));
  EXPECT_NE(&one, &family.With({"run", "0"}));
}

TEST(Family, PutsWhatComesAfterTheLastPlaceTogether) {
  Metrics metrics;
  Family<Counter>& family = metrics.AddCounters("names_total", "Names.", {"name"});
  for (size_t i = 0; i < Family<Counter>::kMostValues; ++i) family.With({std::to_string(i)}).Add();
  Counter& other = family.With({"one more"});
  other.Add();
  EXPECT_EQ(&other, &family.With({"and another"}));
  EXPECT_EQ(family.With({"0"}).value(), 1) << "those that were there stay";
  EXPECT_THAT(metrics.Text(), HasSubstr("names_total{name=\"other\"} 1\n"));
}

TEST(Metrics, LooksUpBeforeEachText) {
  Metrics metrics;
  Gauge& looked_up = metrics.AddGauge("size_bytes", "A size.");
  double size = 1;
  metrics.BeforeText([&] { looked_up.Set(size); });
  EXPECT_THAT(metrics.Text(), HasSubstr("size_bytes 1\n"));
  size = 2;
  EXPECT_THAT(metrics.Text(), HasSubstr("size_bytes 2\n"));
}

TEST(Metrics, TakesANameOnce) {
  Metrics metrics;
  metrics.AddGauge("size_bytes", "A size.");
  EXPECT_DEATH(metrics.AddGauge("size_bytes", "Another."), "");
}

TEST(Metrics, RefusesNamesThatPrometheusWould) {
  Metrics metrics;
  EXPECT_DEATH(metrics.AddGauge("9lives", "A name."), "");
  EXPECT_DEATH(metrics.AddGauge("has-dash", "A name."), "");
  EXPECT_DEATH(metrics.AddCounter("things", "A counter without _total."), "");
}

}  // namespace
}  // namespace kprof
