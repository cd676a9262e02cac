#include "daemon/analysis/slice_tree.h"

#include <gtest/gtest.h>

#include "tests/unit/analysis/sample_trace.h"

namespace kprof {
namespace {

// As docs/trace_format.md defines it.
std::map<int64_t, int64_t> PlainParents(PartReader& reader) {
  std::map<int64_t, int64_t> parents;
  for (int64_t track = 0; track < 6; ++track) {
    const std::vector<SampleRow> rows = InOrder(RowsOf(reader), track);
    for (size_t i = 0; i < rows.size(); ++i) {
      for (size_t before = i; before-- > 0;) {
        if (rows[before].depth != rows[i].depth - 1) continue;
        parents[rows[i].row] = rows[before].row;
        break;
      }
    }
  }
  return parents;
}

class SliceTreeOfBatches : public testing::TestWithParam<size_t> {
 protected:
  SliceTreeOfBatches() : reader_(trace_.Add(RandomSlices(2'000, 5), 100, GetParam())) {}
  SampleTrace trace_;
  PartReader& reader_;
};

TEST_P(SliceTreeOfBatches, ParentsAreThoseOfTheFormat) {
  const std::map<int64_t, int64_t> parents = PlainParents(reader_);
  EXPECT_GT(parents.size(), 100u);
  SliceTree tree(reader_);
  for (const int64_t row : {1'500, 3, 1'999, 0, 700}) {
    const auto parent = parents.find(row);
    EXPECT_EQ(*tree.FindParent(row, {}),
              parent == parents.end() ? std::optional<int64_t>() : std::optional(parent->second));
  }
  for (int64_t row = 0; row < 2'000; ++row) {
    const auto parent = parents.find(row);
    ASSERT_EQ(*tree.FindParent(row, {}),
              parent == parents.end() ? std::optional<int64_t>() : std::optional(parent->second));
  }
}

TEST_P(SliceTreeOfBatches, ChildrenAreThoseWhoseParentItIs) {
  std::map<int64_t, std::vector<int64_t>> children;
  for (const auto& [row, parent] : PlainParents(reader_)) children[parent].push_back(row);
  SliceTree tree(reader_);
  for (int64_t row = 0; row < 2'000; ++row) ASSERT_EQ(*tree.FindChildren(row, 10'000, {}), children[row]) << row;
}

TEST_P(SliceTreeOfBatches, WhatGoesOnIsTheLastToBeginOfThoseThatHoldTheTime) {
  SliceTree tree(reader_);
  for (int64_t track = 0; track < 6; ++track) {
    const std::vector<SampleRow> rows = InOrder(RowsOf(reader_), track);
    for (int64_t time = -100; time < 130'000; time += 487) {
      std::optional<int64_t> holds;
      std::optional<int64_t> next;
      for (const SampleRow& row : rows) {
        if (row.has_end() && row.slice.time <= time && row.end() >= time) holds = row.row;
        if (row.slice.time >= time && !next) next = row.row;
      }
      ASSERT_EQ(*tree.FindAt(static_cast<uint32_t>(track), time, {}), holds) << track << " " << time;
      ASSERT_EQ(*tree.FindNext(static_cast<uint32_t>(track), time, {}), next) << track << " " << time;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Batches, SliceTreeOfBatches, testing::Values(1, 4));

TEST(SliceTree, ARowThatIsNoneIsNotFound) {
  SampleTrace trace;
  SliceTree tree(trace.Add(RandomSlices(10, 5), 100));
  EXPECT_EQ(tree.FindParent(10, {}).status().code(), ErrorCode::kNotFound);
  EXPECT_EQ(tree.FindParent(-1, {}).status().code(), ErrorCode::kNotFound);
  EXPECT_EQ(tree.FindChildren(INT64_MAX, 1, {}).status().code(), ErrorCode::kNotFound);
  SliceTree empty(trace.Add({}, 100));
  EXPECT_EQ(empty.FindParent(0, {}).status().code(), ErrorCode::kNotFound);
  EXPECT_EQ(*empty.FindAt(0, 5, {}), std::nullopt);
}

}  // namespace
}  // namespace kprof
