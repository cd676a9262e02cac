#include "daemon/runs/event/event_turns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "daemon/capture/tools.h"

namespace kprof {
namespace {

TurnEnded Took(int64_t wall_ns, std::string text = "") {
  TurnEnded ended;
  ended.exit_code = 0;
  ended.began_unix_ns = 1'750'000'000'000'000'000;
  ended.wall_ns = wall_ns;
  ended.text = std::move(text);
  return ended;
}

// Runs until there are enough; `wall_ns` of each side.
std::string RunAll(EventTurns& turns, int64_t candidate_ns, int64_t baseline_ns, int64_t elapsed_ms = 0) {
  std::string order;
  while (const std::optional<TurnAsked> turn = turns.Next(elapsed_ms)) {
    const bool is_candidate = turn->side == kCandidateSide;
    order += is_candidate ? 'A' : 'B';
    // A little noise, so that there is an interval.
    const int64_t wall_ns = (is_candidate ? candidate_ns : baseline_ns) + static_cast<int64_t>(order.size() % 3) * 1000;
    EXPECT_TRUE(turns.Add(Took(wall_ns), 2 * wall_ns).ok());
    if (order.size() > 1000) break;
  }
  return order;
}

TEST(EventTurns, RunsTwoSidesInMirroredBlocksUntilItKnows) {
  EventTurns turns({.compares = true, .seed = 5, .floor = {}});
  const std::string order = RunAll(turns, 90'000'000, 100'000'000);
  ASSERT_EQ(order.size(), 22u);  // two warm up, then five blocks
  for (size_t at = 2; at < order.size(); at += 4) {
    const std::string block = order.substr(at, 4);
    EXPECT_TRUE(block == "ABBA" || block == "BAAB") << block;
  }
  EXPECT_NE(order.find("ABBA"), order.npos);
  EXPECT_NE(order.find("BAAB"), order.npos);
  const EventOutcome outcome = turns.Finish();
  ASSERT_TRUE(outcome.verdict);
  EXPECT_EQ(outcome.verdict->name, "FASTER");
  EXPECT_NEAR(*outcome.verdict->ratio, 0.9, 0.001);
}

TEST(EventTurns, TheSameSeedGivesTheSameOrderAndVerdict) {
  EventTurns one({.compares = true, .seed = 11, .floor = {}});
  EventTurns other({.compares = true, .seed = 11, .floor = {}});
  EXPECT_EQ(RunAll(one, 100'000'000, 101'000'000), RunAll(other, 100'000'000, 101'000'000));
  EXPECT_EQ(*one.Finish().verdict, *other.Finish().verdict);
}

TEST(EventTurns, EndsAfterItsBudgetWithAtLeastFiveBlocks) {
  EventTurns turns({.compares = true, .budget_ms = 1, .seed = 5, .floor = {}});
  EXPECT_EQ(RunAll(turns, 100'000'000, 101'000'000, 1000).size(), 22u);
}

TEST(EventTurns, TakesAsManyProcessesAsAskedFor) {
  EventTurns one_side({.compares = false, .samples = 7, .seed = 5, .floor = {}});
  EXPECT_EQ(RunAll(one_side, 100, 0).size(), 8u);
  EXPECT_FALSE(one_side.Finish().verdict);
  EventTurns two_sides({.compares = true, .samples = 7, .seed = 5, .floor = {}});
  EXPECT_EQ(RunAll(two_sides, 100'000, 100'000).size(), 2 + 4 * 4u);
}

TEST(EventTurns, AsksForNumbersOfSamplesThatNobodyCanForesee) {
  EventTurns turns({.compares = false, .samples = 10, .warm_ups = 0, .seed = 5, .floor = {}});
  std::map<int64_t, int> asked;
  std::map<uint64_t, int> seeds;
  while (const std::optional<TurnAsked> turn = turns.Next(0)) {
    ++asked[turn->samples];
    ++seeds[turn->seed];
    ASSERT_TRUE(turns.Add(Took(100), 200).ok());
  }
  EXPECT_EQ(asked.size(), 2u);
  EXPECT_TRUE(asked.contains(10) && asked.contains(30));
  EXPECT_EQ(seeds.size(), turns.turns().size());
}

TEST(EventTurns, GivesTheWitnessBothSizesOfBothSides) {
  EventTurns turns({.compares = true, .samples = 10, .warm_ups = 0, .seed = 5, .floor = {}});
  std::map<std::pair<int32_t, int64_t>, int> asked;
  while (const std::optional<TurnAsked> turn = turns.Next(0)) {
    ++asked[{turn->side, turn->samples}];
    ASSERT_TRUE(turns.Add(Took(100'000, "{\"ns\":5}\n"), 200'000).ok());
  }
  const std::pair<int32_t, int64_t> all[] = {
      {kCandidateSide, 10}, {kCandidateSide, 30}, {kBaselineSide, 10}, {kBaselineSide, 30}};
  for (const auto& one : all) EXPECT_EQ(asked[one], 5) << one.first << " " << one.second;
}

TEST(EventTurns, ASupervisorCannotMakeAProcessLiveLongerThanItWasAwaited) {
  EventTurns turns({.compares = false, .warm_ups = 0, .seed = 5, .floor = {}});
  ASSERT_TRUE(turns.Next(0));
  ASSERT_TRUE(turns.Add(Took(1'000'000), 1000).ok());
  EXPECT_EQ(turns.turns()[0].wall_ns, 1000);
}

TEST(EventTurns, AFailedCheckIsAFailure) {
  EventTurns turns({.compares = true, .warm_ups = 0, .seed = 5, .floor = {}});
  ASSERT_TRUE(turns.Next(0));
  const Status failed = turns.Add(Took(100, "{\"check\":\"failed\",\"message\":\"element 3\"}\n"), 200);
  EXPECT_EQ(failed.code(), ErrorCode::kCheckFailed);
  EXPECT_THAT(failed.why(), testing::HasSubstr("element 3"));
}

TEST(EventTurns, WhatAProcessTakesBackIsNoVerdict) {
  EventTurns turns({.compares = true, .samples = 10, .warm_ups = 0, .seed = 5, .floor = {}});
  while (const std::optional<TurnAsked> turn = turns.Next(0)) {
    const bool is_candidate = turn->side == kCandidateSide;
    std::string text = "{\"ns\":" + std::to_string(is_candidate ? 10 : 1000) + "}\n";
    if (is_candidate) text += "{\"note\":\"timing_disputed\",\"message\":\"the referee saw more\"}\n";
    ASSERT_TRUE(turns.Add(Took(1'000'000, text), 2'000'000).ok());
  }
  const EventOutcome outcome = turns.Finish();
  EXPECT_EQ(outcome.verdict->name, "INCONCLUSIVE");
  EXPECT_EQ(outcome.verdict->reasons.front(), "timing_disputed");
  EXPECT_THAT(outcome.samples, testing::HasSubstr("\"refuted\":\"timing_disputed\""));
}

TEST(EventTurns, FasterThanTheDeviceCanBeIsNoVerdict) {
  // 1e9 FLOP in 1 us are 1e6 FLOP in a ns; the device does 1e5.
  EventTurns turns({.compares = true, .samples = 10, .warm_ups = 0, .seed = 5, .floor = {"a GPU", 1e5, 1e3, 50e6}});
  while (const std::optional<TurnAsked> turn = turns.Next(0)) {
    const std::string ns = turn->side == kCandidateSide ? "1000" : "20000";
    ASSERT_TRUE(turns.Add(Took(1'000'000, "{\"ns\":" + ns + ",\"flops\":1e9}\n"), 2'000'000).ok());
  }
  const EventOutcome outcome = turns.Finish();
  EXPECT_EQ(outcome.verdict->name, "INCONCLUSIVE");
  EXPECT_EQ(outcome.verdict->reasons.front(), "below_physical_floor");
}

TEST(EventTurns, ReadsItsRulesFromTheOptions) {
  const Tool* tool = FindTool("event");
  ASSERT_NE(tool, nullptr);
  const Result<ToolOptions> options = ReadToolOptions(*tool, {"against=true", "delta=2.5", "seed=9", "budget=3s"});
  ASSERT_TRUE(options.ok());
  const EventRules rules = EventRulesOf(*options, 1);
  EXPECT_TRUE(rules.compares);
  EXPECT_DOUBLE_EQ(rules.delta, 0.025);
  EXPECT_EQ(rules.seed, 9u);
  EXPECT_EQ(rules.budget_ms, 3000);
  EXPECT_EQ(rules.warm_ups, 1);
  const Result<ToolOptions> usual = ReadToolOptions(*tool, {});
  EXPECT_EQ(EventRulesOf(*usual, uint64_t{1} << 63).seed, uint64_t{1} << 52);  // a metric keeps it
}

}  // namespace
}  // namespace kprof
