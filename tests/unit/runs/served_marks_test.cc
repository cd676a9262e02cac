#include "daemon/runs/queue/lease_queue.h"

#include <gtest/gtest.h>

#include <random>

namespace kprof {
namespace {

TEST(FairTurns, AGrantCountsAgainstYoungerRequestsAlone) {
  FairTurns marks;
  marks.Serve(5, 1);
  EXPECT_EQ(marks.TurnFor(4), 0u);
  EXPECT_EQ(marks.TurnFor(6), 1u);
  marks.Serve(3, 2);
  EXPECT_EQ(marks.TurnFor(2), 0u);
  EXPECT_EQ(marks.TurnFor(4), 2u);
  EXPECT_EQ(marks.TurnFor(6), 2u);
  EXPECT_EQ(marks.last(), 2u);
}

TEST(FairTurns, TellWhatAListOfAllGrantsTells) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    FairTurns marks;
    std::set<uint64_t> waiting;
    std::map<uint64_t, uint64_t> expected;  // age -> turn, of those that wait
    uint64_t next_age = 1;
    uint64_t last_turn = 0;
    for (int step = 0; step < 300; ++step) {
      if (waiting.empty() || random() % 2 == 0) {
        expected[next_age] = last_turn;
        waiting.insert(next_age++);
        continue;
      }
      const uint64_t age = *std::next(waiting.begin(), static_cast<long>(random() % waiting.size()));
      waiting.erase(age);
      expected.erase(age);
      if (random() % 4 == 0) continue;  // it is given up
      marks.Serve(age, ++last_turn);
      marks.Prune(waiting);
      for (auto& [other, turn] : expected) {
        if (other > age) turn = last_turn;
      }
      for (auto& [other, turn] : expected) ASSERT_EQ(marks.TurnFor(other), turn) << "round " << round;
      ASSERT_EQ(marks.TurnFor(next_age), last_turn);
      ASSERT_LE(marks.size(), 2 * waiting.size() + 2);
    }
  }
}

}  // namespace
}  // namespace kprof
