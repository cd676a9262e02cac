#include "daemon/helper/helper_jobs.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <optional>
#include <string>

#include "tests/fakes/base/fake_clock.h"

namespace kprof {
namespace {

constexpr int kLookupPatienceMs = 60'000;

class LookupLineTest : public testing::Test {
 protected:
  ~LookupLineTest() override {
    line_.reset();
    for (pid_t pid = 0; pid >= 0;) pid = ::waitpid(-1, nullptr, 0);
  }

  struct Answer {
    std::optional<HelperMessage> message;
    ErrorCode code() const {
      const auto* refused = message ? std::get_if<HelperRefused>(&*message) : nullptr;
      return refused == nullptr ? ErrorCode::kOk : refused->code;
    }
  };

  std::shared_ptr<const Answer> Add(uint32_t uid, std::function<JobFinding()> look_up,
                                    const std::string& run_id = "run") {
    auto answer = std::make_shared<Answer>();
    Lookup lookup;
    lookup.uid = uid;
    lookup.run_id = run_id;
    lookup.look_up = std::move(look_up);
    lookup.conclude = [this](const JobFinding& finding) -> HelperMessage {
      ++concluded_;
      if (const auto* refused = std::get_if<HelperRefused>(&finding)) return *refused;
      return HelperSwept{static_cast<uint32_t>(std::get<std::string>(finding).size())};
    };
    line_->Add(std::move(lookup), asker_, [answer](const HelperMessage& message) {
      EXPECT_FALSE(answer->message) << "answered twice";
      answer->message = message;
    });
    return answer;
  }
  std::shared_ptr<const Answer> AddOneThatHangs(uint32_t uid, const std::string& run_id = "run") {
    return Add(
        uid,
        []() -> JobFinding {
          while (true) ::pause();
        },
        run_id);
  }

  void WaitFor(const Answer& answer) {
    while (!answer.message) {
      std::vector<pollfd> waits;
      line_->AddWaits(waits);
      ASSERT_GT(::poll(waits.data(), waits.size(), kLookupPatienceMs), 0);
      line_->Turn();
    }
  }
  size_t running() const {
    std::vector<pollfd> waits;
    line_->AddWaits(waits);
    return waits.size();
  }

  FakeClock clock_;
  std::optional<LookupQueue> line_{clock_};
  std::shared_ptr<int> asker_ = std::make_shared<int>();
  int concluded_ = 0;
};

TEST_F(LookupLineTest, ConcludesFromWhatWasFound) {
  auto answer = Add(1, [] { return std::string("four"); });
  WaitFor(*answer);
  EXPECT_EQ(answer->message, HelperMessage(HelperSwept{4}));
}

TEST_F(LookupLineTest, ARefusalStands) {
  auto answer = Add(1, [] { return HelperRefused{ErrorCode::kNotPermitted, "no", ""}; });
  WaitFor(*answer);
  EXPECT_EQ(answer->code(), ErrorCode::kNotPermitted);
}

TEST_F(LookupLineTest, RefusesAllThatAreLateWhetherTheyHadTheirTurnOrNot) {
  std::vector<std::shared_ptr<const Answer>> answers;
  for (size_t n = 0; n < LookupQueue::kMostOfAUid + 3; ++n) answers.push_back(AddOneThatHangs(1));
  EXPECT_EQ(running(), LookupQueue::kMostOfAUid);
  std::vector<pollfd> waits;
  EXPECT_EQ(line_->AddWaits(waits), clock_.mono_ns() + LookupQueue::kLimitNs);
  clock_.Advance(LookupQueue::kLimitNs);
  for (const auto& answer : answers) {
    for (int turn = 0; turn < 10 && !answer->message; ++turn) line_->Turn();
    EXPECT_EQ(answer->code(), ErrorCode::kTimedOut);
  }
  EXPECT_EQ(running(), 0u);
}

TEST_F(LookupLineTest, AUserWithManyKeepsNobodyWaiting) {
  for (int n = 0; n < 100; ++n) AddOneThatHangs(1);
  auto other = Add(2, [] { return std::string("x"); });
  WaitFor(*other);
  EXPECT_EQ(other->message, HelperMessage(HelperSwept{1}));
  EXPECT_EQ(running(), LookupQueue::kMostOfAUid);
  asker_.reset();
  line_->Turn();
}

TEST_F(LookupLineTest, HasABoundInAll) {
  for (uint32_t uid = 0; uid < LookupQueue::kMostAtATime + LookupQueue::kMostWaiting; ++uid) {
    EXPECT_FALSE(AddOneThatHangs(uid)->message);
  }
  EXPECT_EQ(running(), LookupQueue::kMostAtATime);
  EXPECT_EQ(AddOneThatHangs(1'000'000)->code(), ErrorCode::kQueueFull);
  asker_.reset();
  line_->Turn();
  EXPECT_EQ(running(), 0u);
}

TEST_F(LookupLineTest, NothingFollowsFromWhatIsWithdrawn) {
  auto found = Add(
      1, [] { return std::string("x"); }, "withdrawn");
  std::vector<pollfd> waits;
  line_->AddWaits(waits);
  ASSERT_EQ(::poll(waits.data(), waits.size(), kLookupPatienceMs), 1);  // it was found already
  for (size_t n = 0; n < LookupQueue::kMostOfAUid; ++n) AddOneThatHangs(1, "other");
  auto waiting = AddOneThatHangs(1, "withdrawn");
  line_->Withdraw("withdrawn");
  EXPECT_EQ(found->code(), ErrorCode::kCancelled);
  EXPECT_EQ(waiting->code(), ErrorCode::kCancelled);
  EXPECT_EQ(running(), LookupQueue::kMostOfAUid);
  asker_.reset();
  line_->Turn();
}

TEST_F(LookupLineTest, NothingFollowsForWhoHasGone) {
  auto found = Add(1, [] { return std::string("x"); });
  std::vector<pollfd> waits;
  line_->AddWaits(waits);
  ASSERT_EQ(::poll(waits.data(), waits.size(), kLookupPatienceMs), 1);
  asker_.reset();
  line_->Turn();
  EXPECT_FALSE(found->message);
  EXPECT_EQ(concluded_, 0);
  EXPECT_EQ(running(), 0u);
}

}  // namespace
}  // namespace kprof
