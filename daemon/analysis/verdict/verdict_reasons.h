// The reasons of a verdict, beside its interval: checks on the samples and blocks of a case. Each finds a reason, or
// nothing. Pure functions; any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "daemon/analysis/verdict/block_bootstrap.h"
#include "daemon/analysis/verdict/verdict.h"

namespace kprof {

// "3.2 %", "0.04 %".
std::string PercentOfShare(double share);
// "1 block", "3 blocks".
std::string TextOfCounted(size_t count, const std::string& one);

// Samples that no clock can have measured.
std::optional<VerdictReason> FindImpossibleValues(const VerdictCase& measured);

// The clock's step, where it is more than delta, or where all samples are equal, so that it is not known.
struct CoarseResolution {
  VerdictReason reason;
  double step_share = 0;  // of the shortest sample; 0: not known
  // True if samples of one side differ by steps, too: a clock rounds them. Else the times may be exact, as a
  // simulator's are. Medians of rounded times are rounded as well, so their ratio is known to a step at best.
  bool is_seen = false;
};
std::optional<CoarseResolution> FindCoarseResolution(const VerdictCase& measured, double delta);

// Two modes of a side's processes that take turns (two that do not are a step of the clock: drift), or of the samples
// within most of its processes.
std::optional<VerdictReason> FindTwoModes(const VerdictCase& measured);

// A trend of a side over the blocks (Kendall's test) by more than delta.
std::optional<VerdictReason> FindDrift(const BlockDraws& blocks, double delta);

// The reason why an interval decides nothing: its width, or that the difference is about delta.
VerdictReason WhyUndecided(const LogInterval& interval, double location, double delta, size_t blocks);

}  // namespace kprof
