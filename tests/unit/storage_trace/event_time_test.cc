#include "storage/trace/event_time.h"

#include <gtest/gtest.h>

#include "storage/trace/event_kind.h"

namespace kprof {
namespace {

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

TEST(EventTime, AnEventEndsAfterItsDuration) {
  EXPECT_EQ(EndOf(5, 7), 12);
  EXPECT_EQ(EndOf(-5, 0), -5);
}

TEST(EventTime, WhatHasNoEndEndsWhereItBegins) {
  EXPECT_EQ(EndOf(5, kNoValue), 5);
  EXPECT_EQ(EndOf(5, -1), 5);
}

TEST(EventTime, NoEndIsBeyondTheLastNumber) {
  EXPECT_EQ(EndOf(kMost, kMost), kMost);
  EXPECT_EQ(EndOf(kMost - 3, 3), kMost);
  EXPECT_EQ(EndOf(kLeast, kMost), -1);
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
