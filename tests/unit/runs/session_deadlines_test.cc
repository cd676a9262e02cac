#include "daemon/runs/sessions/session_deadlines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/base/fake_clock.h"

namespace kprof {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class SessionDeadlinesTest : public testing::Test {
 protected:
  SessionDeadlinesTest() {
    row_.opened_ns = clock_.unix_ns();
    row_.queue_timeout_ms = 60'000;
    row_.ttl_ms = 3'600'000;
    row_.idle_timeout_ms = 600'000;
    row_.expires_ns = clock_.unix_ns() + row_.ttl_ms * kNanosPerMilli;
  }
  void Pass(int64_t ms) {
    clock_.Advance(ms * kNanosPerMilli);
    loop_.RunUntilIdle();
  }

  FakeClock clock_;
  IoLoop loop_{clock_};
  SessionRow row_;
  std::vector<ErrorCode> passed_;
  SessionDeadlines deadlines_{loop_, clock_, "s", [this](const Status& why) { passed_.push_back(why.code()); }};
};

TEST_F(SessionDeadlinesTest, PassOnTimeAndSayWhy) {
  deadlines_.Wait(row_);
  Pass(59'999);
  EXPECT_THAT(passed_, IsEmpty());
  Pass(1);
  EXPECT_THAT(passed_, ElementsAre(ErrorCode::kQueueTimeout));
  deadlines_.Idle(row_);
  deadlines_.Abandon(10'000);
  Pass(10'000);
  Pass(590'000);
  EXPECT_THAT(passed_, ElementsAre(ErrorCode::kQueueTimeout, ErrorCode::kClientGone, ErrorCode::kTimedOut));
}

TEST_F(SessionDeadlinesTest, DoNotPassWhereTheReasonIsGone) {
  deadlines_.Wait(row_);
  deadlines_.Idle(row_);
  deadlines_.Abandon(10'000);
  deadlines_.StopWaiting();
  deadlines_.StopIdling();
  deadlines_.StopAbandoning();
  Pass(86'400'000);
  EXPECT_THAT(passed_, IsEmpty());
}

TEST_F(SessionDeadlinesTest, GoOnOverARestart) {
  clock_.Advance(50'000 * kNanosPerMilli);  // while kprofd was away
  deadlines_.Wait(row_);
  Pass(9'999);
  EXPECT_THAT(passed_, IsEmpty());
  Pass(1);
  EXPECT_THAT(passed_, ElementsAre(ErrorCode::kQueueTimeout));
}

TEST_F(SessionDeadlinesTest, ATtlThatPassedWhileKprofdWasAwayIsSaidAtOnce) {
  clock_.Advance(row_.ttl_ms * kNanosPerMilli);
  deadlines_.Open(row_);
  EXPECT_THAT(passed_, ElementsAre(ErrorCode::kTimedOut));
}

TEST_F(SessionDeadlinesTest, AreNoLongerThanAllOfItWhenTheWallClockWasSetBack) {
  row_.opened_ns += 86'400 * kNanosPerSecond;
  *row_.expires_ns += 86'400 * kNanosPerSecond;
  deadlines_.Wait(row_);
  deadlines_.Open(row_);
  Pass(60'000);
  Pass(3'540'000);
  EXPECT_THAT(passed_, ElementsAre(ErrorCode::kQueueTimeout, ErrorCode::kTimedOut));
}

TEST_F(SessionDeadlinesTest, NoneAreLeftAfterStop) {
  deadlines_.Wait(row_);
  deadlines_.Stop();
  deadlines_.Abandon(10'000);
  row_.expires_ns = 1;
  deadlines_.Open(row_);
  Pass(86'400'000);
  EXPECT_THAT(passed_, IsEmpty());
}

TEST_F(SessionDeadlinesTest, WithoutOneNothingPasses) {
  row_.queue_timeout_ms = row_.idle_timeout_ms = row_.ttl_ms = 0;
  row_.expires_ns.reset();
  deadlines_.Wait(row_);
  deadlines_.Open(row_);
  deadlines_.Idle(row_);
  Pass(86'400'000);
  EXPECT_THAT(passed_, IsEmpty());
}

}  // namespace
}  // namespace kprof
