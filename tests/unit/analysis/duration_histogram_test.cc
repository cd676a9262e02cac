#include "daemon/analysis/operators/duration_histogram.h"

#include <gtest/gtest.h>

#include "tests/unit/analysis/sample_trace.h"

namespace kprof {
namespace {

void ExpectSame(TraceParts parts, const HistogramRequest& request, int64_t first_bucket_from) {
  const Result<DurationHistogram> found = CountDurations(parts, request, {});
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  int64_t without_end = 0;
  std::vector<HistogramBucket> expected = found->buckets;
  for (HistogramBucket& bucket : expected) bucket.count = bucket.sum_ns = 0;
  for (const TracePart& part : parts) {
    for (const SampleRow& row : RowsOf(*part.reader)) {
      if (!row.has_end()) {
        ++without_end;
        continue;
      }
      const int64_t at = std::max(row.slice.duration, first_bucket_from);
      for (HistogramBucket& bucket : expected) {
        if (at < bucket.from_ns || at >= bucket.to_ns) continue;
        ++bucket.count;
        bucket.sum_ns += row.slice.duration;
      }
    }
  }
  EXPECT_EQ(found->without_end, without_end);
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(found->buckets[i].count, expected[i].count) << i;
    EXPECT_EQ(found->buckets[i].sum_ns, expected[i].sum_ns) << i;
    if (i > 0) {
      EXPECT_EQ(found->buckets[i].from_ns, found->buckets[i - 1].to_ns);
    }
  }
}

TEST(DurationHistogram, EachDurationIsInOneBucket) {
  SampleTrace trace;
  trace.Add(RandomSlices(2'000, 1), 150);
  trace.Add(RandomSlices(1'000, 2), 150, 3);
  ExpectSame(trace.parts(), {}, 0);
  ExpectSame(trace.parts(), {.width_ns = 50, .buckets = 10}, 0);
  ExpectSame(trace.parts(), {.width_ns = 7, .first_ns = 100, .buckets = 100}, 100);
}

TEST(DurationHistogram, TheLargestNumbersHaveABucket) {
  SampleTrace trace;
  trace.Add({{.duration = int64_t{1} << 61}, {.duration = 0}}, 10);
  const DurationHistogram doubling = *CountDurations(trace.parts(), {}, {});
  EXPECT_EQ(doubling.buckets.back().count, 1);
  EXPECT_EQ(doubling.buckets.front().count, 1);
  const DurationHistogram linear =
      *CountDurations(trace.parts(), {.width_ns = INT64_MAX, .first_ns = 1, .buckets = 9}, {});
  EXPECT_EQ(linear.buckets.front().count, 2);
}

TEST(DurationHistogram, BucketsThatAreNoneAreRefused) {
  for (const HistogramRequest& request :
       {HistogramRequest{.width_ns = -1}, HistogramRequest{.first_ns = -1}, HistogramRequest{.buckets = 0}}) {
    EXPECT_EQ(CountDurations({}, request, {}).status().code(), ErrorCode::kUsage);
  }
}

}  // namespace
}  // namespace kprof
