#include "daemon/clocks/device_counters.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace kprof {
namespace {

template <typename Told>
std::map<std::string, double> CountersOf(const Told& told) {
  std::map<std::string, double> counters;
  ForEachCounter(told, [&](size_t counter, double value) {
    EXPECT_TRUE(counters.emplace(kSampleCounters.at(counter), value).second);
  });
  return counters;
}

TEST(SampleCounters, HasEachThingInItsUnit) {
  NvidiaSample sample;
  sample.took_ns = 1'200'000;
  sample.sm_mhz = 1500;
  sample.memory_mhz = 2619;
  sample.reasons = 0x6;
  sample.power_mw = 699'500;
  sample.temperature_c = 61;
  sample.gpu_percent = 100;
  sample.memory_percent = 37;
  EXPECT_EQ(CountersOf(sample), (std::map<std::string, double>{{"sm_clock_mhz", 1500},
                                                               {"memory_clock_mhz", 2619},
                                                               {"clock_reasons", 6},
                                                               {"power_w", 699.5},
                                                               {"temperature_c", 61},
                                                               {"gpu_busy_percent", 100},
                                                               {"memory_busy_percent", 37},
                                                               {"sample_took_ns", 1'200'000}}));
  NvidiaState state;
  state.memory_used_bytes = 1ULL << 37;
  EXPECT_EQ(CountersOf(state), (std::map<std::string, double>{{"memory_used_bytes", 137'438'953'472.0}}));
}

TEST(SampleCounters, WhatADeviceDoesNotTellIsNone) {
  EXPECT_EQ(CountersOf(NvidiaSample()), (std::map<std::string, double>{{"sample_took_ns", 0}}));
  EXPECT_TRUE(CountersOf(NvidiaState()).empty());
}

}  // namespace
}  // namespace kprof
