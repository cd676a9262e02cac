#include "storage/trace/write/slice_nesting.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <tuple>

#include "storage/trace/format/trace_model.h"

namespace kprof {
namespace {

struct NestedSlice {
  int64_t track = 0;
  int64_t time = 0;
  int64_t duration = 0;
};

std::vector<int64_t> NestingDepths(const std::vector<NestedSlice>& slices) {
  SliceNesting nesting;
  std::vector<int64_t> depths;
  for (const NestedSlice& slice : slices) depths.push_back(nesting.Add(slice.time, slice.duration, slice.track));
  return depths;
}

using Expected = std::vector<int64_t>;

TEST(SliceNesting, CountsWhatHoldsASliceWhole) {
  EXPECT_EQ(NestingDepths({{1, 0, 100}, {1, 0, 50}, {1, 10, 20}, {1, 30, 20}, {1, 60, 10}, {1, 100, 5}}),
            (Expected{0, 1, 2, 2, 1, 0}));
}

TEST(SliceNesting, TracksKnowNothingOfEachOther) {
  EXPECT_EQ(NestingDepths({{1, 0, 100}, {2, 10, 10}, {1, 20, 10}}), (Expected{0, 0, 1}));
}

TEST(SliceNesting, WhatCrossesStandsBeside) {
  // a holds all; c crosses the end of b, and d is in both.
  EXPECT_EQ(NestingDepths({{1, 0, 100}, {1, 10, 40}, {1, 30, 40}, {1, 35, 5}, {1, 55, 5}, {1, 80, 5}}),
            (Expected{0, 1, 1, 2, 2, 1}));
}

TEST(SliceNesting, WhatBeginsWhereAnotherEndsIsNotInIt) {
  EXPECT_EQ(NestingDepths({{1, 0, 10}, {1, 10, 0}, {1, 10, 10}}), (Expected{0, 0, 0}));
  EXPECT_EQ(NestingDepths({{1, 5, 0}, {1, 5, 0}}), (Expected{0, 0}));
}

TEST(SliceNesting, WhatHasNoEndHoldsNothing) {
  EXPECT_EQ(NestingDepths({{1, 0, 100}, {1, 10, kNoValue}, {1, 20, 10}}), (Expected{0, 1, 1}));
}

// Of slices that begin at different times: the depth is one more than that of the last one begun that holds it.
TEST(SliceNesting, IsThatOfAPlainSearchHoweverTheyCross) {
  std::mt19937_64 random(12);
  for (int round = 0; round < 200; ++round) {
    std::vector<NestedSlice> slices;
    for (int i = 0; i < 60; ++i) {
      slices.push_back({static_cast<int64_t>(random() % 2), i * 5 + static_cast<int64_t>(random() % 5),
                        static_cast<int64_t>(1 + random() % 80)});
    }
    std::sort(slices.begin(), slices.end(), [](const NestedSlice& a, const NestedSlice& b) {
      return std::tuple(a.time, a.track) < std::tuple(b.time, b.track);
    });
    Expected depths;
    Expected parents;
    for (size_t i = 0; i < slices.size(); ++i) {
      int64_t parent = -1;
      for (size_t j = 0; j < i; ++j) {
        const NestedSlice& holder = slices[j];
        const bool holds = holder.track == slices[i].track && holder.time + holder.duration > slices[i].time &&
                           holder.time + holder.duration >= slices[i].time + slices[i].duration;
        if (holds) parent = static_cast<int64_t>(j);
      }
      parents.push_back(parent);
      depths.push_back(parent < 0 ? 0 : depths[static_cast<size_t>(parent)] + 1);
    }
    ASSERT_EQ(NestingDepths(slices), depths);
    // And the parent is found by depth and order alone.
    for (size_t i = 0; i < slices.size(); ++i) {
      int64_t found = -1;
      for (size_t j = 0; j < i; ++j) {
        if (slices[j].track == slices[i].track && depths[j] == depths[i] - 1) found = static_cast<int64_t>(j);
      }
      ASSERT_EQ(found, parents[i]) << "round " << round << ", slice " << i;
    }
  }
}

// Memory.

TEST(SliceNesting, WhatEndedOnManyTracksIsForgotten) {
  SliceNesting nesting(1'000);
  for (int64_t i = 0; i < 100'000; ++i) {
    EXPECT_EQ(nesting.Add(i * 10, 100, i), 0);
    EXPECT_LE(nesting.open(), 1'600u);
  }
  EXPECT_EQ(nesting.crowded(), 0);
}

TEST(SliceNesting, MoreThanMayBeOpenHoldNothingAndAreCounted) {
  SliceNesting nesting(1'000);
  for (int64_t i = 0; i < 10'000; ++i) {
    EXPECT_EQ(nesting.Add(i, 100'000 - 2 * i, 1), std::min<int64_t>(i, 1'999));
    EXPECT_LE(nesting.open(), 2'000u);
  }
  EXPECT_EQ(nesting.crowded(), 10'000 - 1'999);
  EXPECT_EQ(nesting.Add(200'000, 5, 1), 0);  // there is room again
  EXPECT_EQ(nesting.Add(200'001, 2, 1), 1);
  EXPECT_EQ(nesting.crowded(), 10'000 - 1'999);
}

TEST(SliceNesting, AllThatAreOfTheGreatestDepthAreCounted) {
  SliceNesting nesting;
  for (int64_t i = 0; i < kMostDepth + 10; ++i) nesting.Add(7, 100, 1);
  EXPECT_EQ(nesting.Add(7, 0, 1), kMostDepth);
  EXPECT_EQ(nesting.Add(8, kNoValue, 1), kMostDepth);
  EXPECT_EQ(nesting.crowded(), 12);
}

TEST(SliceNesting, ForgettingChangesNothingInTheOrderOfTime) {
  std::mt19937_64 random(3);
  SliceNesting few(90);
  SliceNesting all;
  for (int64_t i = 0; i < 50'000; ++i) {
    const auto duration = static_cast<int64_t>(random() % 40);
    const auto track = static_cast<int64_t>(random() % 2'000);
    ASSERT_EQ(few.Add(i, duration, track), all.Add(i, duration, track)) << i;
  }
  EXPECT_EQ(few.crowded(), 0);
}

}  // namespace
}  // namespace kprof
