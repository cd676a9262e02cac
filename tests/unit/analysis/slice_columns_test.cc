#include "daemon/analysis/operators/slice_columns.h"

#include <gtest/gtest.h>

#include "tests/unit/analysis/sample_trace.h"

namespace kprof {
namespace {

RowSelection EachThirdRow(const Segment& segment) {
  RowSelection selection;
  for (uint32_t row = 0; row < segment.rows; row += 3) selection.rows.push_back(row);
  return selection;
}

TEST(SliceColumnsTest, HaveTheSelectedRowsInTheirOrder) {
  SampleTrace trace;
  PartReader& reader = trace.Add(RandomSlices(2'000, 1), 500);
  const std::vector<SampleRow> rows = RowsOf(reader);
  SliceColumns slices(reader);
  for (const Segment& segment : reader.segments(EventKind::kSlice)) {
    for (const RowSelection& selection : {RowSelection{.all = true, .rows = {}}, EachThirdRow(segment)}) {
      ASSERT_TRUE(slices.ReadWithCorrelations(segment, selection).ok());
      ASSERT_EQ(slices.size(), selection.all ? segment.rows : selection.rows.size());
      for (size_t i = 0; i < slices.size(); ++i) {
        const SampleRow& row = rows[static_cast<size_t>(segment.first_row + selection.RowAt(i))];
        ASSERT_EQ(slices.begin_ns(i), row.slice.time);
        ASSERT_EQ(slices.end_ns(i), row.end());
        ASSERT_EQ(slices.has_end(i), row.has_end());
        ASSERT_EQ(*reader.ReadString(slices.name(i)), row.slice.name);
        ASSERT_EQ(slices.track(i), row.slice.track);
        ASSERT_EQ(slices.correlation(i), row.slice.correlation);
      }
    }
  }
}

TEST(SliceColumnsTest, HaveNoCorrelationsWhereTheSegmentHasNone) {
  SampleTrace trace;
  PartReader& reader = trace.Add({{.time = 5, .duration = 2, .track = 1, .name = "a", .category = "b"}}, 10);
  SliceColumns slices(reader);
  ASSERT_TRUE(slices.ReadWithCorrelations(reader.segments(EventKind::kSlice)[0], {.all = true, .rows = {}}).ok());
  ASSERT_EQ(slices.size(), 1);
  EXPECT_EQ(slices.correlation(0), kNoValue);
}

TEST(SliceColumnsTest, FailWhenATrackIsNotThere) {
  SampleTrace trace;
  PartReader& reader = trace.Add({{.time = 5, .duration = 2, .track = 6, .name = "a", .category = "b"}}, 10);
  SliceColumns slices(reader);
  const Status read = slices.Read(reader.segments(EventKind::kSlice)[0], {.all = true, .rows = {}});
  EXPECT_EQ(read.code(), ErrorCode::kStorageBroken) << read.ToString();
}

TEST(SliceColumnsTest, OfAFilterAreKeptAndSortedByTrack) {
  SampleTrace trace;
  PartReader& reader = trace.Add(RandomSlices(2'000, 3), 500);
  EventFilter filter;
  filter.categories = {"kernel"};
  MemoryCharge charge(nullptr);
  std::vector<PartSlice> slices;
  ASSERT_TRUE(ReadSlices(trace.part(0), filter, {}, charge, slices).ok());
  EXPECT_EQ(charge.used_bytes(), static_cast<int64_t>(slices.size() * sizeof(PartSlice)));
  std::vector<SampleRow> rows = RowsOf(reader);
  std::erase_if(rows, [](const SampleRow& row) { return row.slice.category != "kernel"; });
  ASSERT_EQ(slices.size(), rows.size());
  for (size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(slices[i].begin_ns, rows[i].slice.time);
  SortByTrack(slices);
  for (size_t i = 1; i < slices.size(); ++i) {
    const PartSlice& before = slices[i - 1];
    EXPECT_LE(std::tuple(before.track, before.begin_ns, -before.end_ns),
              std::tuple(slices[i].track, slices[i].begin_ns, -slices[i].end_ns));
  }
}

}  // namespace
}  // namespace kprof
