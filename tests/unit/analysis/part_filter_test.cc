#include "daemon/analysis/operators/part_filter.h"

#include <gtest/gtest.h>

#include "daemon/analysis/operators/event_filter.h"
#include "tests/unit/analysis/sample_trace.h"

namespace kprof {
namespace {

std::vector<int64_t> Found(const EventFilter& filter, const TracePart& part) {
  const Result<PartFilter> bound = PartFilter::Bind(filter, part, EventKind::kSlice);
  EXPECT_TRUE(bound.ok()) << bound.status().ToString();
  std::vector<int64_t> rows;
  const Status seen = bound->ForEach({}, [&](const Segment& segment, const RowSelection& selection) {
    for (uint32_t row = 0; selection.all && row < segment.rows; ++row) rows.push_back(segment.first_row + row);
    for (const uint32_t row : selection.rows) rows.push_back(segment.first_row + row);
    return OkStatus();
  });
  EXPECT_TRUE(seen.ok()) << seen.ToString();
  return rows;
}

template <typename T, typename V>
bool Has(const std::vector<T>& list, const V& value) {
  return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
}

bool Matches(const EventFilter& filter, const TracePart& part, const SampleRow& row) {
  const SampleSlice& slice = row.slice;
  const TrackRow& track = part.reader->tracks()[static_cast<size_t>(slice.track)];
  const auto matches_one = [](const std::vector<std::string>& patterns, const std::string& name) {
    return patterns.empty() ||
           std::any_of(patterns.begin(), patterns.end(), [&](const std::string& p) { return MatchesPattern(p, name); });
  };
  if (!filter.ranks.empty() && (!part.rank || !Has(filter.ranks, *part.rank))) return false;
  if (filter.from_ns && filter.to_ns && *filter.from_ns >= *filter.to_ns) return false;
  if (filter.to_ns && slice.time >= *filter.to_ns) return false;
  if (filter.from_ns && slice.time < *filter.from_ns && row.end() <= *filter.from_ns) return false;
  if (filter.least_duration_ns && (!row.has_end() || slice.duration < *filter.least_duration_ns)) return false;
  if (filter.most_duration_ns && (!row.has_end() || slice.duration > *filter.most_duration_ns)) return false;
  if (filter.correlation && slice.correlation != *filter.correlation) return false;
  return Has(filter.tracks, slice.track) && Has(filter.track_kinds, track.kind) &&
         matches_one(filter.track_names, track.name) &&
         (filter.devices.empty() || (track.device && Has(filter.devices, *track.device))) &&
         (filter.streams.empty() || (track.stream && Has(filter.streams, *track.stream))) &&
         matches_one(filter.names, slice.name) && Has(filter.categories, slice.category);
}

TEST(PartFilter, FindsWhatAPlainLookAtEachRowFinds) {
  SampleTrace trace;
  trace.Add(RandomSlices(3'000, 1), 200, 1, 3);
  trace.Add(RandomSlices(3'000, 2), 200, 4);
  std::mt19937_64 random(11);
  const auto maybe = [&] { return random() % 3 == 0; };
  for (size_t at = 0; at < 2; ++at) {
    const std::vector<SampleRow> rows = RowsOf(*trace.part(at).reader);
    for (int turn = 0; turn < 400; ++turn) {
      EventFilter filter;
      if (maybe()) filter.from_ns = static_cast<int64_t>(random() % 120'000) - 10'000;
      if (maybe()) filter.to_ns = static_cast<int64_t>(random() % 120'000) - 10'000;
      if (random() % 20 == 0) filter.ranks = {3, 4};
      if (maybe()) filter.tracks = {static_cast<int64_t>(random() % 7), static_cast<int64_t>(random() % 7)};
      if (random() % 5 == 0) filter.track_kinds = {"gpu_stream", "none"};
      if (random() % 5 == 0) filter.track_names = {"*7", "ma?n"};
      if (random() % 8 == 0) filter.devices = {1};
      if (random() % 8 == 0) filter.streams = {9, 10};
      if (maybe()) filter.names = {random() % 2 == 0 ? "name 1*" : "name 7", "unknown"};
      if (maybe()) filter.categories = {random() % 2 == 0 ? "rare" : "kernel"};
      if (random() % 5 == 0) filter.categories.push_back("memcpy");
      if (random() % 4 == 0) filter.least_duration_ns = static_cast<int64_t>(random() % 200);
      if (random() % 4 == 0) filter.most_duration_ns = static_cast<int64_t>(random() % 400);
      if (random() % 8 == 0) filter.correlation = static_cast<int64_t>(random() % 750);
      std::vector<int64_t> expected;
      for (const SampleRow& row : rows) {
        if (Matches(filter, trace.part(at), row)) expected.push_back(row.row);
      }
      ASSERT_EQ(Found(filter, trace.part(at)), expected) << "turn " << turn;
    }
  }
}

TEST(PartFilter, SegmentsThatCannotMatchAreNotSeen) {
  SampleTrace trace;
  trace.Add(RandomSlices(2'000, 1), 100);
  EventFilter filter;
  filter.to_ns = 5'000;
  const Result<PartFilter> bound = PartFilter::Bind(filter, trace.part(0), EventKind::kSlice);
  size_t seen = 0;
  for (const Segment& segment : trace.part(0).reader->segments(EventKind::kSlice)) seen += *bound->MayMatch(segment);
  EXPECT_LE(seen, 2u);
}

// Correlations ascend with time and many slices have none: the one segment that has it is looked at, and of that the
// one slice.
TEST(PartFilter, OfACorrelationTheSegmentThatHasItIsSeen) {
  SampleTrace trace;
  std::vector<SampleSlice> slices;
  for (int64_t i = 0; i < 1'000; ++i) {
    slices.push_back({.time = i, .duration = 1, .name = "x", .category = "y"});
    if (i % 100 < 3) slices.back().correlation = i / 100;  // of each segment all have one
  }
  trace.Add(slices, 100);
  for (const int64_t correlation : {0, 5, 9, 10}) {
    EventFilter filter;
    filter.correlation = correlation;
    const Result<PartFilter> bound = PartFilter::Bind(filter, trace.part(0), EventKind::kSlice);
    size_t seen = 0;
    for (const Segment& segment : trace.part(0).reader->segments(EventKind::kSlice)) seen += *bound->MayMatch(segment);
    EXPECT_EQ(seen, correlation < 10 ? 1u : 0u);
    const int64_t first = 100 * correlation;
    EXPECT_EQ(Found(filter, trace.part(0)),
              correlation < 10 ? (std::vector<int64_t>{first, first + 1, first + 2}) : std::vector<int64_t>());
  }
}

TEST(PartFilter, StopsWhenNobodyWaits) {
  SampleTrace trace;
  trace.Add(RandomSlices(100, 1), 100);
  const Result<PartFilter> bound = PartFilter::Bind({}, trace.part(0), EventKind::kSlice);
  std::stop_source source;
  source.request_stop();
  const Status status =
      bound->ForEach(source.get_token(), [](const Segment&, const RowSelection&) { return OkStatus(); });
  EXPECT_EQ(status.code(), ErrorCode::kCancelled);
}

TEST(PartFilter, AnEmptyPartHasNothing) {
  SampleTrace trace;
  trace.Add({}, 100);
  EXPECT_TRUE(Found({}, trace.part(0)).empty());
}

}  // namespace
}  // namespace kprof
