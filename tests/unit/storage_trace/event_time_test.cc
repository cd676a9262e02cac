#include "storage/trace/format/event_time.h"

#include <gtest/gtest.h>

#include "storage/trace/format/trace_model.h"

namespace kprof {
namespace {

constexpr int64_t kLeastTime = std::numeric_limits<int64_t>::min();
constexpr int64_t kMostTime = std::numeric_limits<int64_t>::max();

TEST(EventTime, AnEventEndsAfterItsDuration) {
  EXPECT_EQ(EndOf(5, 7), 12);
  EXPECT_EQ(EndOf(-5, 0), -5);
}

TEST(EventTime, WhatHasNoEndEndsWhereItBegins) {
  EXPECT_EQ(EndOf(5, kNoValue), 5);
  EXPECT_EQ(EndOf(5, -1), 5);
}

TEST(EventTime, NoEndIsBeyondTheLastNumber) {
  EXPECT_EQ(EndOf(kMostTime, kMostTime), kMostTime);
  EXPECT_EQ(EndOf(kMostTime - 3, 3), kMostTime);
  EXPECT_EQ(EndOf(kLeastTime, kMostTime), -1);
}

TEST(EventTime, TimesLieBetweenTheirBounds) {
  EXPECT_TRUE(IsEventTime(kMostTimeNs - 1));
  EXPECT_TRUE(IsEventTime(1 - kMostTimeNs));
  EXPECT_FALSE(IsEventTime(kMostTimeNs));
  EXPECT_FALSE(IsEventTime(-kMostTimeNs));
  EXPECT_FALSE(IsEventTime(kNoValue));
}

}  // namespace
}  // namespace kprof
