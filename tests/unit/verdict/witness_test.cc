#include "daemon/analysis/verdict/witness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "daemon/analysis/verdict/timed_turns.h"

namespace kprof {
namespace {

using testing::IsEmpty;

// Turns of two sides that start in 100 ms and then take `*_wall_ns` for each sample, and report `*_ns`.
std::vector<TimedTurn> TurnsOf(double candidate_ns, double candidate_wall_ns, double baseline_ns,
                               double baseline_wall_ns, double jitter_ns = 0) {
  std::vector<TimedTurn> turns;
  for (int64_t number = 1; number <= 20; ++number) {
    TimedTurn turn;
    turn.is_candidate = number % 2 == 0;
    turn.number = number;
    turn.block = (number - 1) / 4;
    turn.asked_samples = number % 3 == 0 ? 300 : 100;
    const double each_ns = turn.is_candidate ? candidate_wall_ns : baseline_wall_ns;
    turn.wall_ns =
        100e6 + each_ns * static_cast<double>(turn.asked_samples) + jitter_ns * static_cast<double>(number % 5);
    turn.samples[""].assign(static_cast<size_t>(turn.asked_samples), turn.is_candidate ? candidate_ns : baseline_ns);
    turns.push_back(std::move(turn));
  }
  return turns;
}

std::vector<std::string> CodesOf(const std::vector<VerdictReason>& reasons) {
  std::vector<std::string> codes;
  for (const VerdictReason& reason : reasons) codes.push_back(reason.code);
  return codes;
}

TEST(Witness, BelievesAGainThatTheWallClockShows) {
  EXPECT_THAT(DisputesOf(TurnsOf(0.5e6, 0.6e6, 1e6, 1.1e6, 1e5)), IsEmpty());
  // What both do outside of the times, such as flushing a cache, cancels.
  EXPECT_THAT(DisputesOf(TurnsOf(0.5e6, 2.5e6, 1e6, 3e6, 1e5)), IsEmpty());
}

TEST(Witness, DisputesAGainThatItDoesNotShow) {
  EXPECT_THAT(CodesOf(DisputesOf(TurnsOf(0.1e6, 1.1e6, 1e6, 1.1e6, 1e5))), testing::ElementsAre("timing_disputed"));
}

TEST(Witness, DisputesALossThatItDoesNotShow) {
  EXPECT_THAT(CodesOf(DisputesOf(TurnsOf(1e6, 1.1e6, 0.1e6, 1.1e6, 1e5))), testing::ElementsAre("timing_disputed"));
}

TEST(Witness, SaysNothingOfWhatIsTooSmallForIt) {
  EXPECT_THAT(DisputesOf(TurnsOf(1e3, 10e3, 2e3, 10e3, 20e6)), IsEmpty());
}

TEST(Witness, KnowsWhereTheWallClockSeesNothing) {
  EXPECT_FALSE(IsUnwitnessed(TurnsOf(0.5e6, 0.6e6, 1e6, 1.1e6, 1e5)));
  EXPECT_TRUE(IsUnwitnessed(TurnsOf(1e3, 10e3, 20e3, 10e3, 20e6)));
  // Processor time confirms what a busy machine hides.
  std::vector<TimedTurn> busy = TurnsOf(1e3, 10e3, 20e3, 10e3, 20e6);
  for (TimedTurn& turn : busy) turn.cpu_ns = 50e6 + turn.reported_ns();
  EXPECT_FALSE(IsUnwitnessed(busy));
  std::vector<TimedTurn> few = TurnsOf(0.5e6, 0.6e6, 1e6, 1.1e6);
  few.resize(6);
  EXPECT_TRUE(IsUnwitnessed(few));
  for (TimedTurn& turn : few) turn.samples.clear();
  EXPECT_FALSE(IsUnwitnessed(few));  // whole processes are their own witness
}

TEST(Witness, DisputesMoreTimeThanThereWas) {
  std::vector<TimedTurn> turns = TurnsOf(1e6, 1.1e6, 1e6, 1.1e6);
  turns[3].samples[""].assign(10, 1e9);
  EXPECT_THAT(CodesOf(DisputesOf(turns)), testing::ElementsAre("timing_disputed"));
}

TEST(Witness, DisputesWorkAfterTheEnd) {
  std::vector<TimedTurn> turns = TurnsOf(1e6, 1.1e6, 1e6, 1.1e6);
  turns[3].leftover_processes = 2;
  EXPECT_THAT(CodesOf(DisputesOf(turns)), testing::ElementsAre("work_after_end"));
}

TEST(Witness, TakesAProcessAtItsWord) {
  std::vector<TimedTurn> turns = TurnsOf(1e6, 1.1e6, 1e6, 1.1e6);
  turns[3].refuted = turns[5].refuted = "uneven_calls";
  EXPECT_THAT(CodesOf(DisputesOf(turns)), testing::ElementsAre("uneven_calls"));
  EXPECT_TRUE(IsRefutingNote("timing_disputed") && !IsRefutingNote("several_streams") && !IsRefutingNote(""));
}

TEST(Witness, KnowsWhatTheDeviceNeedsAtLeast) {
  const std::vector<TimedTurn> turns = TurnsOf(1e6, 1.1e6, 1e6, 1.1e6);
  WitnessFacts facts{.floor = {"a GPU", 1e6, 1e3, 50e6}, .work = {}};
  const auto disputes = [&](const CaseWork& work) {
    facts.work = {{"", work}};
    return CodesOf(DisputesOf(turns, facts));
  };
  EXPECT_THAT(disputes({.flops = 0.9e12}), IsEmpty());
  EXPECT_THAT(disputes({.flops = 1.2e12}), testing::ElementsAre("below_physical_floor"));
  EXPECT_THAT(disputes({.bytes = 1.2e9, .is_cold = true}), testing::ElementsAre("below_physical_floor"));
  facts.floor.cache_bytes = 1e9;
  EXPECT_THAT(disputes({.bytes = 1.2e9}), IsEmpty());  // it may come from the cache
  facts.floor = {};
  EXPECT_THAT(disputes({.flops = 1e30, .bytes = 1e30}), IsEmpty());
}

TEST(Witness, OfWholeProcessesThereIsNothingToDoubt) {
  std::vector<TimedTurn> turns = TurnsOf(1e6, 1.1e6, 1e6, 1.1e6);
  for (TimedTurn& turn : turns) turn.samples.clear();
  EXPECT_THAT(DisputesOf(turns), IsEmpty());
}

}  // namespace
}  // namespace kprof
