#include "daemon/devices/nvidia/nvidia_facts.h"

#include <gmock/gmock.h>

namespace kprof {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ClockReasons, NamesEachBitThatIsSet) {
  EXPECT_THAT(ClockReasonNames(0), IsEmpty());
  EXPECT_THAT(ClockReasonNames(0x1ff), ElementsAre("idle", "application_clocks", "power_cap", "hw_slowdown",
                                                   "sync_boost", "thermal", "hw_thermal", "power_brake", "display"));
}

TEST(ClockReasons, ABitWithoutANameIsItsNumber) {
  EXPECT_THAT(ClockReasonNames(uint64_t{1} << 40 | 0x4), ElementsAre("power_cap", "0x10000000000"));
}

TEST(ClockReasons, WhatThrottlesIsWhatTheReferenceSays) {
  EXPECT_EQ(clock_reasons::kThrottles, 0xecu);
}

}  // namespace
}  // namespace kprof
