// The A/B verdict: did the candidate get faster, slower, or neither, and how sure is that? Processes of both sides run
// in turns (ABBA, or BAAB) within blocks; their samples come here. block_bootstrap.h makes a ratio and its interval of
// them, look_schedule.h says when a comparison may look. The verdict is made of the interval; one that is narrower than
// the step of a coarse clock is taken for that wide:
//
//     FASTER        it lies below 1 - delta: the ratio is candidate / baseline
//     SLOWER        it lies above 1 + delta
//     SAME          it lies within 1 - delta to 1 + delta
//     INCONCLUSIVE  everything else; a reason says why
//
// Simulated (tests/bench/verdict_quality.cc): of equal sides, at most 0.8 % were FASTER or SLOWER under drift, steps of
// the clock, two modes, bursts of throttling, and spikes of contention. 3 % at 1 % noise is always found, mostly by the
// second look.
//
// Pure functions and values; any thread. No input fails: samples that no clock can have measured make a case
// INCONCLUSIVE. Costs 0.05 us for each block, resample and case: 28 ms for 56 blocks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kprof {

// The samples of one fresh process, in their order.
struct ProcessSamples {
  std::vector<double> ns;
};

// Turns that ran next to each other, mirrored, so that a drift within the block cancels.
struct VerdictBlock {
  std::vector<ProcessSamples> candidate;
  std::vector<ProcessSamples> baseline;
};

// One thing that was timed: a shape, an input. Blocks are in the order of time. Cases with equally many blocks are
// taken to have run side by side: block i of one next to block i of the other.
struct VerdictCase {
  std::string name;
  std::vector<VerdictBlock> blocks;
};

// Values out of their range are taken for the nearest ones within.
struct VerdictRules {
  double delta = 0.01;         // the least difference that counts: 0 to 0.5
  double confidence = 0.95;    // of all looks and all cases together: 0.5 to 0.9999
  int64_t most_looks = 1;      // planned before the first one: LooksUpTo() of look_schedule.h
  uint64_t seed = 1;           // the same samples, rules and seed give the same verdict
  int64_t resamples = 10'000;  // 200 to 1,000,000
};

enum class VerdictKind : uint8_t { kFaster, kSlower, kSame, kInconclusive };

// "FASTER"...
std::string_view VerdictName(VerdictKind kind);

// `message` is one sentence with figures. The codes:
//   too_few_samples      fewer than 5 blocks have both sides: no interval is made of them
//   one_side_missing     blocks without samples of one side were left out
//   values_impossible    a sample is zero, negative, infinite or no number: the case has no ratio
//   noise_high           the interval is too wide for any verdict but a large difference
//   difference_at_limit  the interval is narrow enough, and the difference is about delta
//   bimodal              the samples or the processes of a side have two modes
//   drift                a side's time has a trend over the blocks; it cancels, and the verdict stands
//   resolution_coarse    the clock's step is more than delta, or all samples are equal, so that it is not known
//   cases_differ         cases go the other way than all together
struct VerdictReason {
  std::string code;
  std::string message;
};

// The ratio and its interval are those of the times, candidate / baseline.
struct CaseVerdict {
  std::string name;
  VerdictKind verdict = VerdictKind::kInconclusive;
  std::optional<double> ratio;
  std::optional<double> ci_low;
  std::optional<double> ci_high;
  // The sign-flip test of "no difference at all", for this look alone (signed_ranks.h). It takes no part in the
  // verdict: with many blocks it is small for differences far below delta.
  std::optional<double> p_value;
  std::vector<VerdictReason> reasons;
};

struct Verdict {
  CaseVerdict overall;             // of the geometric mean of the cases' ratios; of one case: that case
  std::vector<CaseVerdict> cases;  // in their order
};

// Several cases share the chance of error by Holm's rule: m cases each have a stricter interval, at first for a chance
// of 1 / m; those that are not decided yet share what those that are have left. Overall has the whole of it, as it is
// one question more. Overall has no ratio when a case has none: a mean of the rest would be a choice.
Verdict JudgeCases(const std::vector<VerdictCase>& cases, const VerdictRules& rules);

}  // namespace kprof
