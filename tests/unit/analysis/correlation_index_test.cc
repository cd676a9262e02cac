#include "daemon/analysis/correlation_index.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/unit/analysis/sample_trace.h"

namespace kprof {
namespace {

TEST(CorrelationIndex, FindsEachSliceByItsCorrelation) {
  SampleTrace trace;
  PartReader& reader = trace.Add(RandomSlices(2'000, 1), 100, 3);
  std::map<int64_t, std::vector<int64_t>> expected;
  for (const SampleRow& row : RowsOf(reader)) {
    if (row.slice.correlation != kNoValue) expected[row.slice.correlation].push_back(row.row);
  }
  for (int64_t correlation = -1; correlation < 520; ++correlation) {
    ASSERT_EQ(*FindCorrelated(reader, correlation, 1'000, {}), expected[correlation]);
  }
  EXPECT_TRUE(FindCorrelated(reader, kNoValue, 1'000, {})->empty());
  EXPECT_EQ(FindCorrelated(reader, expected.begin()->first, 0, {})->size(), 0u);
}

TEST(CorrelationIndex, JoinsEachLaunchWithWhatItStarted) {
  SampleTrace trace;
  PartReader& reader = trace.Add(RandomSlices(2'000, 1), 100);
  const std::vector<SampleRow> rows = RowsOf(reader);
  std::set<std::pair<int64_t, int64_t>> expected;
  for (const SampleRow& from : rows) {
    for (const SampleRow& to : rows) {
      if (from.slice.correlation != kNoValue && from.slice.correlation == to.slice.correlation &&
          from.slice.track < 2 && to.slice.track >= 2) {
        expected.emplace(from.row, to.row);
      }
    }
  }
  CorrelationRequest request;
  request.from.track_kinds = {"cpu_thread"};
  request.to.track_kinds = {"gpu_stream"};
  std::set<std::pair<int64_t, int64_t>> found;
  const Status joined = JoinCorrelated(trace.part(0), request, {}, [&](const CorrelatedPair& pair) {
    EXPECT_EQ(rows[static_cast<size_t>(pair.from.row)].slice.time, pair.from.time_ns);
    EXPECT_EQ(rows[static_cast<size_t>(pair.to.row)].slice.track, int64_t{pair.to.track});
    EXPECT_EQ(rows[static_cast<size_t>(pair.to.row)].slice.correlation, pair.correlation);
    EXPECT_TRUE(found.emplace(pair.from.row, pair.to.row).second);
    return true;
  });
  ASSERT_TRUE(joined.ok()) << joined.ToString();
  EXPECT_EQ(found, expected);
  request.most_slices = 5;
  EXPECT_EQ(JoinCorrelated(trace.part(0), request, {}, [](const CorrelatedPair&) { return true; }).code(),
            ErrorCode::kUsage);
}

}  // namespace
}  // namespace kprof
