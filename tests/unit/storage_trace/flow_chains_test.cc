#include "storage/trace/format/flow_rules.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace kprof {
namespace {

// Steps of points that are given as "phase time", by those.
std::vector<std::string> Steps(const std::vector<std::pair<char, int64_t>>& given, size_t most = 100) {
  std::vector<ChainPoint> points;
  for (const auto& [phase, time_ns] : given) {
    const auto row = static_cast<uint32_t>(points.size());
    points.push_back({.time_ns = time_ns, .row = row, .phase = ChainPhaseOf(phase)});
  }
  SortByFlow(points);
  std::vector<std::string> steps;
  const auto word = [](const ChainPoint& point) { return "stf"[point.phase] + std::to_string(point.time_ns); };
  ForEachFlowStep(points, [&](const ChainPoint& from, const ChainPoint& to) {
    steps.push_back(word(from) + " " + word(to));
    return steps.size() < most;
  });
  return steps;
}

using Lines = std::vector<std::string>;

TEST(FlowChains, PointsLeadOnInTheOrderOfTime) {
  EXPECT_EQ(Steps({{'f', 9}, {'t', 5}, {'s', 1}, {'t', 7}}), (Lines{"s1 t5", "t5 t7", "t7 f9"}));
}

TEST(FlowChains, OfOneTimeABeginIsBeforeAStepBeforeAnEnd) {
  EXPECT_EQ(Steps({{'f', 1}, {'t', 1}, {'s', 1}}), (Lines{"s1 t1", "t1 f1"}));
}

TEST(FlowChains, ABeginStartsAnewAndAnEndEnds) {
  EXPECT_EQ(Steps({{'s', 1}, {'s', 2}, {'f', 3}, {'f', 4}, {'t', 5}, {'s', 6}, {'f', 7}}), (Lines{"s2 f3", "s6 f7"}));
}

TEST(FlowChains, OneBeginAndOneEndAreAPairWhateverClocksSay) {
  EXPECT_EQ(Steps({{'f', 1}, {'s', 2}}), Lines{"s2 f1"});
  EXPECT_EQ(Steps({{'f', 1}, {'s', 2}, {'f', 3}}), Lines{"s2 f3"});
  EXPECT_TRUE(Steps({{'f', 1}, {'t', 2}}).empty());
  EXPECT_TRUE(Steps({{'s', 1}}).empty());
}

TEST(FlowChains, OthersOfLabelOrIdAreOtherFlows) {
  std::vector<ChainPoint> points;
  for (const auto& [label, id] : {std::pair(1u, 1), {2u, 1}, {1u, 2}, {ChainPoint::kMostLabels - 1, 1}}) {
    points.push_back({.flow_id = id, .time_ns = 1, .label = label, .phase = ChainPoint::kBegin});
    points.push_back({.flow_id = id, .time_ns = 2, .label = label, .phase = ChainPoint::kEnd});
  }
  SortByFlow(points);
  int steps = 0;
  ForEachFlowStep(points, [&](const ChainPoint& from, const ChainPoint& to) {
    EXPECT_EQ(from.label, to.label);
    EXPECT_EQ(from.flow_id, to.flow_id);
    ++steps;
    return true;
  });
  EXPECT_EQ(steps, 4);
}

TEST(FlowChains, EndWhenTheyAreToldTo) {
  EXPECT_EQ(Steps({{'s', 1}, {'t', 2}, {'f', 3}}, 1), Lines{"s1 t2"});
  EXPECT_EQ(Steps({{'f', 1}, {'s', 2}}, 1), Lines{"s2 f1"});
}

}  // namespace
}  // namespace kprof
