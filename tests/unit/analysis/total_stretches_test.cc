#include "daemon/analysis/operators/aggregate.h"

#include <gtest/gtest.h>

#include "storage/trace/levels/slice_totals.h"
#include "tests/unit/analysis/sample_trace.h"

namespace kprof {
namespace {

EventRows RowsOf(SamplePart& part, const std::vector<SampleSlice>& slices) {
  EventRows rows;
  for (const SampleSlice& slice : slices) {
    rows.of(EventColumn::kTime).push_back(slice.time);
    rows.of(EventColumn::kDuration).push_back(slice.duration);
    rows.of(EventColumn::kTrack).push_back(slice.track);
    rows.of(EventColumn::kName).push_back(part.StringNumber(slice.name));
    rows.of(EventColumn::kCategory).push_back(part.StringNumber(slice.category));
  }
  return rows;
}

// In batches of 700, each a stretch of time of its own, in segments of 100; with totals of 1,400 or so each.
PartReader& AddPart(SampleTrace& trace, const std::vector<SampleSlice>& slices, bool with_totals,
                    const std::function<void(EncodedSegment&)>& change = {}) {
  SamplePart part(trace.NewPath());
  AddSampleTracks(part);
  SliceTotals totals(
      [&](EncodedSegment segment) {
        if (change) change(segment);
        return part.writer().AddSegment(segment);
      },
      {.stretch_rows = 1'400, .least_shrinking = 1});
  for (size_t first = 0; first < slices.size(); first += 700) {
    const auto begin = slices.begin() + static_cast<ptrdiff_t>(first);
    const std::vector<SampleSlice> batch(begin,
                                         begin + static_cast<ptrdiff_t>(std::min<size_t>(700, slices.size() - first)));
    part.AddSlices(batch, 100);
    if (with_totals) {
      EXPECT_TRUE(totals.Add(RowsOf(part, batch)).ok());
    }
  }
  EXPECT_TRUE(totals.Finish().ok());
  return trace.Take(part);
}

std::vector<SampleSlice> SortedSlices(size_t count) {
  std::vector<SampleSlice> slices = RandomSlices(count, 8);
  std::sort(slices.begin(), slices.end(), [](const auto& a, const auto& b) { return a.time < b.time; });
  return slices;
}

using Answer = std::vector<std::tuple<GroupKey, int64_t, int64_t, int64_t, int64_t, int64_t>>;

Answer Ask(const TracePart& part, const AggregateRequest& request) {
  Answer answer;
  for (const Aggregate& one : *AggregateEvents(std::span(&part, 1), request, {})) {
    answer.emplace_back(one.key, one.count, one.ended, one.sum_ns, one.min_ns, one.max_ns);
  }
  return answer;
}

TEST(TotalStretches, AreThoseOfWholeSegmentsInTheirOrder) {
  SampleTrace trace;
  PartReader& reader = AddPart(trace, SortedSlices(5'000), true);
  const std::vector<SlicesWithTotals> stretches = *FindSlicesWithTotals(reader);
  ASSERT_EQ(stretches.size(), 4u);
  EXPECT_EQ(stretches[0].first, 0u);
  EXPECT_EQ(stretches[1].first, 14u);
  EXPECT_EQ(stretches[3].end, reader.segments(EventKind::kSlice).size());
  EXPECT_TRUE(FindSlicesWithTotals(AddPart(trace, SortedSlices(1'000), false))->empty());
}

TEST(TotalStretches, AnswersAreThoseOfTheSlices) {
  SampleTrace trace;
  const std::vector<SampleSlice> slices = SortedSlices(6'000);
  AddPart(trace, slices, true);
  AddPart(trace, slices, false);
  std::mt19937_64 random(9);
  const auto chance = [&] { return random() % 3 == 0; };
  const std::vector<GroupBy> keys[] = {{},
                                       {GroupBy::kName},
                                       {GroupBy::kCategory},
                                       {GroupBy::kTrack, GroupBy::kName},
                                       {GroupBy::kDevice},
                                       {GroupBy::kName, GroupBy::kCategory, GroupBy::kStream}};
  for (int round = 0; round < 300; ++round) {
    AggregateRequest request;
    request.by = keys[random() % std::size(keys)];
    request.durations = !chance();
    if (chance()) request.filter.from_ns = static_cast<int64_t>(random() % 120'000) - 10'000;
    if (chance()) request.filter.to_ns = static_cast<int64_t>(random() % 120'000);
    if (chance()) request.filter.categories = {"kernel", "rare"};
    if (chance()) request.filter.names = {"name 1*", "name 3"};
    if (chance()) request.filter.track_kinds = {"gpu_stream"};
    if (chance()) request.filter.tracks = {1, 2};
    if (round % 10 == 0) request.filter.least_duration_ns = 100;
    if (round % 7 == 0) request.percentiles = {50};
    EXPECT_EQ(Ask(trace.part(0), request), Ask(trace.part(1), request)) << "round " << round;
  }
}

// What a part says, it is taken for; that only its totals were asked is seen by their being others.
TEST(TotalStretches, AreAskedInPlaceOfTheirSlices) {
  SampleTrace trace;
  AddPart(trace, SortedSlices(1'400), true, [](EncodedSegment& segment) {
    for (EncodedSegment::Column& column : segment.columns) {
      if (column.column != static_cast<uint32_t>(EventColumn::kBusy)) continue;
      column.encoded = EncodeColumn(std::vector<int64_t>(segment.rows, 1'000'000'000));
    }
  });
  EXPECT_GE(AggregateEvents(trace.parts(), {}, {})->front().sum_ns, 1'000'000'000);
  AggregateRequest some;
  some.filter.from_ns = 50'000;
  EXPECT_LT(AggregateEvents(trace.parts(), some, {})->front().sum_ns, 1'000'000'000);
}

TEST(TotalStretches, ThatCannotBeAreRefused) {
  const auto set = [](EventColumn column, int64_t value) {
    return [column, value](EncodedSegment& segment) {
      for (EncodedSegment::Column& of : segment.columns) {
        if (of.column != static_cast<uint32_t>(column)) continue;
        of.encoded = EncodeColumn(std::vector<int64_t>(segment.rows, value));
      }
    };
  };
  const std::function<void(EncodedSegment&)> changes[] = {
      set(EventColumn::kSlice, 1),
      set(EventColumn::kSlice, -100),
      set(EventColumn::kSlice, INT64_MAX),
      set(EventColumn::kSlice, 0),
      set(EventColumn::kCount, 0),
      set(EventColumn::kCount, -1),
      set(EventColumn::kCount, 1),
      set(EventColumn::kCount, INT64_MAX),
      set(EventColumn::kEnded, -1),
      set(EventColumn::kEnded, 1'401),
      set(EventColumn::kBusy, -1),
      set(EventColumn::kLeast, -1),
      set(EventColumn::kMost, -1),
      set(EventColumn::kTrack, 99),
      set(EventColumn::kName, 9'999),
      [](EncodedSegment& segment) { --segment.min_time_ns; },
      [](EncodedSegment& segment) { ++segment.max_end_ns; },
  };
  for (const auto& change : changes) {
    SampleTrace trace;
    const PartReader& reader = AddPart(trace, SortedSlices(2'800), true, change);
    AggregateRequest request{.by = {GroupBy::kTrack, GroupBy::kName}};
    const Status status = AggregateEvents(trace.parts(), request, {}).status();
    EXPECT_EQ(status.code(), ErrorCode::kStorageBroken) << &change - changes << status.ToString();
    EXPECT_NE(status.ToString().find(reader.path()), std::string::npos) << status.ToString();
  }
}

}  // namespace
}  // namespace kprof
