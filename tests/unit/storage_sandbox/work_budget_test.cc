#include "storage/sandbox/work_budget.h"

#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <memory>
#include <thread>

namespace kprof {
namespace {

TEST(WorkBudget, IsSpentAtItsLimit) {
  WorkBudget budget(0, {});
  EXPECT_TRUE(budget.IsSpent());
  EXPECT_EQ(budget.verdict(), WorkBudget::Verdict::kTimedOut);
}

TEST(WorkBudget, LastsForAnyLimit) {
  WorkBudget budget(std::numeric_limits<int64_t>::max(), {});
  WorkBudget::Shift shift(budget);
  EXPECT_FALSE(budget.IsSpent());
  WorkBudget none(std::numeric_limits<int64_t>::min(), {});
  EXPECT_TRUE(none.IsSpent());
}

TEST(WorkBudget, EndsWithTheStopToken) {
  const auto stop = std::make_unique<std::stop_source>();  // on the stack, g++ 12 -Og thinks it uninitialized
  WorkBudget budget(60'000, stop->get_token());
  EXPECT_FALSE(budget.IsSpent());
  stop->request_stop();
  EXPECT_TRUE(budget.IsSpent());
  EXPECT_EQ(budget.verdict(), WorkBudget::Verdict::kCancelled);
}

TEST(WorkBudget, CountsNothingBetweenShifts) {
  WorkBudget budget(60'000, {});
  EXPECT_EQ(budget.elapsed_ms(), 0);
  { WorkBudget::Shift shift(budget); }
  const double after = budget.elapsed_ms();
  EXPECT_GT(after, 0);
  EXPECT_EQ(budget.elapsed_ms(), after);
}

TEST(WorkBudget, AsksOnceWhetherItMayTakeLong) {
  int asked = 0;
  WorkBudget budget(60'000, {}, {0, [&] { return ++asked == 1; }});
  EXPECT_FALSE(budget.IsSpent());
  EXPECT_FALSE(budget.IsSpent());
  EXPECT_EQ(asked, 1);
}

TEST(WorkBudget, EndsLongWorkThatMayNotGoOn) {
  WorkBudget later(60'000, {}, {30'000, [] { return false; }});
  EXPECT_FALSE(later.IsSpent());
  WorkBudget now(60'000, {}, {0, [] { return false; }});
  EXPECT_TRUE(now.IsSpent());
  EXPECT_EQ(now.verdict(), WorkBudget::Verdict::kCrowded);
}

// As on a machine under load: no work for others' sake becomes long.
TEST(WorkBudget, TimeWithoutAProcessorMakesNoLongWork) {
  WorkBudget budget(600'000, {}, {100, [] { return false; }});
  WorkBudget::Shift shift(budget);
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  EXPECT_FALSE(budget.IsSpent());
  while (!budget.IsSpent()) {
  }
  EXPECT_EQ(budget.verdict(), WorkBudget::Verdict::kCrowded);
}

TEST(WorkBudget, ProcessorTimeCountsInAllShifts) {
  WorkBudget budget(600'000, {}, {20, [] { return false; }});
  for (int shifts = 0; !budget.IsSpent(); ++shifts) {
    WorkBudget::Shift shift(budget);
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
    while (std::chrono::steady_clock::now() < end) {
    }
    ASSERT_LT(shifts, 100'000);
  }
  EXPECT_EQ(budget.verdict(), WorkBudget::Verdict::kCrowded);
}

TEST(WorkBudget, WhatKeepsItsThreadForVeryLongIsLongAllTheSame) {
  WorkBudget budget(600'000, {}, {2, [] { return false; }});
  WorkBudget::Shift shift(budget);
  std::this_thread::sleep_for(std::chrono::milliseconds(45));
  EXPECT_TRUE(budget.IsSpent());
}

}  // namespace
}  // namespace kprof
