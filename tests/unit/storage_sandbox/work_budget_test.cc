#include "storage/sandbox/work_budget.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>

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

}  // namespace
}  // namespace kprof
