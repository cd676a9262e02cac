#include "daemon/clocks/conditions.h"

#include <gmock/gmock.h>

#include "daemon/devices/nvidia/nvidia_facts.h"
#include "storage/base/clock.h"

namespace kprof {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t kPeriodNs = 100 * kNanosPerMilli;

// One every 100 ms.
class ConditionsTest : public testing::Test {
 protected:
  void Add(Conditions& conditions, int count, uint32_t sm_mhz, uint64_t reasons = 0, uint32_t gpu_percent = 100) {
    for (int i = 0; i < count; ++i) {
      NvidiaSample sample;
      sample.mono_ns = now_ns_;
      sample.sm_mhz = sm_mhz;
      sample.reasons = reasons;
      sample.gpu_percent = gpu_percent;
      sample.power_mw = 699'000;
      sample.temperature_c = 61;
      conditions.Add(sample);
      now_ns_ += kPeriodNs;
    }
  }
  int64_t now_ns_ = kNanosPerSecond;
};

TEST_F(ConditionsTest, SaysNothingOfAClockThatIsHeld) {
  Conditions conditions("0", 1500);
  Add(conditions, 100, 1500, clock_reasons::kApplicationClocks);
  Add(conditions, 50, 1485);  // a step beside it
  Add(conditions, 50, 210, clock_reasons::kIdle, 0);
  EXPECT_THAT(conditions.Reasons(), IsEmpty());
  EXPECT_EQ(conditions.least_sm_mhz(), 1485u);
}

TEST_F(ConditionsTest, SaysHowMuchOfTheRunTheClockWasBelowTheLock) {
  Conditions conditions("3", 1500);
  Add(conditions, 88, 1500);
  Add(conditions, 12, 1365, clock_reasons::kPowerCap);
  Add(conditions, 1, 1500);
  EXPECT_THAT(conditions.Reasons(),
              ElementsAre(Condition{"clocks_not_held",
                                    "device 3: SM clock below the lock for 12 % of the run, min "
                                    "1,365 of 1,500 MHz, reason SW power cap"},
                          Condition{"power_capped", "device 3: SW power cap for 12 % of the run, up to 699 W"}));
}

TEST_F(ConditionsTest, TheLastSampleStandsUntilTheEnd) {
  Conditions conditions("0", 1500);
  Add(conditions, 9, 1500);
  Add(conditions, 1, 1365, clock_reasons::kPowerCap);
  conditions.End(now_ns_);
  EXPECT_EQ(conditions.watched_ns(), 10 * kPeriodNs);
  EXPECT_THAT(conditions.Reasons().front().message, HasSubstr("for 10 % of the run"));
  conditions.End(now_ns_ + kNanosPerSecond);
  EXPECT_EQ(conditions.watched_ns(), 10 * kPeriodNs) << "it has ended";
}

TEST_F(ConditionsTest, ASampleStandsForNoMoreThanTwoSeconds) {
  Conditions conditions("0", std::nullopt);
  Add(conditions, 1, 1500);
  conditions.End(now_ns_ + 3600 * kNanosPerSecond);
  EXPECT_EQ(conditions.watched_ns(), 2 * kNanosPerSecond);
}

TEST_F(ConditionsTest, AClockAboveTheLockIsSomebodyElses) {
  Conditions conditions("0", 1500);
  Add(conditions, 50, 1500);
  Add(conditions, 50, 1980);
  EXPECT_THAT(conditions.Reasons(),
              ElementsAre(Field(&Condition::message, HasSubstr("above the lock for 49 % of the run, max 1,980"))));
}

TEST_F(ConditionsTest, OfADeviceThatIsNotLockedOnlyWhatThrottlesItIsSaid) {
  Conditions conditions("0", std::nullopt);
  Add(conditions, 50, 1980);
  Add(conditions, 50, 1200, clock_reasons::kHardwareThermal | clock_reasons::kHardwareSlowdown);
  EXPECT_THAT(conditions.Reasons(),
              ElementsAre(Condition{"throttled", "device 0: HW slowdown for 49 % of the run, up to 61 C"},
                          Condition{"throttled", "device 0: HW thermal slowdown for 49 % of the run, up to 61 C"}));
  EXPECT_EQ(conditions.most_sm_mhz(), 1980u);
}

TEST_F(ConditionsTest, ASamplerThatWasHeldUpSaysNothingOfTheTimeBetween) {
  Conditions conditions("0", 1500);
  Add(conditions, 1, 1200);
  now_ns_ += 3600 * kNanosPerSecond;
  Add(conditions, 1000, 1500);
  ASSERT_EQ(conditions.Reasons().size(), 1u);
  EXPECT_THAT(conditions.Reasons()[0].message, HasSubstr("for 2.0 % of the run"));
}

TEST_F(ConditionsTest, NamesTheFirstOfThoseWhoUsedItToo) {
  Conditions conditions("0", std::nullopt);
  for (uint32_t pid : {7, 7, 8, 9, 10, 11}) conditions.AddForeign(pid, "pid " + std::to_string(pid));
  EXPECT_THAT(conditions.Reasons(),
              ElementsAre(Condition{"device_shared",
                                    "device 0: others used it during the run: pid 7, pid 8, pid 9 and 2 more"}));
}

TEST_F(ConditionsTest, SaysWhatTheDeviceComplainedOf) {
  Conditions conditions("0", std::nullopt);
  conditions.AddMemoryErrors(4);
  conditions.AddMemoryErrors(4);
  conditions.AddMemoryErrors(6);
  conditions.AddXid(79);
  conditions.AddXid(79);
  EXPECT_THAT(conditions.Reasons(),
              ElementsAre(Condition{"memory_errors", "device 0: 2 uncorrected memory errors during the run"},
                          Condition{"device_error", "device 0: the driver reported Xid 79"}));
}

TEST_F(ConditionsTest, CountsEachMemoryFromWhereItBegan) {
  Conditions conditions("nd0", std::nullopt);
  conditions.AddMemoryErrors(3, Conditions::Memory::kDevice);
  conditions.AddMemoryErrors(std::nullopt, Conditions::Memory::kSram);
  conditions.AddMemoryErrors(7, Conditions::Memory::kSram);  // told for the first time
  conditions.AddMemoryErrors(3, Conditions::Memory::kDevice);
  EXPECT_THAT(conditions.Reasons(), IsEmpty());
  conditions.AddMemoryErrors(8, Conditions::Memory::kSram);
  conditions.AddMemoryErrors(5, Conditions::Memory::kDevice);
  EXPECT_THAT(conditions.Reasons(),
              ElementsAre(Condition{"memory_errors", "device nd0: 3 uncorrected memory errors during the run"}));
}

TEST_F(ConditionsTest, CountsExecutionsWithErrorsAlsoPastADriverThatBeginsAnew) {
  Conditions conditions("nd0", std::nullopt);
  conditions.AddExecutionErrors(1000);
  conditions.AddExecutionErrors(std::nullopt);
  conditions.AddExecutionErrors(1000);
  EXPECT_THAT(conditions.Reasons(), IsEmpty());
  conditions.AddExecutionErrors(2200);
  conditions.AddExecutionErrors(0);
  conditions.AddExecutionErrors(34);
  EXPECT_THAT(conditions.Reasons(),
              ElementsAre(Condition{"execution_errors", "device nd0: 1,234 executions with errors during the run"}));
}

TEST_F(ConditionsTest, ASampleStandsForAsLongAsItsSourceSays) {
  Conditions seldom("nd0", std::nullopt, 11 * kNanosPerSecond);
  Conditions often("0", std::nullopt);
  for (Conditions* conditions : {&seldom, &often}) {
    conditions->Add(NvidiaSample{.mono_ns = 0});
    conditions->Add(NvidiaSample{.mono_ns = 5 * kNanosPerSecond});
    conditions->End(100 * kNanosPerSecond);
  }
  EXPECT_EQ(seldom.watched_ns(), 16 * kNanosPerSecond);
  EXPECT_EQ(often.watched_ns(), 4 * kNanosPerSecond);
}

TEST_F(ConditionsTest, SaysNothingWhereNothingWasSeen) {
  EXPECT_THAT(Conditions("0", 1500).Reasons(), IsEmpty());
}

TEST_F(ConditionsTest, OfARunWithoutSamplesItSaysWhatThrottledTheDeviceJustAfter) {
  Conditions conditions("1", 1500);
  conditions.End(now_ns_);
  NvidiaSample after;
  after.reasons = clock_reasons::kPowerCap | clock_reasons::kThermal | clock_reasons::kIdle;
  after.temperature_c = 88;
  after.power_mw = 700'000;
  conditions.AddAfter(after);
  EXPECT_THAT(conditions.Reasons(),
              ElementsAre(Condition{"power_capped", "device 1: SW power cap just after the run, at 700 W"},
                          Condition{"throttled", "device 1: SW thermal slowdown just after the run, at 88 C"}));
  EXPECT_EQ(conditions.samples(), 0);
}

TEST_F(ConditionsTest, WhatThrottledTheDeviceIsSaidOnce) {
  Conditions conditions("1", std::nullopt);
  Add(conditions, 2, 1500, clock_reasons::kThermal);
  conditions.End(now_ns_);
  NvidiaSample after;
  after.reasons = clock_reasons::kThermal;
  conditions.AddAfter(after);
  EXPECT_THAT(conditions.Reasons(),
              ElementsAre(Condition{"throttled", "device 1: SW thermal slowdown for 100 % of the run, up to 61 C"}));
}

}  // namespace
}  // namespace kprof
