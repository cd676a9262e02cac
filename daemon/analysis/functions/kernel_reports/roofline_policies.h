// Policies of the roofline: how the percentages of a kernel become a verdict. A policy is a row of a list, with a name,
// a version and parameters that a caller may set: "sol-95-60,threshold=90,tensor=5".
//
// Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/status.h"

namespace kprof {

// Percentages of a kernel, from 0 to 100. Nothing: the report does not have it.
struct RoofPercents {
  std::optional<double> compute;
  std::optional<double> memory;  // of all memory units, the busiest one
  std::optional<double> dram;
  std::optional<double> l1;
  std::optional<double> l2;
  std::optional<double> tensor;
  std::optional<double> l2_hit;
};

enum class Bottleneck : uint8_t { kUnknown, kMemory, kCompute, kUnderutilized, kBalanced };
std::string_view BottleneckName(Bottleneck bottleneck);  // "memory"

struct RoofVerdict {
  std::optional<double> efficiency;  // the higher one of compute and memory
  std::optional<double> headroom;    // to 100
  bool at_roofline = false;
  Bottleneck bottleneck = Bottleneck::kUnknown;
  std::optional<bool> uses_tensor_cores;
  std::optional<bool> is_local;  // false: the L2 hit rate is below the policy's `hit`
  // The memory unit that is busiest: dram, l2, l1. Empty: not known.
  std::string_view memory_level;
  std::vector<std::string> warnings;
};

struct PolicyParameter {
  const char* name = "";
  double by_default = 0;
  const char* meaning = "";
};

class ChosenPolicy;

struct RooflinePolicy {
  const char* name = "";
  int version = 1;  // of its rules: changing one raises it
  const char* meaning = "";
  std::vector<PolicyParameter> parameters;  // percent
  // Sets the bottleneck, which is unknown before, and may add warnings.
  void (*classify)(const ChosenPolicy& policy, const RoofPercents& of, RoofVerdict& verdict) = nullptr;
};

// The first one is taken where a caller asks for none.
std::span<const RooflinePolicy> RooflinePolicies();

// A policy with the values of its parameters.
class ChosenPolicy {
 public:
  // "NAME" or "NAME,PARAMETER=NUMBER,...". Fails with kUsage for a policy or a parameter that is not known, one that is
  // there twice, or a number that is not from 0 to 100; the remedy lists the known ones.
  static Result<ChosenPolicy> Read(std::string_view text);

  const RooflinePolicy& policy() const { return *policy_; }
  // REQUIRES: the policy has it.
  double operator[](std::string_view parameter) const;
  // {"threshold":95,...}
  std::string ParametersJson() const;

  RoofVerdict Judge(const RoofPercents& of) const;

 private:
  const RooflinePolicy* policy_ = nullptr;
  std::vector<double> values_;  // one for each parameter
};

}  // namespace kprof
