#include "daemon/access/call_admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/base/fake_clock.h"

namespace kprof {
namespace {

using testing::HasSubstr;

class CallerAccountTest : public testing::Test {
 protected:
  FakeClock clock_;
  CallTotals totals_;
  CallerAccount account_{clock_, "uid 1000", {.watches = 2, .answer_bytes = 1000}, totals_};
};

TEST_F(CallerAccountTest, BoundsWatches) {
  EXPECT_TRUE(account_.TakeWatch().ok());
  EXPECT_TRUE(account_.TakeWatch().ok());
  const Status refused = account_.TakeWatch();
  EXPECT_EQ(refused.code(), ErrorCode::kQueueFull);
  EXPECT_THAT(refused.ToString(), HasSubstr("uid 1000 may watch or wait for 2 runs and sessions at a time"));
  EXPECT_EQ(totals_.watches.taken(), 2);
  account_.GiveWatchBack();
  EXPECT_TRUE(account_.TakeWatch().ok());
}

TEST_F(CallerAccountTest, BoundsTheWatchesOfAll) {
  ASSERT_TRUE(totals_.watches.Take(CallTotals::kWatches));
  const Status refused = account_.TakeWatch();
  EXPECT_EQ(refused.code(), ErrorCode::kQueueFull);
  EXPECT_THAT(refused.ToString(), HasSubstr("all users together"));
}

TEST_F(CallerAccountTest, BoundsTheBytesOfAnswers) {
  EXPECT_TRUE(account_.TakeAnswer(600).ok());
  const Status refused = account_.TakeAnswer(401);
  EXPECT_EQ(refused.code(), ErrorCode::kQueueFull);
  EXPECT_THAT(refused.ToString(), HasSubstr("600 bytes of answers to uid 1000 are not read yet"));
  EXPECT_TRUE(account_.TakeAnswer(400).ok());
  EXPECT_EQ(totals_.answer_bytes.taken(), 1000);
  account_.GiveAnswerBack(1000);
  EXPECT_EQ(totals_.answer_bytes.taken(), 0);
}

TEST_F(CallerAccountTest, BoundsTheBytesOfAnswersToAll) {
  ASSERT_TRUE(totals_.answer_bytes.Take(CallTotals::kAnswerBytes));
  const Status refused = account_.TakeAnswer(1);
  EXPECT_EQ(refused.code(), ErrorCode::kQueueFull);
  EXPECT_THAT(refused.ToString(), HasSubstr("to all users"));
  EXPECT_EQ(account_.answer_bytes(), 0);
}

}  // namespace
}  // namespace kprof
