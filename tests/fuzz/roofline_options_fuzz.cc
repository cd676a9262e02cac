// Options of the roofline as anybody may write them: policies with parameters, and stages in JSON. What is taken is
// within its bounds, and what is not is a usage error.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "daemon/analysis/functions/kernel_reports/roofline_policies.h"
#include "daemon/launch/given/stage_costs.h"

namespace kprof {
namespace {

void CheckPolicy(std::string_view text) {
  const Result<ChosenPolicy> policy = ChosenPolicy::Read(text);
  if (!policy.ok()) {
    KPROF_CHECK(policy.status().code() == ErrorCode::kUsage);
    return;
  }
  for (const PolicyParameter& one : policy->policy().parameters) {
    KPROF_CHECK((*policy)[one.name] >= 0 && (*policy)[one.name] <= 100);
  }
  const RoofVerdict verdict = policy->Judge({.compute = 50, .memory = 50, .dram = 50, .tensor = 50});
  KPROF_CHECK(verdict.bottleneck != Bottleneck::kUnknown);
}

void CheckStages(std::string_view text) {
  const Result<std::vector<StageCost>> stages = ReadStageCosts(text, "it");
  if (!stages.ok()) {
    KPROF_CHECK(stages.status().code() == ErrorCode::kUsage);
    return;
  }
  KPROF_CHECK(!stages->empty() && stages->size() <= 256);
  for (const StageCost& stage : *stages) {
    KPROF_CHECK(!stage.stage.empty());
    for (const std::optional<double>& number : {stage.flops, stage.bytes, stage.times}) {
      KPROF_CHECK(!number || (std::isfinite(*number) && *number >= 0));
    }
  }
}

}  // namespace
}  // namespace kprof

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] == 'p') {
    kprof::CheckPolicy(text);
  } else {
    kprof::CheckStages(text);
  }
  return 0;
}
