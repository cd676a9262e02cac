#include "daemon/runs/run_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace kprof {
namespace {

RunQueue::Limits Small() {
  return {.queued = 4, .running_without_device = 2};
}

TEST(RunQueue, StartsInOrderOnePerDevice) {
  RunQueue queue(Small());
  queue.Add("a", {"cpu"});
  queue.Add("b", {"cpu"});
  EXPECT_EQ(queue.StartNext(), "a");
  EXPECT_EQ(queue.StartNext(), "");
  EXPECT_EQ(queue.HolderOf("cpu"), "a");
  queue.Remove("a");
  EXPECT_EQ(queue.StartNext(), "b");
}

TEST(RunQueue, LetsOtherDevicesGoAhead) {
  RunQueue queue(Small());
  queue.Add("a", {"0"});
  queue.Add("b", {"0"});
  queue.Add("c", {"1"});
  EXPECT_EQ(queue.StartNext(), "a");
  EXPECT_EQ(queue.StartNext(), "c");
}

TEST(RunQueue, NobodyOvertakesARunThatWaitsForSeveralDevices) {
  RunQueue queue(Small());
  queue.Add("a", {"0"});
  queue.Add("both", {"0", "1"});
  queue.Add("late", {"1"});
  EXPECT_EQ(queue.StartNext(), "a");
  EXPECT_EQ(queue.StartNext(), "");  // "late" must not take 1 from "both"
  queue.Remove("a");
  EXPECT_EQ(queue.StartNext(), "both");
  EXPECT_EQ(queue.StartNext(), "");
  queue.Remove("both");
  EXPECT_EQ(queue.StartNext(), "late");
}

TEST(RunQueue, BoundsRunsWithoutADevice) {
  RunQueue queue(Small());
  for (const char* id : {"a", "b", "c"}) queue.Add(id, {});
  queue.Add("d", {"cpu"});
  EXPECT_EQ(queue.StartNext(), "a");
  EXPECT_EQ(queue.StartNext(), "b");
  EXPECT_EQ(queue.StartNext(), "d");
  EXPECT_EQ(queue.StartNext(), "");
  queue.Remove("b");
  EXPECT_EQ(queue.StartNext(), "c");
}

TEST(RunQueue, TellsPositionsAndWhoWaitsForWhat) {
  RunQueue queue(Small());
  queue.Add("a", {"0"});
  queue.Add("b", {"0"});
  queue.Add("c", {"0"});
  EXPECT_EQ(queue.Position("b"), 2);
  EXPECT_EQ(queue.StartNext(), "a");
  EXPECT_EQ(queue.Position("a"), 0);
  EXPECT_EQ(queue.Position("b"), 1);
  EXPECT_EQ(queue.CountWaitingFor("0"), 2);
  queue.Remove("b");
  EXPECT_EQ(queue.Position("c"), 1);
  EXPECT_EQ(queue.CountWaitingFor("0"), 1);
}

TEST(RunQueue, CountsThoseWaitingAndTakesMoreThanItsLimit) {
  RunQueue queue(Small());
  for (const char* id : {"a", "b", "c", "d", "e"}) queue.Add(id, {"cpu"});
  EXPECT_EQ(queue.limit(), 4u);
  EXPECT_EQ(queue.queued(), 5u);
  queue.StartNext();
  EXPECT_EQ(queue.queued(), 4u);
}

TEST(RunQueue, HasNeverTwoHoldersAndLosesNobodyOverRandomSchedules) {
  std::mt19937 random(7);
  const std::vector<std::string> devices = {"cpu", "0", "1", "2"};
  RunQueue queue({.queued = 1000, .running_without_device = 3});
  std::map<std::string, std::vector<std::string>> wants;
  std::set<std::string> running;
  std::set<std::string> waiting;
  int next = 0;
  for (int step = 0; step < 20000; ++step) {
    switch (random() % 4) {
      case 0: {
        std::vector<std::string> wanted;
        for (const std::string& device : devices) {
          if (random() % 3 == 0) wanted.push_back(device);
        }
        if (queue.queued() >= queue.limit()) break;
        std::string id = std::to_string(next++);
        wants[id] = wanted;
        waiting.insert(id);
        queue.Add(id, wanted);
        break;
      }
      case 1: {
        if (running.empty()) break;
        std::string id = *std::next(running.begin(), static_cast<long>(random() % running.size()));
        queue.Remove(id);
        running.erase(id);
        break;
      }
      case 2: {
        if (waiting.empty() || random() % 4 != 0) break;
        std::string id = *std::next(waiting.begin(), static_cast<long>(random() % waiting.size()));
        queue.Remove(id);
        waiting.erase(id);
        break;
      }
      default: {
        std::string id = queue.StartNext();
        if (id.empty()) break;
        ASSERT_EQ(waiting.erase(id), 1u);
        running.insert(id);
      }
    }
    std::set<std::string> held;
    size_t without = 0;
    for (const std::string& id : running) {
      if (wants[id].empty()) ++without;
      for (const std::string& device : wants[id]) {
        ASSERT_TRUE(held.insert(device).second) << "two hold " << device;
        ASSERT_EQ(queue.HolderOf(device), id);
      }
    }
    ASSERT_LE(without, 3u);
    ASSERT_EQ(queue.queued(), waiting.size());
    ASSERT_EQ(queue.running(), running.size());
  }
  // Everybody who waits gets a turn once those before are done.
  while (!waiting.empty() || !running.empty()) {
    for (std::string id = queue.StartNext(); !id.empty(); id = queue.StartNext()) {
      waiting.erase(id);
      running.insert(id);
    }
    ASSERT_FALSE(running.empty()) << "nobody runs, " << waiting.size() << " wait";
    queue.Remove(*running.begin());
    running.erase(running.begin());
  }
}

}  // namespace
}  // namespace kprof
