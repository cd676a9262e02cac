#include "storage/trace/levels/slice_totals.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <random>
#include <tuple>

#include "storage/trace/format/column_codec.h"

namespace kprof {
namespace {

struct TotalSlice {
  int64_t time = 0;
  int64_t duration = 0;
  int64_t track = 0;
  int64_t name = 0;
  int64_t category = 0;
};
using TotalSlices = std::vector<TotalSlice>;
// Count, ended, sum, least, most by track, name, category; and by the first row of the stretch.
using Totals = std::map<std::tuple<int64_t, int64_t, int64_t>, std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t>>;
using Stretches = std::map<int64_t, Totals>;

EventRows RowsOf(const TotalSlices& slices) {
  EventRows rows;
  for (const TotalSlice& slice : slices) {
    rows.of(EventColumn::kTime).push_back(slice.time);
    rows.of(EventColumn::kDuration).push_back(slice.duration);
    rows.of(EventColumn::kTrack).push_back(slice.track);
    rows.of(EventColumn::kName).push_back(slice.name);
    rows.of(EventColumn::kCategory).push_back(slice.category);
  }
  return rows;
}

std::vector<int64_t> DecodedTotals(const EncodedSegment& segment, EventColumn column) {
  for (const EncodedSegment::Column& found : segment.columns) {
    if (found.column != static_cast<uint32_t>(column)) continue;
    std::vector<int64_t> values(found.rows);
    EXPECT_TRUE(DecodeColumn(found.encoded.codec, found.encoded.bytes, values).ok());
    return values;
  }
  ADD_FAILURE() << "no column " << static_cast<int>(column);
  return {};
}

Stretches Made(const std::vector<TotalSlices>& batches, const SliceTotalsLimits& limits) {
  Stretches stretches;
  SliceTotals totals(
      [&](const EncodedSegment& segment) {
        EXPECT_EQ(segment.kind, EventKind::kTotal);
        EXPECT_EQ(segment.columns.size(), ColumnsOf(EventKind::kTotal).size());
        using enum EventColumn;
        const auto of = [&](EventColumn column) { return DecodedTotals(segment, column); };
        for (size_t i = 0; i < segment.rows; ++i) {
          EXPECT_EQ(of(kTime)[i], segment.min_time_ns);
          const bool is_new =
              stretches[of(kSlice)[i]]
                  .emplace(std::tuple(of(kTrack)[i], of(kName)[i], of(kCategory)[i]),
                           std::tuple(of(kCount)[i], of(kEnded)[i], of(kBusy)[i], of(kLeast)[i], of(kMost)[i]))
                  .second;
          EXPECT_TRUE(is_new);
        }
        return OkStatus();
      },
      limits);
  for (const TotalSlices& batch : batches) EXPECT_TRUE(totals.Add(RowsOf(batch)).ok());
  EXPECT_TRUE(totals.Finish().ok());
  return stretches;
}

TEST(SliceTotals, AreThoseOfEachTrackNameAndCategory) {
  const SliceTotalsLimits limits{.least_shrinking = 1};
  EXPECT_EQ(
      Made({{{5, 10, 1, 2, 3}, {6, 4, 1, 2, 3}, {9, kNoValue, 1, 2, 3}, {9, 7, 2, 2, 3}, {9, kNoValue, 1, 4, 3}}},
           limits),
      (Stretches{{0, {{{1, 2, 3}, {3, 2, 14, 4, 10}}, {{2, 2, 3}, {1, 1, 7, 7, 7}}, {{1, 4, 3}, {1, 0, 0, 0, 0}}}}}));
}

TEST(SliceTotals, AStretchEndsWithTheSegmentsThatFillIt) {
  const SliceTotalsLimits limits{.stretch_rows = 3, .least_shrinking = 1};
  const TotalSlice slice{0, 1, 0, 0, 0};
  const Totals two{{{0, 0, 0}, {2, 2, 2, 1, 1}}};
  EXPECT_EQ(Made({{slice, slice}, {slice, slice}, {slice, slice}}, limits),
            (Stretches{{0, {{{0, 0, 0}, {4, 4, 4, 1, 1}}}}, {4, two}}));
  EXPECT_TRUE(Made({}, limits).empty());
}

TEST(SliceTotals, SumsEndWithTheLastNumberThereIs) {
  const int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(Made({{{0, most, 0, 0, 0}, {0, most, 0, 0, 0}}}, {.least_shrinking = 1}),
            (Stretches{{0, {{{0, 0, 0}, {2, 2, most, most, most}}}}}));
}

TEST(SliceTotals, WhereTooMuchDiffersThereAreNone) {
  TotalSlices different;
  for (int64_t i = 0; i < 100; ++i) different.push_back({i, 1, 0, i, 0});
  const TotalSlices alike(100, {0, 1, 0, 0, 0});
  // As many as slices; more than there may be; and the next stretch has some all the same.
  EXPECT_TRUE(Made({different}, {.least_shrinking = 2}).empty());
  EXPECT_EQ(Made({different, alike}, {.stretch_rows = 100, .most_groups = 99, .least_shrinking = 1}),
            (Stretches{{100, {{{0, 0, 0}, {100, 100, 100, 1, 1}}}}}));
}

TEST(SliceTotals, AreThoseOfAPlainSum) {
  std::mt19937_64 random(4);
  TotalSlices slices;
  Totals expected;
  for (int i = 0; i < 20'000; ++i) {
    const auto below = [&](int64_t end) { return static_cast<int64_t>(random() % static_cast<uint64_t>(end)); };
    const TotalSlice slice{below(1'000), below(9) == 0 ? kNoValue : below(500), below(7), below(600) << 20, below(3)};
    slices.push_back(slice);
    auto& [count, ended, sum, least, most] = expected[{slice.track, slice.name, slice.category}];
    ++count;
    if (slice.duration < 0) continue;
    least = ended++ == 0 ? slice.duration : std::min(least, slice.duration);
    most = std::max(most, slice.duration);
    sum += slice.duration;
  }
  EXPECT_EQ(Made({slices}, {.least_shrinking = 1}), (Stretches{{0, expected}}));
}

}  // namespace
}  // namespace kprof
