#include "daemon/net/container_check_queue.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <deque>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "tests/fakes/base/fake_clock.h"

namespace kprof {
namespace {

constexpr auto kMostAskedPerAccount = static_cast<int>(ContainerCheckQueue::kMostAskedPerAccount);
constexpr auto kMostAsked = static_cast<int>(ContainerCheckQueue::kMostAsked);

class PlaceLineTest : public testing::Test {
 protected:
  // What came of a connection, and its other end.
  struct Connected {
    uint32_t account = 0;
    UniqueFd client;
    std::optional<Result<CallerPlace>> found;
    UniqueFd connection;
  };

  Connected& Connect(uint32_t account) {
    int ends[2];
    KPROF_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    Connected& connected = connected_.emplace_back();
    connected.account = account;
    connected.client.Reset(ends[1]);
    line_.Find(account, UniqueFd(ends[0]), [&connected](Result<CallerPlace> place, UniqueFd connection) {
      KPROF_CHECK(!connected.found);
      connected.found = std::move(place);
      connected.connection = std::move(connection);
    });
    return connected;
  }
  std::vector<Connected*> Connect(uint32_t account, int count) {
    std::vector<Connected*> all;
    for (int i = 0; i < count; ++i) all.push_back(&Connect(account));
    return all;
  }

  void AnswerNext(const Result<CallerPlace>& place = CallerPlace::kHere) {
    ASSERT_FALSE(asked_.empty());
    ContainerCheckQueue::Answered answered = std::move(asked_.front());
    asked_.pop_front();
    answered(place);
  }
  void AnswerAll(const Result<CallerPlace>& place = CallerPlace::kHere) {
    while (!asked_.empty()) AnswerNext(place);
  }
  void Pass(int64_t ns) {
    clock_.Advance(ns);
    loop_.RunUntilIdle();
  }
  int Found(uint32_t account) const {
    int count = 0;
    for (const Connected& connected : connected_) count += connected.account == account && connected.found ? 1 : 0;
    return count;
  }

  FakeClock clock_;
  IoLoop loop_{clock_};
  std::deque<Connected> connected_;
  std::deque<ContainerCheckQueue::Answered> asked_;  // and not answered
  int late_ = 0;
  ContainerCheckQueue line_{loop_,
                            {},
                            [this](UniqueFd duplicate, ContainerCheckQueue::Answered answered) {
                              EXPECT_TRUE(duplicate.valid());
                              asked_.push_back(std::move(answered));
                            },
                            [this] { ++late_; }};
};

TEST_F(PlaceLineTest, GivesAConnectionBackWithItsPlace) {
  for (const CallerPlace place : {CallerPlace::kHere, CallerPlace::kElsewhere, CallerPlace::kGone}) {
    Connected& connected = Connect(1000);
    EXPECT_FALSE(connected.found);
    AnswerNext(place);
    ASSERT_TRUE(connected.found && connected.found->ok());
    EXPECT_EQ(**connected.found, place);
    char byte = 'x';
    EXPECT_EQ(::send(connected.client.get(), &byte, 1, 0), 1);
    EXPECT_EQ(::recv(connected.connection.get(), &byte, 1, 0), 1);
  }
}

TEST_F(PlaceLineTest, APlaceThatNobodyCanSayIsUnknown) {
  Connected& connected = Connect(1000);
  AnswerNext(Fail(ErrorCode::kNoDaemon, "ask", "nobody answers"));
  ASSERT_TRUE(connected.found && connected.found->ok());
  EXPECT_EQ(**connected.found, CallerPlace::kUnknown);
}

TEST_F(PlaceLineTest, NobodyWaitsLongerThanTheLimit) {
  const std::vector<Connected*> all = Connect(1000, 3 * kMostAskedPerAccount);
  Pass(ContainerCheckQueue::kLimitNs - kNanosPerMilli);
  EXPECT_EQ(Found(1000), 0);
  Pass(kNanosPerMilli);
  for (const Connected* connected : all) {
    ASSERT_TRUE(connected->found);
    EXPECT_EQ(**connected->found, CallerPlace::kUnknown);
  }
  EXPECT_EQ(late_, all.size());
  AnswerAll();  // too late: nothing comes of it
  EXPECT_TRUE(asked_.empty());
}

TEST_F(PlaceLineTest, NobodyWaitsForWhoIsSilentAndNobodyIsAskedForMeanwhile) {
  Connect(1000);
  Pass(ContainerCheckQueue::kLimitNs);
  for (uint32_t account : {1000U, 1001U}) {
    Connected& connected = Connect(account);
    ASSERT_TRUE(connected.found);
    EXPECT_EQ(**connected.found, CallerPlace::kUnknown);
  }
  EXPECT_EQ(asked_.size(), 1);
  AnswerNext();
  Connected& connected = Connect(1000);
  AnswerNext();
  EXPECT_EQ(**connected.found, CallerPlace::kHere);
}

TEST_F(PlaceLineTest, AsksForAFewOfOneUserAtATime) {
  Connect(1000, 3 * kMostAskedPerAccount);
  EXPECT_EQ(asked_.size(), kMostAskedPerAccount);
  AnswerNext();
  EXPECT_EQ(asked_.size(), kMostAskedPerAccount);
  AnswerAll();
  EXPECT_EQ(Found(1000), 3 * kMostAskedPerAccount);
}

TEST_F(PlaceLineTest, AUserWithManyKeepsNobodyWaiting) {
  Connect(1000, 500);
  Connect(1001);
  EXPECT_EQ(asked_.size(), kMostAskedPerAccount + 1);
  std::swap(asked_.front(), asked_.back());
  AnswerNext();
  EXPECT_EQ(Found(1001), 1);
  EXPECT_EQ(Found(1000), 0);
}

TEST_F(PlaceLineTest, AsksForManyUsersInTurn) {
  constexpr int kUsers = 20;
  for (uint32_t user = 0; user < kUsers; ++user) Connect(1000 + user, 30);
  EXPECT_EQ(asked_.size(), kMostAsked);
  while (!asked_.empty()) {
    AnswerNext();
    std::set<int> counts;
    for (uint32_t user = kMostAsked / kMostAskedPerAccount; user < kUsers; ++user) counts.insert(Found(1000 + user));
    // Who came when all was taken is served as often as the others who did, give or take what is asked for now.
    EXPECT_LE(*counts.rbegin() - *counts.begin(), kMostAskedPerAccount);
  }
  for (uint32_t user = 0; user < kUsers; ++user) EXPECT_EQ(Found(1000 + user), 30);
}

TEST_F(PlaceLineTest, AConnectionThatHangsUpGoesWithoutAWord) {
  Connected& asked = Connect(1000);
  const std::vector<Connected*> all = Connect(1000, 2 * kMostAskedPerAccount);
  asked.client.Reset();
  all.back()->client.Reset();
  AnswerAll(CallerPlace::kGone);
  EXPECT_FALSE(asked.found);
  EXPECT_FALSE(all.back()->found);
  EXPECT_EQ(Found(1000), 2 * kMostAskedPerAccount - 1);
}

TEST_F(PlaceLineTest, NobodyIsAskedForWhoHungUpBeforeTheirTurn) {
  Connect(1000, kMostAskedPerAccount);
  for (Connected* connected : Connect(1000, 100)) connected->client.Reset();
  int answers = 0;
  for (; !asked_.empty(); ++answers) AnswerNext();
  EXPECT_EQ(answers, kMostAskedPerAccount);
}

TEST_F(PlaceLineTest, TooManyOfOneUserAreTurnedAway) {
  ConnectionLimits limits;
  limits.connections_per_account = 3;
  line_.SetLimits(limits);
  Connect(1000, 3);
  Connected& one_more = Connect(1000);
  ASSERT_TRUE(one_more.found);
  EXPECT_EQ(one_more.found->status().code(), ErrorCode::kQueueFull);
  EXPECT_TRUE(one_more.connection.valid());
  EXPECT_FALSE(Connect(1001).found);
  AnswerNext();
  EXPECT_FALSE(Connect(1000).found);
}

TEST_F(PlaceLineTest, TooManyOfAllAreTurnedAway) {
  ConnectionLimits limits;
  limits.connections = 3;
  line_.SetLimits(limits);
  for (uint32_t account : {1000U, 1001U, 1002U}) EXPECT_FALSE(Connect(account).found);
  EXPECT_EQ(Connect(1003).found->status().code(), ErrorCode::kQueueFull);
}

TEST_F(PlaceLineTest, WhatWasGivenUpCountsUntilItIsAnswered) {
  Connect(1000, kMostAskedPerAccount);
  AnswerNext();
  Pass(ContainerCheckQueue::kLimitNs / 2);
  Connected& asked_later = Connect(1000);
  Connected& in_line = Connect(1000);
  Pass(ContainerCheckQueue::kLimitNs / 2);
  for (int i = 0; i < kMostAskedPerAccount - 2; ++i) AnswerNext();
  EXPECT_EQ(asked_.size(), 3);  // the last of the first ones, and these two
  AnswerNext();
  AnswerNext(CallerPlace::kElsewhere);
  EXPECT_EQ(**asked_later.found, CallerPlace::kElsewhere);
  EXPECT_FALSE(in_line.found);
}

TEST_F(PlaceLineTest, WhenItClosesNobodyIsLeftWaiting) {
  const std::vector<Connected*> all = Connect(1000, 2 * kMostAskedPerAccount);
  line_.Close();
  for (const Connected* connected : all) {
    ASSERT_TRUE(connected->found);
    EXPECT_EQ(**connected->found, CallerPlace::kUnknown);
    EXPECT_TRUE(connected->connection.valid());
  }
  EXPECT_EQ(**Connect(1001).found, CallerPlace::kUnknown);
  AnswerAll();
}

}  // namespace
}  // namespace kprof
