#include "storage/trace/format/flow_rules.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace kprof {
namespace {

constexpr int64_t kLongAgo = std::numeric_limits<int64_t>::min();
constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

bool operator==(const TimeWindow& a, const TimeWindow& b) {
  return a.first_ns == b.first_ns && a.last_ns == b.last_ns;
}

std::vector<TimeWindow> Windows(const std::vector<TimeWindow>& groups) {
  return FlowWindowsOf(groups);
}

TEST(FlowWindows, AreAllOfTime) {
  EXPECT_TRUE(Windows({}).front() == (TimeWindow{kLongAgo, kNever}));
  const std::vector<TimeWindow> windows = Windows({{10, 20}, {30, 40}, {50, 60}});
  EXPECT_TRUE(windows[0] == (TimeWindow{kLongAgo, 29}));
  EXPECT_TRUE(windows[1] == (TimeWindow{30, 49}));
  EXPECT_TRUE(windows[2] == (TimeWindow{50, kNever}));
}

TEST(FlowWindows, HaveThePointsOfTheTimeOfTheirLastSlice) {
  const std::vector<TimeWindow> windows = Windows({{10, 20}, {20, 20}, {20, 40}});
  EXPECT_TRUE(windows[0] == (TimeWindow{kLongAgo, 20}));
  EXPECT_FALSE(windows[1].Has(20));
  EXPECT_FALSE(windows[1].Has(21));
  EXPECT_TRUE(windows[2] == (TimeWindow{21, kNever}));
}

// Each time is in one of them, whatever the groups say.
TEST(FlowWindows, NeverOverlap) {
  std::mt19937_64 random(5);
  const int64_t edges[] = {kLongAgo, kLongAgo + 1, -1, 0, 1, 7, kNever - 1, kNever};
  const auto edge = [&] { return edges[random() % std::size(edges)]; };
  for (int i = 0; i < 2000; ++i) {
    std::vector<TimeWindow> groups(1 + random() % 5);
    for (TimeWindow& group : groups) group = {edge(), edge()};
    for (const int64_t time : edges) {
      int holders = 0;
      for (const TimeWindow& window : Windows(groups)) holders += window.Has(time) ? 1 : 0;
      EXPECT_EQ(holders, 1) << time;
    }
  }
}

}  // namespace
}  // namespace kprof
