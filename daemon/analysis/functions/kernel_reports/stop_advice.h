// Whether it is worth to go on with making a kernel faster, told from the rounds so far. A rule is a row of a list.
//
// Pure; one thread.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/status.h"

namespace kprof {

// One version of the kernel, measured. Nothing: the report does not tell it.
struct OptimizationRound {
  std::optional<double> ns;
  std::optional<double> efficiency;  // percent
  bool at_roofline = false;
};

struct StopAdvice {
  bool stops = false;
  std::string reason;  // empty: go on
};

struct StopLimits {
  size_t rounds = 5;       // that are looked back at
  double improvement = 1;  // that counts as one: percent of the time, or points of efficiency, by the rule
  double threshold = 95;   // of the policy that judged at_roofline; for reasons
};

struct StopRule {
  const char* name = "";
  const char* meaning = "";
  double improvement = 0;  // where the caller sets none
  // REQUIRES: there is a round.
  StopAdvice (*advise)(std::span<const OptimizationRound> rounds, const StopLimits& limits) = nullptr;
};

// The first one is taken where a caller asks for none.
std::span<const StopRule> StopRules();

// The place of the round that took least time so far; nothing: none has a time.
std::optional<size_t> FastestRound(std::span<const OptimizationRound> rounds);

}  // namespace kprof
