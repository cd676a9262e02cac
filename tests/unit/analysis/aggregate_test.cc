#include "daemon/analysis/operators/aggregate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/analysis/sample_trace.h"

namespace kprof {
namespace {

GroupKey KeyOf(const std::vector<GroupBy>& by, const TracePart& part, size_t at, const SampleRow& row) {
  const TrackRow& track = part.reader->tracks()[static_cast<size_t>(row.slice.track)];
  const auto maybe = [](const std::optional<int64_t>& value) { return value ? GroupValue(*value) : GroupValue(); };
  GroupKey key;
  for (const GroupBy one : by) {
    if (one == GroupBy::kName) key.emplace_back(row.slice.name);
    if (one == GroupBy::kCategory) key.emplace_back(row.slice.category);
    if (one == GroupBy::kTrack) key.emplace_back(TrackKeyOf(at, track.id));
    if (one == GroupBy::kTrackName) key.emplace_back(track.name);
    if (one == GroupBy::kTrackKind) key.emplace_back(track.kind);
    if (one == GroupBy::kDevice) key.push_back(maybe(track.device));
    if (one == GroupBy::kStream) key.push_back(maybe(track.stream));
    if (one == GroupBy::kRank) key.push_back(maybe(part.rank));
  }
  return key;
}

struct Expected {
  int64_t count = 0;
  std::vector<int64_t> durations;
};

std::map<GroupKey, Expected> Plain(TraceParts parts, const AggregateRequest& request) {
  std::map<GroupKey, Expected> groups;
  for (size_t at = 0; at < parts.size(); ++at) {
    for (const SampleRow& row : RowsOf(*parts[at].reader)) {
      if (!request.filter.categories.empty() && row.slice.category != request.filter.categories[0]) continue;
      Expected& group = groups[KeyOf(request.by, parts[at], at, row)];
      ++group.count;
      if (row.has_end()) group.durations.push_back(row.slice.duration);
    }
  }
  for (auto& [key, group] : groups) std::sort(group.durations.begin(), group.durations.end());
  return groups;
}

void ExpectSame(TraceParts parts, const AggregateRequest& request) {
  const Result<std::vector<Aggregate>> found = AggregateEvents(parts, request, {});
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  const std::map<GroupKey, Expected> expected = Plain(parts, request);
  ASSERT_EQ(found->size(), expected.size());
  for (const Aggregate& group : *found) {
    const auto plain = expected.find(group.key);
    ASSERT_NE(plain, expected.end());
    EXPECT_EQ(group.count, plain->second.count);
    if (!request.durations) continue;
    const std::vector<int64_t>& durations = plain->second.durations;
    ASSERT_EQ(group.ended, static_cast<int64_t>(durations.size()));
    if (durations.empty()) continue;
    int64_t sum = 0;
    for (const int64_t duration : durations) sum += duration;
    EXPECT_EQ(group.sum_ns, sum);
    EXPECT_EQ(group.min_ns, durations.front());
    EXPECT_EQ(group.max_ns, durations.back());
    ASSERT_EQ(group.percentiles_ns.size(), request.percentiles.size());
    for (size_t i = 0; i < request.percentiles.size(); ++i) {
      const double place = std::ceil(request.percentiles[i] / 100 * static_cast<double>(durations.size()));
      EXPECT_EQ(group.percentiles_ns[i], durations[static_cast<size_t>(std::max(place, 1.0)) - 1]);
    }
  }
}

class AggregateByKeys : public testing::TestWithParam<std::vector<GroupBy>> {};

TEST_P(AggregateByKeys, IsWhatAPlainPassMakes) {
  SampleTrace trace;
  trace.Add(RandomSlices(2'000, 1), 150, 1, 0);
  trace.Add(RandomSlices(1'000, 2), 150, 3, 1);
  trace.Add({}, 100, 1, 2);
  AggregateRequest request;
  request.by = GetParam();
  request.percentiles = {0, 50, 90, 99, 100};
  ExpectSame(trace.parts(), request);
  request.filter.categories = {"rare"};
  ExpectSame(trace.parts(), request);
  request.most_values = 40;  // many passes, and groups that are narrowed down
  ExpectSame(trace.parts(), request);
  request.filter = {};
  ExpectSame(trace.parts(), request);
  request.percentiles.clear();
  request.durations = false;
  ExpectSame(trace.parts(), request);
}

INSTANTIATE_TEST_SUITE_P(Keys, AggregateByKeys,
                         testing::Values(std::vector<GroupBy>{}, std::vector{GroupBy::kName},
                                         std::vector{GroupBy::kCategory}, std::vector{GroupBy::kTrack},
                                         std::vector{GroupBy::kRank}, std::vector{GroupBy::kTrackKind},
                                         std::vector{GroupBy::kName, GroupBy::kRank, GroupBy::kDevice},
                                         std::vector{GroupBy::kCategory, GroupBy::kStream},
                                         std::vector{GroupBy::kTrackName, GroupBy::kCategory, GroupBy::kName},
                                         std::vector{GroupBy::kName, GroupBy::kCategory}));

TEST(Aggregate, GroupsOfSeveralPartsAreOneByTheirTexts) {
  SampleTrace trace;
  trace.Add({{.time = 0, .duration = 5, .name = "gemm"}}, 10);
  trace.Add({{.time = 0, .duration = 7, .name = "gemm"}}, 10);
  AggregateRequest request;
  request.by = {GroupBy::kName};
  const std::vector<Aggregate> groups = *AggregateEvents(trace.parts(), request, {});
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].sum_ns, 12);
}

TEST(Aggregate, TheFirstOfAnOrderComeInIt) {
  SampleTrace trace;
  trace.Add(RandomSlices(2'000, 1), 150);
  AggregateRequest request;
  request.by = {GroupBy::kName};
  request.percentiles = {99};
  for (const Measure order :
       {Measure::kCount, Measure::kSum, Measure::kMin, Measure::kMax, Measure::kMean, Measure::kPercentile}) {
    request.order = order;
    request.top = SIZE_MAX;
    const std::vector<Aggregate> all = *AggregateEvents(trace.parts(), request, {});
    request.top = 3;
    const std::vector<Aggregate> top = *AggregateEvents(trace.parts(), request, {});
    ASSERT_EQ(top.size(), 3u);
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(top[i].key, all[i].key);
      EXPECT_EQ(top[i].percentiles_ns, all[i].percentiles_ns);
    }
    if (order == Measure::kSum) {
      EXPECT_GE(all[0].sum_ns, all[1].sum_ns);
    }
    if (order == Measure::kPercentile) {
      EXPECT_GE(all[0].percentiles_ns, all[1].percentiles_ns);
    }
  }
}

TEST(Aggregate, SumsStayAtTheLargestNumberThereIs) {
  SampleTrace trace;
  constexpr int64_t kLong = int64_t{1} << 61;
  trace.Add(std::vector<SampleSlice>(5, {.duration = kLong}), 10);
  const std::vector<Aggregate> groups = *AggregateEvents(trace.parts(), {}, {});
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].sum_ns, INT64_MAX);
  EXPECT_EQ(groups[0].max_ns, kLong);
}

TEST(Aggregate, MoreGroupsThanAskedForIsAnError) {
  SampleTrace trace;
  trace.Add(RandomSlices(500, 1), 100);
  AggregateRequest request;
  request.by = {GroupBy::kName};
  request.most_groups = 5;
  EXPECT_EQ(AggregateEvents(trace.parts(), request, {}).status().code(), ErrorCode::kUsage);
}

}  // namespace
}  // namespace kprof
