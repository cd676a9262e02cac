#include "daemon/base/metrics.h"

#include <gtest/gtest.h>

#include <limits>

namespace kprof {
namespace {

TEST(MetricsText, WritesFamiliesInTheOrderOfTheirNames) {
  constexpr double kBounds[] = {0.5, 2};
  Metrics metrics;
  Histogram& waits = metrics.AddHistograms("wait_seconds", "Waits.", {"device"}, kBounds).With({"0"});
  for (double seconds : {0.25, 1.0, 1.0, 3.5}) waits.Observe(seconds);
  Family<Counter>& ended = metrics.AddCounters("ended_total", "Runs that ended.", {"tool", "outcome"});
  ended.With({"ncu", "done"}).Add(3);
  ended.With({"command", "cancelled"}).Add();
  metrics.AddGauge("free_bytes", "Room.").Set(1.5e15);
  EXPECT_EQ(metrics.Text(),
            "# HELP ended_total Runs that ended.\n"
            "# TYPE ended_total counter\n"
            "ended_total{tool=\"command\",outcome=\"cancelled\"} 1\n"
            "ended_total{tool=\"ncu\",outcome=\"done\"} 3\n"
            "# HELP free_bytes Room.\n"
            "# TYPE free_bytes gauge\n"
            "free_bytes 1.5e+15\n"
            "# HELP wait_seconds Waits.\n"
            "# TYPE wait_seconds histogram\n"
            "wait_seconds_bucket{device=\"0\",le=\"0.5\"} 1\n"
            "wait_seconds_bucket{device=\"0\",le=\"2\"} 3\n"
            "wait_seconds_bucket{device=\"0\",le=\"+Inf\"} 4\n"
            "wait_seconds_sum{device=\"0\"} 5.75\n"
            "wait_seconds_count{device=\"0\"} 4\n");
}

TEST(MetricsText, EscapesWhatWouldEndALineOrAValue) {
  Metrics metrics;
  metrics.AddGauges("odd", "A \\ and a\nline.", {"name"}).With({"a\"b\\c\nd"}).Set(1);
  EXPECT_EQ(metrics.Text(),
            "# HELP odd A \\\\ and a\\nline.\n"
            "# TYPE odd gauge\n"
            "odd{name=\"a\\\"b\\\\c\\nd\"} 1\n");
}

TEST(MetricsText, MakesBytesReadableThatAreNoUtf8) {
  Metrics metrics;
  metrics.AddGauges("odd", "Odd.", {"name"}).With({"a\xff"}).Set(1);
  EXPECT_EQ(metrics.Text(),
            "# HELP odd Odd.\n"
            "# TYPE odd gauge\n"
            "odd{name=\"a\\\\xff\"} 1\n");
}

TEST(MetricsText, DescribesAFamilyThatHasNoValuesYet) {
  Metrics metrics;
  metrics.AddCounters("errors_total", "Errors.", {"code"});
  EXPECT_EQ(metrics.Text(), "# HELP errors_total Errors.\n# TYPE errors_total counter\n");
}

TEST(MetricsText, WritesNumbersThatReadBackTheSame) {
  EXPECT_EQ(MetricNumber(0), "0");
  EXPECT_EQ(MetricNumber(0.1), "0.1");
  EXPECT_EQ(MetricNumber(12345678), "12345678");
  EXPECT_EQ(MetricNumber(9007199254740991), "9007199254740991");
  EXPECT_EQ(MetricNumber(std::numeric_limits<double>::infinity()), "+Inf");
  EXPECT_EQ(MetricNumber(-std::numeric_limits<double>::infinity()), "-Inf");
  EXPECT_EQ(MetricNumber(std::numeric_limits<double>::quiet_NaN()), "NaN");
}

}  // namespace
}  // namespace kprof
