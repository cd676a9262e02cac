#include "storage/trace/read/column_cache.h"

#include <gtest/gtest.h>

#include <chrono>

namespace kprof {
namespace {

DecodedColumn ColumnOf(size_t rows, int64_t value = 0) {
  return std::make_shared<const std::vector<int64_t>>(rows, value);
}

// Room for three columns of 1,000 rows with what they cost beside.
constexpr int64_t kThree = 3 * (8000 + 500);

TEST(ColumnCache, GivesBackWhatWasPut) {
  ColumnCache cache(kThree);
  const DecodedColumn column = ColumnOf(1000, 7);
  cache.Put({1, 5}, column);
  EXPECT_EQ(cache.Find({1, 5}), column);
}

TEST(ColumnCache, KnowsNothingOfAnotherPartOrColumn) {
  ColumnCache cache(kThree);
  cache.Put({1, 5}, ColumnOf(1000));
  EXPECT_EQ(cache.Find({2, 5}), nullptr);
  EXPECT_EQ(cache.Find({1, 6}), nullptr);
}

TEST(ColumnCache, APartHasTheSameNumberEachTimeAndAnotherOneAnother) {
  ColumnCache cache(kThree);
  const uint64_t number = cache.NumberOf("a");
  EXPECT_NE(cache.NumberOf("b"), number);
  EXPECT_EQ(cache.NumberOf("a"), number);
}

TEST(ColumnCache, WhatWasNotAskedForTheLongestGoesFirst) {
  ColumnCache cache(kThree);
  for (const int64_t column : {1, 2, 3}) cache.Put({1, column}, ColumnOf(1000));
  EXPECT_NE(cache.Find({1, 1}), nullptr);
  cache.Put({1, 4}, ColumnOf(1000));
  EXPECT_EQ(cache.Find({1, 2}), nullptr);
  for (const int64_t column : {1, 3, 4}) EXPECT_NE(cache.Find({1, column}), nullptr) << column;
}

TEST(ColumnCache, StaysWithinItsBudget) {
  ColumnCache cache(kThree);
  for (int64_t column = 0; column < 100; ++column) {
    cache.Put({1, column}, ColumnOf(1000));
    ASSERT_LE(cache.size_bytes(), kThree);
  }
  EXPECT_GT(cache.size_bytes(), kThree / 2);
}

TEST(ColumnCache, CountsAColumnThatIsPutTwiceOnce) {
  ColumnCache cache(kThree);
  cache.Put({1, 5}, ColumnOf(1000));
  const int64_t size_bytes = cache.size_bytes();
  cache.Put({1, 5}, ColumnOf(1000));
  EXPECT_EQ(cache.size_bytes(), size_bytes);
}

TEST(ColumnCache, OneLargerThanTheBudgetDrivesOutNone) {
  ColumnCache cache(kThree);
  cache.Put({1, 5}, ColumnOf(1000));
  cache.Put({1, 6}, ColumnOf(10'000));
  EXPECT_EQ(cache.Find({1, 6}), nullptr);
  EXPECT_NE(cache.Find({1, 5}), nullptr);
}

TEST(ColumnCache, WhatSomebodyHoldsLivesOn) {
  ColumnCache cache(kThree);
  cache.Put({1, 5}, ColumnOf(1000, 7));
  const DecodedColumn held = cache.Find({1, 5});
  for (int64_t column = 6; column < 10; ++column) cache.Put({1, column}, ColumnOf(1000));
  EXPECT_EQ(cache.Find({1, 5}), nullptr);
  EXPECT_EQ(held->back(), 7);
}

TEST(ColumnCache, DropsWhatNobodyAsksForAnyMore) {
  ColumnCache cache(kThree);
  for (const int64_t column : {1, 2, 3}) cache.Put({1, column}, ColumnOf(1000));
  EXPECT_EQ(cache.DropOld(ColumnCache::Clock::now() - std::chrono::hours(1)), 0);
  const auto since = ColumnCache::Clock::now();
  EXPECT_NE(cache.Find({1, 2}), nullptr);
  EXPECT_GT(cache.DropOld(since), 2 * 8000);
  EXPECT_EQ(cache.Find({1, 1}), nullptr);
  EXPECT_NE(cache.Find({1, 2}), nullptr);
  EXPECT_EQ(cache.Find({1, 3}), nullptr);
  EXPECT_GT(cache.DropOld(ColumnCache::Clock::now() + std::chrono::hours(1)), 8000);
  EXPECT_EQ(cache.size_bytes(), 0);
}

TEST(ColumnCache, ForgetsAPartThatHasGone) {
  ColumnCache cache(kThree);
  const uint64_t a = cache.NumberOf("a");
  const uint64_t b = cache.NumberOf("b");
  cache.Put({a, 1}, ColumnOf(1000));
  cache.Put({b, 1}, ColumnOf(1000));
  EXPECT_GT(cache.DropPart("a"), 8000);
  EXPECT_EQ(cache.DropPart("a"), 0);
  EXPECT_EQ(cache.Find({a, 1}), nullptr);
  EXPECT_NE(cache.Find({b, 1}), nullptr);
  EXPECT_NE(cache.NumberOf("a"), a);
}

}  // namespace
}  // namespace kprof
