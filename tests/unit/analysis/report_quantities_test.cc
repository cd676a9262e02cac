#include "daemon/analysis/functions/kernel_reports/report_quantities.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <string_view>

#include "daemon/launch/ncu_metrics.h"

namespace kprof {
namespace {

// Nothing is read that nobody asks for: each quantity has a metric that the tool `ncu` requests by name, or one that
// comes with every launch or with a section of the usual set.
TEST(ReportQuantities, HaveAMetricThatIsAskedFor) {
  std::set<std::string_view> asked(std::begin(kLightNcuMetrics), std::end(kLightNcuMetrics));
  asked.insert(std::begin(kFullNcuMetrics), std::end(kFullNcuMetrics));
  const std::set<std::string_view> come_unasked = {
      "launch__sm_count",  // with every launch
      "launch__occupancy_limit_barriers",
      // With the section SourceCounters.
      "memory_l2_theoretical_sectors_global",
      "memory_l2_theoretical_sectors_global_ideal",
      "memory_l1_wavefronts_shared",
      "memory_l1_wavefronts_shared_ideal",
  };
  for (size_t i = 0; i < kQuantities; ++i) {
    const QuantityWords& words = WordsOf(static_cast<Quantity>(i));
    EXPECT_TRUE(std::any_of(words.names.begin(), words.names.end(), [&](std::string_view name) {
      return asked.contains(name) || come_unasked.contains(name);
    })) << words.label;
  }
}

// Nor is arithmetic: plain and on tensor cores, each type that has a peak.
TEST(ReportQuantities, CountArithmeticThatIsAskedFor) {
  const std::set<std::string_view> asked(std::begin(kFullNcuMetrics), std::end(kFullNcuMetrics));
  EXPECT_TRUE(asked.contains(kTensorInstructions));
  for (const std::string_view type : {"fp16", "bf16", "tf32", "fp64", "fp8", "fp4"}) {
    EXPECT_TRUE(std::any_of(asked.begin(), asked.end(), [type](std::string_view name) {
      return name.starts_with(kTensorOpsPrefix) && name.find("src_" + std::string(type)) != name.npos;
    })) << type;
  }
  for (const std::string_view name : asked) {
    if (name.find("_inst_executed_op_") != name.npos || name.starts_with(kTensorOpsPrefix)) {
      EXPECT_TRUE(IsReportMetric(name)) << name;
    }
  }
}

// The first pass is enough for a verdict: what roofline and its policies read.
TEST(ReportQuantities, OfAVerdictAreInTheFirstPass) {
  const std::set<std::string_view> asked(std::begin(kLightNcuMetrics), std::end(kLightNcuMetrics));
  using enum Quantity;
  for (const Quantity quantity : {kDuration, kComputeSol, kMemorySol, kDramThroughput, kTensorPipe, kAchievedOccupancy,
                                  kTheoreticalOccupancy, kWaves, kRegisters, kL2Hit, kLocalLoads, kLocalStores}) {
    const QuantityWords& words = WordsOf(quantity);
    EXPECT_TRUE(std::any_of(words.names.begin(), words.names.end(), [&](std::string_view name) {
      return asked.contains(name);
    })) << words.label;
  }
}

}  // namespace
}  // namespace kprof
