#include "daemon/clocks/locks/clock_policy.h"

#include <gtest/gtest.h>

namespace kprof {
namespace {

NvidiaIdentity Device(const char* architecture, uint32_t max_mhz, uint32_t power_mw) {
  NvidiaIdentity identity;
  identity.architecture = architecture;
  identity.max_sm_mhz = max_mhz;
  identity.default_power_mw = power_mw;
  for (uint32_t mhz = max_mhz; mhz >= 210; mhz -= 15) identity.sm_clocks_mhz.push_back(mhz);
  return identity;
}

TEST(ClockChoice, TakesWhatADeviceHolds) {
  const struct {
    NvidiaIdentity device;
    uint32_t mhz;
  } kCases[] = {
      {Device("Hopper", 1980, 700'000), 1500},  // an H200 was seen to hold it, and not to hold 1830
      {Device("Ampere", 1410, 400'000), 1095},  // the A100's base
      {Device("Turing", 1590, 70'000), 795},   {Device("Ada", 2040, 72'000), 1020},
      {Device("Rubin", 2000, 900'000), 1490},
  };
  for (const auto& one : kCases) EXPECT_EQ(SustainableClock(one.device), one.mhz) << one.device.architecture;
}

TEST(ClockChoice, NeverTakesOneThatIsNotOffered) {
  NvidiaIdentity device = Device("Hopper", 1980, 700'000);
  device.sm_clocks_mhz = {1980, 1800};
  EXPECT_EQ(SustainableClock(device), 1800u);
  device.sm_clocks_mhz.clear();
  EXPECT_EQ(SustainableClock(device), std::nullopt);
}

TEST(ClockChoice, NamesTheNearestOfAClockThatIsNotOffered) {
  const std::vector<uint32_t> offered = {1980, 1965, 345};
  EXPECT_TRUE(CheckOffered(1965, offered, "lock").ok());
  EXPECT_TRUE(CheckOffered(1234, {}, "lock").ok());
  const Status between = CheckOffered(1500, offered, "lock");
  EXPECT_EQ(between.code(), ErrorCode::kUsage);
  EXPECT_NE(between.remedy().find("345 or 1965 MHz"), std::string::npos) << between.remedy();
  EXPECT_NE(CheckOffered(100, offered, "lock").remedy().find("are 345 MHz"), std::string::npos);
  EXPECT_NE(CheckOffered(5000, offered, "lock").remedy().find("are 1980 MHz"), std::string::npos);
}

}  // namespace
}  // namespace kprof
