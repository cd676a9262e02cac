#include "daemon/analysis/operators/busy_time.h"

#include <gtest/gtest.h>

#include "tests/unit/analysis/sample_trace.h"

namespace kprof {
namespace {

constexpr int64_t kTimes = 130'000;

// Nanosecond by nanosecond.
std::vector<bool> Plain(PartReader& reader, const EventFilter& filter, const std::function<bool(const TrackRow&)>& on,
                        int64_t& slices) {
  std::vector<bool> busy(kTimes);
  for (const SampleRow& row : RowsOf(reader)) {
    const TrackRow& track = reader.tracks()[static_cast<size_t>(row.slice.track)];
    if (!on(track)) continue;
    if (!filter.categories.empty() && row.slice.category != filter.categories[0]) continue;
    if (filter.to_ns && row.slice.time >= *filter.to_ns) continue;
    if (filter.from_ns && row.slice.time < *filter.from_ns && row.end() <= *filter.from_ns) continue;
    ++slices;
    for (int64_t at = std::max(row.slice.time, filter.from_ns.value_or(0));
         at < std::min(row.end(), filter.to_ns.value_or(kTimes)); ++at) {
      busy[static_cast<size_t>(at)] = true;
    }
  }
  return busy;
}

int64_t CountOf(const std::vector<bool>& busy) {
  return std::count(busy.begin(), busy.end(), true);
}

bool IsOf(const BusyGroup& group, const TrackRow& track) {
  if (group.track) return track.id == *group.track;
  if (!group.track_kind.empty()) return track.kind == group.track_kind;
  return !group.device || track.device == group.device;
}

std::vector<Interval> GapsOf(const std::vector<bool>& busy) {
  std::vector<Interval> gaps;
  const auto first = std::find(busy.begin(), busy.end(), true) - busy.begin();
  for (int64_t at = first, last = first; at < static_cast<int64_t>(busy.size()); ++at) {
    if (!busy[static_cast<size_t>(at)]) continue;
    if (at > last + 1) gaps.push_back({last + 1, at});
    last = at;
  }
  return gaps;
}

TEST(BusyTime, IsWhatCountingNanosecondsMakes) {
  SampleTrace trace;
  trace.Add(RandomSlices(600, 1), 50, 1, 5);
  trace.Add(RandomSlices(600, 2), 50, 3);
  trace.Add({}, 50);
  for (const BusyBy by : {BusyBy::kTrack, BusyBy::kTrackKind, BusyBy::kAll}) {
    for (int turn = 0; turn < 3; ++turn) {
      BusyRequest request{.by = by, .most_gaps = 1'000};
      if (turn > 0) request.filter.categories = {"kernel"};
      if (turn > 1) request.filter.from_ns = 20'000;
      if (turn > 1) request.filter.to_ns = 61'234;
      const std::vector<BusyTime> times = *FindBusyTimes(trace.parts(), request, {});
      ASSERT_FALSE(times.empty());
      for (const BusyTime& time : times) {
        PartReader& reader = *trace.part(time.group.part).reader;
        int64_t slices = 0;
        const auto on = [&](const TrackRow& track) { return IsOf(time.group, track); };
        const std::vector<bool> busy = Plain(reader, request.filter, on, slices);
        EXPECT_EQ(time.slices, slices);
        ASSERT_EQ(time.busy_ns, CountOf(busy));
        const std::vector<Interval> gaps = GapsOf(busy);
        EXPECT_EQ(time.gaps, static_cast<int64_t>(gaps.size()));
        EXPECT_EQ(time.longest_gaps, gaps);
        EXPECT_EQ(time.group.rank, trace.part(time.group.part).rank);
      }
    }
  }
}

TEST(BusyTime, OfTheGapsTheLongestAreKept) {
  SampleTrace trace;
  trace.Add(RandomSlices(300, 1), 50);
  BusyRequest request{.by = BusyBy::kTrack, .most_gaps = 1'000};
  const BusyTime all = FindBusyTimes(trace.parts(), request, {})->front();
  request.most_gaps = 3;
  const BusyTime few = FindBusyTimes(trace.parts(), request, {})->front();
  std::vector<int64_t> lengths;
  for (const Interval& gap : all.longest_gaps) lengths.push_back(gap.end_ns - gap.begin_ns);
  std::sort(lengths.rbegin(), lengths.rend());
  ASSERT_EQ(few.longest_gaps.size(), 3u);
  std::vector<int64_t> kept;
  for (const Interval& gap : few.longest_gaps) kept.push_back(gap.end_ns - gap.begin_ns);
  std::sort(kept.rbegin(), kept.rend());
  lengths.resize(3);
  EXPECT_EQ(kept, lengths);
  EXPECT_EQ(few.gaps, all.gaps);
}

TEST(OverlapTime, IsWhatBothFill) {
  SampleTrace trace;
  trace.Add(RandomSlices(600, 1), 50);
  trace.Add(RandomSlices(600, 2), 50, 3);
  for (const BusyBy by : {BusyBy::kTrack, BusyBy::kDevice, BusyBy::kAll}) {
    OverlapRequest request{.by = by};
    request.one.categories = {"kernel"};
    request.other.categories = {"memcpy"};
    request.other.from_ns = 10'000;
    const std::vector<OverlapTime> times = *FindOverlaps(trace.parts(), request, {});
    ASSERT_FALSE(times.empty());
    for (const OverlapTime& time : times) {
      PartReader& reader = *trace.part(time.group.part).reader;
      int64_t slices = 0;
      const auto on = [&](const TrackRow& track) {
        return by == BusyBy::kDevice ? track.device == time.group.device : IsOf(time.group, track);
      };
      const std::vector<bool> one = Plain(reader, request.one, on, slices);
      const std::vector<bool> other = Plain(reader, request.other, on, slices);
      int64_t both = 0;
      for (size_t at = 0; at < one.size(); ++at) both += one[at] && other[at];
      EXPECT_EQ(time.one_ns, CountOf(one));
      EXPECT_EQ(time.other_ns, CountOf(other));
      EXPECT_EQ(time.both_ns, both);
    }
  }
}

}  // namespace
}  // namespace kprof
