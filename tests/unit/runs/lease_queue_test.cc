#include "daemon/runs/queue/lease_queue.h"

#include <gtest/gtest.h>

namespace kprof {
namespace {

constexpr size_t kPlaces = 2;
constexpr int64_t kQueueSecondNs = 1'000'000'000;

class LeaseQueueTest : public testing::Test {
 protected:
  void Add(const std::string& id, std::vector<std::string> devices, uint32_t uid = 1000, int64_t priority = 0) {
    queue_.Add({id, uid, priority, std::move(devices)});
  }
  std::string Grant() { return queue_.GrantNext(now_ns_); }
  void Remove(const std::string& id) { queue_.Remove(id, now_ns_); }
  int Position(const std::string& id) { return queue_.OutlookOf(id, now_ns_)->position; }
  std::optional<int64_t> WaitNs(const std::string& id) { return queue_.OutlookOf(id, now_ns_)->wait_ns; }

  // All that wait for "0", one after the other.
  std::string Order() {
    std::string order;
    for (std::string id = Grant(); !id.empty(); id = Grant()) {
      order += id + " ";
      Remove(id);
    }
    return order;
  }

  int64_t now_ns_ = 0;
  LeaseQueue queue_{kPlaces};
};

TEST_F(LeaseQueueTest, GrantsInOrderOnePerDevice) {
  Add("a", {"cpu"});
  Add("b", {"cpu"});
  EXPECT_EQ(Grant(), "a");
  EXPECT_EQ(Grant(), "");
  EXPECT_EQ(queue_.HolderOf("cpu"), "a");
  Remove("a");
  EXPECT_EQ(queue_.HolderOf("cpu"), "");
  EXPECT_EQ(Grant(), "b");
}

TEST_F(LeaseQueueTest, LetsOtherDevicesGoAhead) {
  Add("a", {"0"});
  Add("b", {"0"});
  Add("c", {"1"});
  EXPECT_EQ(Grant(), "a");
  EXPECT_EQ(Grant(), "c");
}

TEST_F(LeaseQueueTest, NobodyOvertakesWhoWaitsForSeveralDevices) {
  Add("a", {"0"});
  Add("both", {"1", "0"});
  Add("late", {"1"});
  EXPECT_EQ(Grant(), "a");
  EXPECT_EQ(Grant(), "");  // "late" must not take 1 from "both"
  Remove("a");
  EXPECT_EQ(Grant(), "both");
  EXPECT_EQ(Grant(), "");
  Remove("both");
  EXPECT_EQ(Grant(), "late");
}

TEST_F(LeaseQueueTest, BoundsHoldersWithoutADevice) {
  for (const char* id : {"a", "b", "c"}) Add(id, {});
  Add("d", {"cpu"});
  EXPECT_EQ(Grant(), "a");
  EXPECT_EQ(Grant(), "b");
  EXPECT_EQ(Grant(), "d");
  EXPECT_EQ(Grant(), "");
  Remove("b");
  EXPECT_EQ(Grant(), "c");
}

TEST_F(LeaseQueueTest, TakesUsersInTurn) {
  for (const char* id : {"a1", "a2", "a3", "a4"}) Add(id, {"0"}, 1);
  for (const char* id : {"b1", "b2"}) Add(id, {"0"}, 2);
  Add("c1", {"0"}, 3);
  EXPECT_EQ(Order(), "a1 b1 c1 a2 b2 a3 a4 ");
}

TEST_F(LeaseQueueTest, WhoWasServedLongAgoGoesBeforeWhoWasServedLast) {
  Add("a1", {"0"}, 1);
  Add("b1", {"0"}, 2);
  EXPECT_EQ(Order(), "a1 b1 ");
  Add("b2", {"0"}, 2);
  Add("a2", {"0"}, 1);
  EXPECT_EQ(Order(), "a2 b2 ");
}

TEST_F(LeaseQueueTest, OneOfAnotherUserWaitsForOneOfFiveHundred) {
  for (int i = 0; i < 500; ++i) Add("a" + std::to_string(i), {"0"}, 1);
  EXPECT_EQ(Grant(), "a0");
  Add("b", {"0"}, 2);
  EXPECT_EQ(Position("b"), 1);
  EXPECT_EQ(Position("a1"), 2);
  EXPECT_EQ(Position("a499"), 500);
  Remove("a0");
  EXPECT_EQ(Grant(), "b");
}

TEST_F(LeaseQueueTest, AHigherPriorityGoesFirst) {
  Add("low", {"0"}, 1);
  Add("b1", {"0"}, 2, 5);
  Add("b2", {"0"}, 2, 5);
  Add("higher", {"0"}, 2, 6);
  EXPECT_EQ(Order(), "higher b1 b2 low ");
}

TEST_F(LeaseQueueTest, ItsOwnersSmallRunsDoNotPushARequestBack) {
  Add("x", {"0"}, 2);
  Add("y", {"1"}, 3);
  EXPECT_EQ(Grant(), "x");
  EXPECT_EQ(Grant(), "y");
  Add("both", {"0", "1"}, 1);
  for (int i = 0; i < 10; ++i) {
    const std::string number = std::to_string(i);
    Add("small" + number, {"2"}, 1);
    EXPECT_EQ(Grant(), "small" + number);
    Remove("small" + number);
    Add("x" + number, {"0"}, 2);
    Add("y" + number, {"1"}, 3);
  }
  Remove("x");
  EXPECT_EQ(Grant(), "");  // 0 is kept for "both"
  Remove("y");
  EXPECT_EQ(Grant(), "both");
}

TEST_F(LeaseQueueTest, WhatIsHeldFromBeforeIsHeldWhoeverWaits) {
  Add("a", {"0"});
  queue_.Hold({"session", 1000, 0, {"0", "1"}}, now_ns_);
  EXPECT_EQ(queue_.HolderOf("1"), "session");
  EXPECT_EQ(Grant(), "");
  Remove("session");
  EXPECT_EQ(Grant(), "a");
}

TEST_F(LeaseQueueTest, APositionCountsWhoWantsTheSameDevices) {
  queue_.Hold({"holder", 9, 0, {"0", "1", "2"}}, now_ns_);
  Add("a", {"0"}, 1);
  Add("b", {"1"}, 1);
  Add("c", {"0", "2"}, 1);
  Add("d", {"1"}, 2);
  Add("e", {"0", "1"}, 1);
  Add("f", {}, 1);
  // In order: a d b c e f, of which each counts its own.
  EXPECT_EQ(Position("a"), 1);
  EXPECT_EQ(Position("d"), 1);
  EXPECT_EQ(Position("b"), 2);
  EXPECT_EQ(Position("c"), 2);
  EXPECT_EQ(Position("e"), 5);
  EXPECT_EQ(Position("f"), 1);
  EXPECT_EQ(queue_.OutlookOf("holder", now_ns_), std::nullopt);
}

TEST_F(LeaseQueueTest, EstimatesTheWaitFromTheLastHolds) {
  Add("first", {"0"});
  EXPECT_EQ(WaitNs("first"), 0);  // it is free
  EXPECT_EQ(Grant(), "first");
  Add("second", {"0"});
  EXPECT_EQ(WaitNs("second"), std::nullopt) << "nobody knows yet how long holds take";
  now_ns_ = 10 * kQueueSecondNs;
  Remove("first");
  EXPECT_EQ(Grant(), "second");
  Add("third", {"0"});
  Add("fourth", {"0", "1"});
  EXPECT_EQ(WaitNs("third"), 10 * kQueueSecondNs);
  EXPECT_EQ(WaitNs("fourth"), 20 * kQueueSecondNs);
  now_ns_ += 3 * kQueueSecondNs;
  EXPECT_EQ(WaitNs("third"), 7 * kQueueSecondNs);
  now_ns_ += 30 * kQueueSecondNs;
  EXPECT_EQ(WaitNs("third"), 0) << "the holder takes longer than others did";
}

TEST_F(LeaseQueueTest, EstimatesTheWaitForAPlaceWithoutADevice) {
  for (const char* id : {"a", "b"}) Add(id, {});
  EXPECT_EQ(Grant(), "a");
  EXPECT_EQ(Grant(), "b");
  now_ns_ = 4 * kQueueSecondNs;
  Remove("a");
  for (const char* id : {"c", "d", "e"}) Add(id, {});
  EXPECT_EQ(Grant(), "c");
  EXPECT_EQ(WaitNs("d"), 2 * kQueueSecondNs);  // two places change hands twice in four seconds
  EXPECT_EQ(WaitNs("e"), 4 * kQueueSecondNs);
}

TEST_F(LeaseQueueTest, CountsWhoWaitsAndWhoHolds) {
  Add("a", {"0"});
  Add("b", {"0", "1"});
  Add("c", {"1"});
  EXPECT_EQ(Grant(), "a");
  EXPECT_EQ(queue_.waiting(), 2u);
  EXPECT_EQ(queue_.holding(), 1u);
  EXPECT_EQ(queue_.CountWaitingFor("1"), 2);
  EXPECT_EQ(queue_.CountWaitingFor("0"), 1);
  Remove("b");
  EXPECT_EQ(queue_.CountWaitingFor("0"), 0);
  Remove("nobody");
  EXPECT_EQ(Grant(), "c");
}

TEST_F(LeaseQueueTest, WhoeverComesAndGoesIsForgotten) {
  for (uint32_t uid = 1; uid < 10'000; ++uid) {
    Add("r", {"0"}, uid);
    EXPECT_EQ(Grant(), "r");
    Remove("r");
  }
  Add("long_ago", {"0"}, 1);
  Add("just_now", {"0"}, 9999);
  EXPECT_EQ(Order(), "long_ago just_now ");
}

}  // namespace
}  // namespace kprof
