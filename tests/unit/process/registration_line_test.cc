#include "daemon/process/helper_client/helper_grants.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "daemon/process/helper_client/helper_link.h"
#include "tests/fakes/base/fake_clock.h"

namespace kprof {
namespace {

constexpr auto kMostOfAnAccount = static_cast<int>(GrantQueue::kMostOfAnAccount);
constexpr auto kMostUnderWay = static_cast<int>(GrantQueue::kMostUnderWay);

class RegistrationLineTest : public testing::Test {
 protected:
  struct Entered {
    uint32_t account = 0;
    std::optional<Status> done;
  };

  Entered& Enter(uint32_t account) {
    Entered& entered = entered_.emplace_back(Entered{account, {}});
    line_.Enter(
        account,
        [this, account](GrantQueue::Done answered) {
          asked_.push_back({account, std::move(answered)});
        },
        [&entered](const Status& status) {
          EXPECT_FALSE(entered.done) << "twice";
          entered.done = status;
        });
    return entered;
  }

  void AnswerFirst(const Status& status = OkStatus()) {
    GrantQueue::Done answered = std::move(asked_.front().answered);
    asked_.pop_front();
    answered(status);
  }

  int AskedFor(uint32_t account) const {
    int found = 0;
    for (const Asked& asked : asked_) found += asked.account == account ? 1 : 0;
    return found;
  }

  struct Asked {
    uint32_t account = 0;
    GrantQueue::Done answered;
  };
  FakeClock clock_;
  IoLoop loop_{clock_};
  GrantQueue line_{loop_};
  std::deque<Asked> asked_;
  std::deque<Entered> entered_;
};

TEST_F(RegistrationLineTest, RegistersAtOnceWhatComesAlone) {
  Entered& alone = Enter(1);
  ASSERT_EQ(asked_.size(), 1u);
  EXPECT_FALSE(alone.done);
  AnswerFirst();
  ASSERT_TRUE(alone.done);
  EXPECT_TRUE(alone.done->ok());
}

TEST_F(RegistrationLineTest, AUserWithManyLeavesRoomForOthers) {
  for (int i = 0; i < 2000; ++i) Enter(1);
  EXPECT_EQ(AskedFor(1), kMostOfAnAccount);
  Enter(2);
  EXPECT_EQ(AskedFor(2), 1);
}

TEST_F(RegistrationLineTest, UsersHaveTheirTurnsHoweverManyTheyAre) {
  for (uint32_t account = 1; account <= 10; ++account) {
    for (int i = 0; i < 100; ++i) Enter(account);
  }
  EXPECT_EQ(asked_.size(), static_cast<size_t>(kMostUnderWay));
  Enter(99);
  EXPECT_EQ(AskedFor(99), 0);
  for (int i = 0; i < 11 && AskedFor(99) == 0; ++i) AnswerFirst();
  EXPECT_EQ(AskedFor(99), 1) << "a turn of everybody's later";
  EXPECT_EQ(asked_.size(), static_cast<size_t>(kMostUnderWay));
}

TEST_F(RegistrationLineTest, RegistersAllOfAUserInTheirOrder) {
  std::vector<int> order;
  for (int i = 0; i < 100; ++i) {
    line_.Enter(
        1,
        [this](GrantQueue::Done answered) {
          asked_.push_back({1, std::move(answered)});
        },
        [&order, i](const Status&) { order.push_back(i); });
  }
  while (!asked_.empty()) AnswerFirst();
  ASSERT_EQ(order.size(), 100u);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST_F(RegistrationLineTest, RefusesWhoseTurnDoesNotComeInTime) {
  for (int i = 0; i < kMostOfAnAccount; ++i) Enter(1);
  Entered& late = Enter(1);
  clock_.Advance(GrantQueue::kLimitNs);
  loop_.RunUntilIdle();
  ASSERT_TRUE(late.done);
  EXPECT_EQ(late.done->code(), ErrorCode::kQueueFull);
  EXPECT_EQ(late.done->why(), "too many submissions of your user at a time");
  while (!asked_.empty()) AnswerFirst();
  Enter(1);
  EXPECT_EQ(asked_.size(), 1u) << "the next finds its place again";
}

// Else a run starts of which its client has said that nobody took it.
TEST_F(RegistrationLineTest, WhoSubmitsHearsOfItBeforeTheyGiveUp) {
  constexpr int64_t kClientsDeadlineNs = 30 * kNanosPerSecond;  // kprof_client.h
  constexpr int64_t kForTheRest = 5 * kNanosPerSecond;
  for (int i = 0; i < kMostOfAnAccount; ++i) Enter(1);
  Entered& refused = Enter(1);
  clock_.Advance(kClientsDeadlineNs - kForTheRest - HelperLink::kRegisterLimitNs);
  loop_.RunUntilIdle();
  EXPECT_TRUE(refused.done) << "its registration might last longer than anybody waits";
}

TEST_F(RegistrationLineTest, BlamesNoUserForOneWhoDoesNotAnswer) {
  for (int i = 0; i < 2 * kMostOfAnAccount; ++i) Enter(1);
  Entered& late = Enter(1);
  AnswerFirst(Fail(ErrorCode::kNoDaemon, "ask", "kprofd-helper is not there", "start it"));
  clock_.Advance(GrantQueue::kLimitNs);
  loop_.RunUntilIdle();
  ASSERT_TRUE(late.done);
  EXPECT_EQ(late.done->code(), ErrorCode::kNoDaemon);
}

}  // namespace
}  // namespace kprof
