#include "daemon/runs/retention/expiry_clock.h"

#include <gtest/gtest.h>

#include "storage/catalog/retention.h"
#include "tests/unit/runs/runs_fixture.h"

namespace kprof {
namespace {

constexpr int64_t kHour = int64_t{3600} * kNanosPerSecond;
constexpr int64_t kDay = 24 * kHour;

class ExpiryClockTest : public RunsFixture, public testing::Test {
 protected:
  ExpiryClockTest() { EXPECT_TRUE(Open().ok()); }
  ~ExpiryClockTest() override { expiry_clock_.reset(); }

  // A start of the daemon, with a clock that is so far ahead of what is known.
  ExpiryClock& StartAhead(int64_t ahead_ns) {
    expiry_clock_ = std::make_unique<ExpiryClock>(*loop_, clock_, catalog_->writer(), clock_.unix_ns() - ahead_ns);
    return *expiry_clock_;
  }
  void Jump(int64_t by_ns) { clock_.SetUnix(clock_.unix_ns() + by_ns); }
  int64_t Noted() {
    EXPECT_TRUE(catalog_->writer().SubmitAndWait([](Db&) { return OkStatus(); }).ok());
    Result<ReaderPool::Lease> reader = catalog_->readers().Borrow();
    return (*ReadKnownTime(**reader)).value_or(0);
  }

  std::unique_ptr<ExpiryClock> expiry_clock_;
};

TEST_F(ExpiryClockTest, IsBelievedWhereItShouldBe) {
  for (int64_t ahead_ns : {int64_t{0}, kHour, kDay, -kHour, -400 * kDay}) {
    EXPECT_EQ(StartAhead(ahead_ns).Now(), clock_.unix_ns()) << ahead_ns;
  }
}

TEST_F(ExpiryClockTest, IsBelievedOfAnEmptyCatalog) {
  ExpiryClock clock(*loop_, clock_, catalog_->writer(), std::nullopt);
  EXPECT_EQ(clock.Now(), clock_.unix_ns());
}

TEST_F(ExpiryClockTest, IsNotBelievedAfterALongPauseBeforeItHasGoneSteadily) {
  StartAhead(400 * kDay);
  for (int64_t up_ns = 0; up_ns < ExpiryClock::kSteadyNs; up_ns += kHour) {
    EXPECT_EQ(expiry_clock_->Now(), std::nullopt) << up_ns / kHour << " h";
    clock_.Advance(kHour);
  }
  EXPECT_EQ(expiry_clock_->Now(), clock_.unix_ns());
}

TEST_F(ExpiryClockTest, IsBelievedAsSoonAsItIsSetRight) {
  StartAhead(400 * kDay);
  EXPECT_EQ(expiry_clock_->Now(), std::nullopt);
  Jump(-400 * kDay);
  EXPECT_EQ(expiry_clock_->Now(), clock_.unix_ns());
}

TEST_F(ExpiryClockTest, IsNotBelievedWhenItJumpsUnderTheDaemon) {
  StartAhead(0);
  clock_.Advance(10 * kDay);
  EXPECT_EQ(expiry_clock_->Now(), clock_.unix_ns());
  Jump(400 * kDay);
  EXPECT_EQ(expiry_clock_->Now(), std::nullopt);
  clock_.Advance(ExpiryClock::kSteadyNs - 1);
  EXPECT_EQ(expiry_clock_->Now(), std::nullopt);
  Jump(kHour);  // again
  EXPECT_EQ(expiry_clock_->Now(), std::nullopt);
  clock_.Advance(ExpiryClock::kSteadyNs - 1);
  EXPECT_EQ(expiry_clock_->Now(), std::nullopt);
  clock_.Advance(1);
  EXPECT_EQ(expiry_clock_->Now(), clock_.unix_ns());
}

TEST_F(ExpiryClockTest, OneWithoutABatteryIsBelievedBeforeAndAfterItIsSet) {
  StartAhead(-20'000 * kDay);
  EXPECT_EQ(expiry_clock_->Now(), clock_.unix_ns());
  Jump(20'000 * kDay);
  EXPECT_EQ(expiry_clock_->Now(), clock_.unix_ns());
}

TEST_F(ExpiryClockTest, WhatItWasWrongByIsNotWhatIsKnownAtTheNextStart) {
  const int64_t real_ns = clock_.unix_ns();
  Jump(400 * kDay);
  StartAhead(400 * kDay).Begin();
  EXPECT_EQ(Noted(), real_ns);
  Pass(2 * ExpiryClock::kNoteEveryNs / kNanosPerMilli);
  EXPECT_EQ(Noted(), real_ns + 2 * ExpiryClock::kNoteEveryNs);
  Jump(-400 * kDay);
  Pass(ExpiryClock::kNoteEveryNs / kNanosPerMilli);
  EXPECT_EQ(Noted(), clock_.unix_ns());
}

TEST_F(ExpiryClockTest, RunsExpireByNoClockThatIsNotBelieved) {
  const std::string id = SubmitOk();
  ASSERT_TRUE(GoesOn(0));
  launcher_->at(0).Ended(ExitCode(0));
  ASSERT_TRUE(HasEnded(id));
  RunContext parts{*loop_,    clock_,     *workers_, *workers_, *workers_, disk_.files,
                   *catalog_, *launcher_, devices_,  output_,   observer_};
  parts.expiry_clock = &StartAhead(0);
  std::vector<std::string> expired;
  RetentionSweep sweep(parts, {.max_age_ns = kDay}, [&](const std::string& run) { expired.push_back(run); });
  Jump(400 * kDay);
  sweep.Begin();
  loop_->RunUntilIdle();
  EXPECT_EQ(expired, std::vector<std::string>());
  Pass((ExpiryClock::kSteadyNs + kHour) / kNanosPerMilli);
  EXPECT_EQ(expired.empty(), false) << "it was not off by mistake";
  sweep.Stop();
}

}  // namespace
}  // namespace kprof
