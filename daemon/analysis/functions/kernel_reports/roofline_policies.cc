#include "daemon/analysis/functions/kernel_reports/roofline_policies.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "storage/base/readable_text.h"
#include "storage/trace/format/event_args.h"

namespace kprof {
namespace {

constexpr PolicyParameter kAtRoofline{"threshold", 95, "At the roofline from this efficiency on"};
constexpr PolicyParameter kTensorInUse{"tensor", 5, "Tensor cores are in use above this"};
constexpr PolicyParameter kLocalHits{"hit", 80, "Below this L2 hit rate data is not local"};

// The busier unit bounds a kernel; with both below `low` nothing does. A tie is memory.
void ClassifyBySol(const ChosenPolicy& policy, const RoofPercents& of, RoofVerdict& verdict) {
  if (!of.compute && !of.memory) {
    verdict.warnings.emplace_back("Analysis failed - no SOL metrics in NCU data");
    return;
  }
  const double compute = of.compute.value_or(0);
  const double memory = of.memory.value_or(0);
  if (memory < policy["low"] && compute < policy["low"]) {
    verdict.bottleneck = Bottleneck::kUnderutilized;
  } else {
    verdict.bottleneck = memory >= compute ? Bottleneck::kMemory : Bottleneck::kCompute;
  }
}

// The tensor pipe and DRAM: what is above its limit bounds the kernel, and both may be.
void ClassifyByPipes(const ChosenPolicy& policy, const RoofPercents& of, RoofVerdict& verdict) {
  if (!of.tensor && !of.dram) {
    verdict.warnings.emplace_back("Tensor and DRAM metrics missing");
    return;
  }
  if (!of.tensor) verdict.warnings.emplace_back("Tensor metric missing");
  if (!of.dram) verdict.warnings.emplace_back("DRAM metric missing");
  const bool is_tensor_high = of.tensor.value_or(0) > policy["tc"];
  const bool is_dram_high = of.dram.value_or(0) > policy["dram"];
  if (is_tensor_high && is_dram_high) {
    verdict.bottleneck = Bottleneck::kBalanced;
  } else if (is_dram_high) {
    verdict.bottleneck = Bottleneck::kMemory;
  } else {
    verdict.bottleneck = is_tensor_high ? Bottleneck::kCompute : Bottleneck::kUnderutilized;
  }
}

Status BadPolicy(std::string why, std::string remedy) {
  return Fail(ErrorCode::kUsage, "choose a policy of the roofline", std::move(why), std::move(remedy));
}

std::string NamesOfPolicies() {
  std::string names;
  for (const RooflinePolicy& policy : RooflinePolicies())
    names += (names.empty() ? "" : ", ") + std::string(policy.name);
  return names;
}

std::string NamesOfParameters(const RooflinePolicy& policy) {
  std::string names;
  for (const PolicyParameter& one : policy.parameters) names += (names.empty() ? "" : ", ") + std::string(one.name);
  return names;
}

std::string_view BusiestMemory(const RoofPercents& of) {
  const std::pair<std::optional<double>, std::string_view> levels[] = {{of.dram, "dram"}, {of.l2, "l2"}, {of.l1, "l1"}};
  std::string_view busiest;
  double most = -1;
  bool has_all = true;
  for (const auto& [percent, name] : levels) {
    has_all &= percent.has_value();
    if (!percent || *percent <= most) continue;
    most = *percent;
    busiest = name;
  }
  // The memory's throughput is that of its busiest unit: where it is far above those that are known, another one is.
  constexpr double kNearEnough = 0.9;
  const bool is_another = !has_all && of.memory && most < *of.memory * kNearEnough;
  return is_another ? "" : busiest;
}

}  // namespace

std::string_view BottleneckName(Bottleneck bottleneck) {
  switch (bottleneck) {
    case Bottleneck::kUnknown:
      return "unknown";
    case Bottleneck::kMemory:
      return "memory";
    case Bottleneck::kCompute:
      return "compute";
    case Bottleneck::kUnderutilized:
      return "underutilized";
    case Bottleneck::kBalanced:
      return "balanced";
  }
  return "";
}

std::span<const RooflinePolicy> RooflinePolicies() {
  static const std::vector<RooflinePolicy> kPolicies = {
      {.name = "sol-95-60",
       .version = 1,
       .meaning = "The busier of compute and memory bounds a kernel; with both low it is underutilized",
       .parameters = {kAtRoofline, kTensorInUse, {"low", 60, "Both below this: underutilized"}, kLocalHits},
       .classify = &ClassifyBySol},
      {.name = "tc60-dram70",
       .version = 1,
       .meaning = "The tensor pipe above tc is compute, DRAM above dram memory, both balanced, neither underutilized",
       .parameters = {{"tc", 60, "The tensor pipe is busy above this"},
                      {"dram", 70, "DRAM is busy above this"},
                      kAtRoofline,
                      kTensorInUse,
                      kLocalHits},
       .classify = &ClassifyByPipes},
  };
  return kPolicies;
}

Result<ChosenPolicy> ChosenPolicy::Read(std::string_view text) {
  const std::string_view name = text.substr(0, text.find(','));
  const std::span<const RooflinePolicy> policies = RooflinePolicies();
  const auto found =
      std::find_if(policies.begin(), policies.end(), [name](const RooflinePolicy& one) { return one.name == name; });
  if (found == policies.end()) {
    return BadPolicy("there is no policy '" + ReadableText(std::string(name)) + "'", "there are " + NamesOfPolicies());
  }
  ChosenPolicy chosen;
  chosen.policy_ = &*found;
  for (const PolicyParameter& one : found->parameters) chosen.values_.push_back(one.by_default);
  std::vector<bool> is_given(chosen.values_.size());
  while (name.size() < text.size()) {
    text.remove_prefix(text.find(',') + 1);
    const std::string_view one = text.substr(0, text.find(','));
    const std::string_view parameter = one.substr(0, one.find('='));
    const auto known = std::find_if(found->parameters.begin(), found->parameters.end(),
                                    [parameter](const PolicyParameter& of) { return of.name == parameter; });
    if (known == found->parameters.end()) {
      return BadPolicy(std::string(name) + " has no parameter '" + ReadableText(std::string(parameter)) + "'",
                       "it has " + NamesOfParameters(*found));
    }
    const auto place = static_cast<size_t>(known - found->parameters.begin());
    if (is_given[place])
      return BadPolicy("its parameter " + std::string(parameter) + " is there twice", "give it once");
    is_given[place] = true;
    const std::string_view value = one.substr(std::min(one.size(), parameter.size() + 1));
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), chosen.values_[place]);
    const bool is_percent = error == std::errc() && end == value.data() + value.size() && chosen.values_[place] >= 0 &&
                            chosen.values_[place] <= 100;
    if (!is_percent) {
      return BadPolicy(
          "its parameter " + std::string(parameter) + " cannot be '" + ReadableText(std::string(value)) + "'",
          "it is a number from 0 to 100, of percent");
    }
    if (text.find(',') == text.npos) break;
  }
  return chosen;
}

double ChosenPolicy::operator[](std::string_view parameter) const {
  for (size_t i = 0; i < values_.size(); ++i) {
    if (policy_->parameters[i].name == parameter) return values_[i];
  }
  KPROF_CHECK(false);
  return 0;
}

std::string ChosenPolicy::ParametersJson() const {
  std::string text = "{";
  for (size_t i = 0; i < values_.size(); ++i) {
    CounterTextBuffer buffer;
    text += std::string(i == 0 ? "" : ",") + '"' + policy_->parameters[i].name + "\":";
    text += CounterText(values_[i], buffer);
  }
  return text + "}";
}

RoofVerdict ChosenPolicy::Judge(const RoofPercents& of) const {
  RoofVerdict verdict;
  if (of.tensor) verdict.uses_tensor_cores = *of.tensor > (*this)["tensor"];
  if (of.l2_hit) verdict.is_local = *of.l2_hit >= (*this)["hit"];
  verdict.memory_level = BusiestMemory(of);
  if (of.compute || of.memory) {
    if (!of.compute) verdict.warnings.emplace_back("Compute SOL metric missing");
    if (!of.memory) verdict.warnings.emplace_back("Memory SOL metric missing");
    verdict.efficiency = std::max(of.compute.value_or(0), of.memory.value_or(0));
    verdict.headroom = std::max(0.0, 100 - *verdict.efficiency);
    verdict.at_roofline = *verdict.efficiency >= (*this)["threshold"];
  }
  policy_->classify(*this, of, verdict);
  return verdict;
}

}  // namespace kprof
