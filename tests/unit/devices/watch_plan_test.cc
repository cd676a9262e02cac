#include "daemon/devices/nvidia/nvidia_worker.h"

#include <gtest/gtest.h>

namespace kprof {
namespace {

constexpr int64_t kMs = 1'000'000;

TEST(WatchPlan, IsDueAtOnceAndThenInItsRhythm) {
  WatchPlan plan(4);
  EXPECT_FALSE(plan.IsDue(1000 * kMs));
  plan.Begin(100 * kMs);
  EXPECT_TRUE(plan.IsDue(1000 * kMs));
  plan.Asked(1000 * kMs, 1001 * kMs);
  EXPECT_EQ(plan.due_ns(), 1100 * kMs);
  plan.Asked(1103 * kMs, 1104 * kMs);  // a little late: the rhythm stays
  EXPECT_EQ(plan.due_ns(), 1200 * kMs);
}

TEST(WatchPlan, SlowAnswersAreAskedForLessOften) {
  WatchPlan plan(4);
  plan.Begin(100 * kMs);
  plan.Asked(1000 * kMs, 1150 * kMs);
  EXPECT_EQ(plan.due_ns(), 1600 * kMs);  // a quarter of the time at most
}

TEST(WatchPlan, DoesNotMakeUpForWhatItMissed) {
  WatchPlan plan(4);
  plan.Begin(100 * kMs);
  plan.Asked(1000 * kMs, 1001 * kMs);
  plan.Asked(9000 * kMs, 9001 * kMs);
  EXPECT_GE(plan.due_ns(), 9001 * kMs);
  plan.Asked(plan.due_ns(), plan.due_ns() + kMs);
  EXPECT_GE(plan.due_ns(), 9100 * kMs);
}

TEST(WatchPlan, EndsWhenItIsToldTo) {
  WatchPlan plan(4);
  plan.Begin(100 * kMs);
  plan.Begin(0);
  EXPECT_FALSE(plan.active());
  EXPECT_FALSE(plan.IsDue(1 << 30));
}

}  // namespace
}  // namespace kprof
