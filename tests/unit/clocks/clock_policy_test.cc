#include "daemon/clocks/locks/clock_policy.h"

#include <gtest/gtest.h>

namespace kprof {
namespace {

using Mode = ClockPolicy::Mode;

TEST(ClockPolicy, ReadsEachForm) {
  const struct {
    const char* text;
    ClockPolicy policy;
  } kCases[] = {
      {"none", {Mode::kNone, 0, {}, {}, false}},
      {"lock", {Mode::kLock, 0, {}, {}, false}},
      {"lock!", {Mode::kLock, 0, {}, {}, true}},
      {"base", {Mode::kBase, 0, {}, {}, false}},
      {"base!", {Mode::kBase, 0, {}, {}, true}},
      {"lock=1500", {Mode::kFixed, 1500, {}, {}, false}},
      {"lock=1500!", {Mode::kFixed, 1500, {}, {}, true}},
      {"lock,mem=2619", {Mode::kLock, 0, 2619, {}, false}},
      {"lock=1500,power=500,mem=2619!", {Mode::kFixed, 1500, 2619, 500, true}},
  };
  for (const auto& one : kCases) {
    Result<ClockPolicy> policy = ParseClockPolicy(one.text, "capture");
    ASSERT_TRUE(policy.ok()) << one.text;
    EXPECT_EQ(*policy, one.policy) << one.text;
  }
}

TEST(ClockPolicy, RefusesWhatIsNone) {
  for (const char* text :
       {"", "!", "none!", "Lock", "lock=", "lock=0", "lock=01500", "lock=-1", "lock=1500MHz", "lock=100000", "lock!!",
        "boost", "lock=1500,1500", "mem=2619", "lock,", ",lock", "lock,mem=1,mem=2", "lock,power", "none,mem=5"}) {
    const Status status = ParseClockPolicy(text, "capture").status();
    EXPECT_EQ(status.code(), ErrorCode::kUsage) << text;
    EXPECT_NE(status.remedy(), "") << text;
  }
}

}  // namespace
}  // namespace kprof
