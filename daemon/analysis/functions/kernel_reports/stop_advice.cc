#include "daemon/analysis/functions/kernel_reports/stop_advice.h"

#include <algorithm>
#include <cstdio>

namespace kprof {
namespace {

std::string WithDigits(double number, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, number);
  return text;
}

std::string AtRoofline(double efficiency, const StopLimits& limits) {
  return "at roofline (" + WithDigits(efficiency, 1) + "% SOL >= " + WithDigits(limits.threshold, 1) + "%)";
}

// The fastest version is what is kept, so it is the one that has to be at the roofline, and the one that later rounds
// have to beat. A slow slide of single rounds is no progress, and going up and down between versions is none either.
StopAdvice AdviseByBest(std::span<const OptimizationRound> rounds, const StopLimits& limits) {
  const std::optional<size_t> fastest = FastestRound(rounds);
  if (!fastest) return {};
  const OptimizationRound& best = rounds[*fastest];
  if (best.at_roofline) {
    return {true, "the fastest round is " + AtRoofline(best.efficiency.value_or(0), limits)};
  }
  std::vector<OptimizationRound> timed;
  std::copy_if(rounds.begin(), rounds.end(), std::back_inserter(timed),
               [](const OptimizationRound& round) { return round.ns.has_value(); });
  if (timed.size() <= limits.rounds) return {};
  const std::span<const OptimizationRound> earlier(timed.data(), timed.size() - limits.rounds);
  const double before_ns = *earlier[*FastestRound(earlier)].ns;
  const double gain = before_ns > 0 ? 100 * (before_ns - *best.ns) / before_ns : 0;
  if (gain >= limits.improvement) return {};
  return {true, "no progress (the best time of the last " + std::to_string(limits.rounds) + " rounds is " +
                    WithDigits(std::max(0.0, gain), 2) + "% better than before, less than " +
                    WithDigits(limits.improvement, 2) + "%)"};
}

StopAdvice AdviseByRange(std::span<const OptimizationRound> rounds, const StopLimits& limits) {
  const OptimizationRound& last = rounds.back();
  if (last.at_roofline) return {true, "the last round is " + AtRoofline(last.efficiency.value_or(0), limits)};
  if (rounds.size() < limits.rounds) return {};
  double least = 100;
  double most = 0;
  for (const OptimizationRound& round : rounds.last(limits.rounds)) {
    if (!round.efficiency) return {};
    least = std::min(least, *round.efficiency);
    most = std::max(most, *round.efficiency);
  }
  if (most - least >= limits.improvement) return {};
  return {true, "converged (the efficiency of the last " + std::to_string(limits.rounds) + " rounds is within " +
                    WithDigits(most - least, 2) + " points, less than " + WithDigits(limits.improvement, 2) + ")"};
}

constexpr StopRule kStopRules[] = {
    {"best",
     "The fastest round so far is at the roofline, or the last rounds did not make the best time better by the "
     "improvement, in percent of it",
     1, &AdviseByBest},
    {"range",
     "The last round is at the roofline, or the efficiencies of the last rounds are within the improvement, in points",
     0.1, &AdviseByRange},
};

}  // namespace

std::span<const StopRule> StopRules() {
  return kStopRules;
}

std::optional<size_t> FastestRound(std::span<const OptimizationRound> rounds) {
  std::optional<size_t> fastest;
  for (size_t i = 0; i < rounds.size(); ++i) {
    if (rounds[i].ns && (!fastest || *rounds[i].ns < *rounds[*fastest].ns)) fastest = i;
  }
  return fastest;
}

}  // namespace kprof
