#include "daemon/access/call_admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/base/fake_clock.h"

namespace kprof {
namespace {

using testing::HasSubstr;

constexpr CallLimits kLimits{.in_flight = 3, .per_second = 10};

struct Heard final : CallObserver {
  void CallBegan(Rpc) override { ++began; }
  void CallEnded(Rpc rpc, CanonicalCode code, int64_t duration_ns) override {
    ++ended;
    last_rpc = rpc;
    last_code = code;
    last_duration_ns = duration_ns;
  }
  void CallRefused(const Caller& caller, Rpc rpc, const Status& why) override {
    refused.push_back(std::to_string(caller.uid) + " " + RuleOf(rpc).method + " " + std::string(ErrorName(why.code())));
  }
  std::vector<std::string> refused;
  int began = 0;
  int ended = 0;
  Rpc last_rpc{};
  CanonicalCode last_code{};
  int64_t last_duration_ns = 0;
};

class CallerDeskTest : public testing::Test {
 protected:
  FakeClock clock_;
  Heard heard_;
  CallTotals totals_;
  std::shared_ptr<CallerAccount> account_ = std::make_shared<CallerAccount>(clock_, "uid 1000", kLimits, totals_);
  CallAdmission admission_{clock_, Caller{1000, Role::kViewer, true, {}}, account_, OkStatus(), &heard_};

  void Leave() { admission_.Leave(Rpc::kGetRun, CanonicalCode::kOk, 0); }
};

TEST_F(CallerDeskTest, BoundsTheCallsUnderWay) {
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(admission_.Enter(Rpc::kGetRun).ok());
  const Status refused = admission_.Enter(Rpc::kGetRun);
  EXPECT_EQ(refused.code(), ErrorCode::kQueueFull);
  EXPECT_THAT(refused.ToString(), HasSubstr("uid 1000 has 3 calls under way already"));
  Leave();
  Leave();  // the refused one leaves, too
  EXPECT_TRUE(admission_.Enter(Rpc::kGetRun).ok());
  EXPECT_EQ(admission_.calls_in_flight(), 3);
}

TEST_F(CallerDeskTest, BoundsHowFastTheyCome) {
  for (int i = 0; i < 20; ++i) {  // two seconds' worth at once
    EXPECT_TRUE(admission_.Enter(Rpc::kGetRun).ok()) << i;
    Leave();
  }
  const Status refused = admission_.Enter(Rpc::kGetRun);
  Leave();
  EXPECT_EQ(refused.code(), ErrorCode::kQueueFull);
  EXPECT_THAT(refused.ToString(), HasSubstr("more than 10 calls a second"));
  clock_.Advance(200 * kNanosPerMilli);
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(admission_.Enter(Rpc::kGetRun).ok()) << i;
    Leave();
  }
  EXPECT_FALSE(admission_.Enter(Rpc::kGetRun).ok());
}

TEST_F(CallerDeskTest, ALongQuietSavesNothingUp) {
  clock_.Advance(3600 * 1000 * kNanosPerMilli);
  int admitted = 0;
  for (int i = 0; i < 100; ++i) {
    admitted += admission_.Enter(Rpc::kGetRun).ok() ? 1 : 0;
    Leave();
  }
  EXPECT_EQ(admitted, 20);
}

TEST_F(CallerDeskTest, TellsOfARefusalWhoItWasAndWhy) {
  EXPECT_FALSE(admission_.Enter(Rpc::kBackUpCatalog).ok());
  Leave();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(admission_.Enter(Rpc::kGetRun).ok());
  EXPECT_FALSE(admission_.Enter(Rpc::kListRuns).ok());
  EXPECT_THAT(heard_.refused, testing::ElementsAre("1000 kprof.v1.NodeService/BackUpCatalog not_permitted",
                                                   "1000 kprof.v1.RunsService/ListRuns queue_full"));
}

TEST_F(CallerDeskTest, SaysNothingOfTheCallsOfWhoWasTurnedAwayAlready) {
  CallAdmission admission(clock_, Caller(), account_, Fail(ErrorCode::kNotPermitted, "connect", "no role"), &heard_);
  EXPECT_FALSE(admission.Enter(Rpc::kGetRun).ok());
  EXPECT_TRUE(heard_.refused.empty());
}

TEST_F(CallerDeskTest, TellsOfEachCallAlsoOfTheRefused) {
  EXPECT_FALSE(admission_.Enter(Rpc::kBackUpCatalog).ok());
  clock_.Advance(7);
  admission_.Leave(Rpc::kBackUpCatalog, CanonicalCode::kPermissionDenied, clock_.mono_ns() - 7);
  EXPECT_EQ(heard_.began, 1);
  EXPECT_EQ(heard_.ended, 1);
  EXPECT_EQ(heard_.last_rpc, Rpc::kBackUpCatalog);
  EXPECT_EQ(heard_.last_code, CanonicalCode::kPermissionDenied);
  EXPECT_EQ(heard_.last_duration_ns, 7);
}

TEST_F(CallerDeskTest, OnceClosedItTellsToConnectAgain) {
  EXPECT_TRUE(admission_.Enter(Rpc::kGetRun).ok());
  admission_.Close();
  const Status refused = admission_.Enter(Rpc::kGetRun);
  EXPECT_EQ(refused.code(), ErrorCode::kNoDaemon);
  EXPECT_THAT(refused.remedy(), HasSubstr("connect again"));
  EXPECT_EQ(admission_.calls_in_flight(), 2);
  Leave();
  Leave();
  EXPECT_EQ(admission_.calls_in_flight(), 0);
}

TEST_F(CallerDeskTest, NewLimitsHoldAtOnce) {
  EXPECT_TRUE(admission_.Enter(Rpc::kGetRun).ok());
  account_->SetLimits({.in_flight = 1, .per_second = 10});
  EXPECT_FALSE(admission_.Enter(Rpc::kGetRun).ok());
}

TEST_F(CallerDeskTest, TwoOfOneAccountHaveItsLimitsBetweenThem) {
  CallAdmission other(clock_, Caller{100000, Role::kViewer, true, {}}, account_, OkStatus(), nullptr);
  EXPECT_TRUE(admission_.Enter(Rpc::kGetRun).ok());
  EXPECT_TRUE(admission_.Enter(Rpc::kGetRun).ok());
  EXPECT_TRUE(other.Enter(Rpc::kGetRun).ok());
  EXPECT_EQ(other.Enter(Rpc::kGetRun).code(), ErrorCode::kQueueFull);
  EXPECT_EQ(admission_.calls_in_flight(), 2);  // and yet each knows its own
}

TEST_F(CallerDeskTest, ThatOfTheRefusedSaysWhyToEverything) {
  const Status why = Fail(ErrorCode::kNotPermitted, "connect", "no");
  CallAdmission admission(clock_, Caller(), account_, why, nullptr);
  EXPECT_EQ(admission.Enter(Rpc::kGetStatus).ToString(), why.ToString());
}

}  // namespace
}  // namespace kprof
