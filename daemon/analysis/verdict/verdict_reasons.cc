#include "daemon/analysis/verdict/verdict_reasons.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "daemon/analysis/verdict/distribution.h"
#include "daemon/analysis/verdict/quantiles.h"

namespace kprof {
namespace {

struct NamedSide {
  const char* name;
  std::vector<ProcessSamples> VerdictBlock::*processes;
};
constexpr NamedSide kSides[] = {{"candidate", &VerdictBlock::candidate}, {"baseline", &VerdictBlock::baseline}};

// Kendall's sum is so many of its deviations away from 0: 2.8 % of series without a trend have that.
constexpr double kTrendDeviations = 2.2;
// Two modes that take turns change from one to the other at least half as often as a random order does.
constexpr double kLeastChangesShare = 0.5;

std::string TextOfNanos(double ns) {
  char text[64];
  std::snprintf(text, sizeof text, ns < 10 && ns != std::floor(ns) ? "%.3g ns" : "%.0f ns", ns);
  return text;
}

std::vector<double> SamplesOf(const VerdictCase& measured) {
  std::vector<double> samples;
  for (const VerdictBlock& block : measured.blocks) {
    for (const NamedSide& side : kSides) {
      for (const ProcessSamples& process : block.*side.processes) {
        samples.insert(samples.end(), process.ns.begin(), process.ns.end());
      }
    }
  }
  return samples;
}

// The number of which all values are multiples, if they are whole; else the least distance between two of them.
double StepOf(std::span<const double> sorted) {
  double divisor = 0;
  for (const double value : sorted) {
    if (value != std::floor(value) || value > 0x1p53) {
      divisor = 0;
      break;
    }
    double rest = value;
    while (rest != 0) divisor = std::exchange(rest, std::fmod(divisor, rest));
  }
  if (divisor > 0) return divisor;
  double least = 0;
  for (size_t i = 1; i < sorted.size(); ++i) {
    const double gap = sorted[i] - sorted[i - 1];
    if (gap > 0 && (least == 0 || gap < least)) least = gap;
  }
  return least;
}

std::string TextOfModes(const TwoModes& modes) {
  return PercentOfShare(modes.low_share) + " at about " + TextOfNanos(modes.low_center) + ", " +
         PercentOfShare(modes.high_share) + " at about " + TextOfNanos(modes.high_center);
}

// Of one side. `medians` are in the order of time.
std::optional<TwoModes> ModesInTurns(const std::vector<double>& medians) {
  std::vector<double> sorted = medians;
  std::sort(sorted.begin(), sorted.end());
  const std::optional<TwoModes> modes = ModesOf(sorted);
  if (!modes) return std::nullopt;
  double changes = 0;
  for (size_t i = 1; i < medians.size(); ++i) {
    if ((medians[i] < modes->valley) != (medians[i - 1] < modes->valley)) ++changes;
  }
  const double expected = 2 * modes->low_share * modes->high_share * static_cast<double>(medians.size() - 1);
  return changes >= kLeastChangesShare * expected ? modes : std::nullopt;
}

// The relative change from the first third of a series to the last one, if it has a trend.
std::optional<double> TrendOf(const std::vector<double>& logs) {
  const size_t count = logs.size();
  double sum = 0;
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = i + 1; j < count; ++j) sum += (logs[j] > logs[i]) - (logs[j] < logs[i]);
  }
  const auto n = static_cast<double>(count);
  if (std::abs(sum) < kTrendDeviations * std::sqrt(n * (n - 1) * (2 * n + 5) / 18)) return std::nullopt;
  const size_t third = std::max<size_t>(1, count / 3);
  std::vector<double> first(logs.begin(), logs.begin() + static_cast<ptrdiff_t>(third));
  std::vector<double> last(logs.end() - static_cast<ptrdiff_t>(third), logs.end());
  std::sort(first.begin(), first.end());
  std::sort(last.begin(), last.end());
  return std::exp(SortedQuantile(last, 0.5) - SortedQuantile(first, 0.5)) - 1;
}

}  // namespace

std::string PercentOfShare(double share) {
  char text[64];
  const double percent = share * 100;
  std::snprintf(text, sizeof text, std::abs(percent) < 0.995 && percent != 0 ? "%.2f %%" : "%.1f %%", percent);
  return text;
}

std::string TextOfCounted(size_t count, const std::string& one) {
  return std::to_string(count) + " " + one + (count == 1 ? "" : "s");
}

std::optional<VerdictReason> FindImpossibleValues(const VerdictCase& measured) {
  size_t count = 0;
  std::string first;
  for (size_t i = 0; i < measured.blocks.size(); ++i) {
    for (const NamedSide& side : kSides) {
      for (const ProcessSamples& process : measured.blocks[i].*side.processes) {
        for (const double ns : process.ns) {
          if (ns > 0 && std::isfinite(ns)) continue;
          if (++count > 1) continue;
          char text[32];
          std::snprintf(text, sizeof text, "%g", ns);
          first = std::string(text) + " of the " + side.name + " in block " + std::to_string(i + 1);
        }
      }
    }
  }
  if (count == 0) return std::nullopt;
  return VerdictReason{"values_impossible", TextOfCounted(count, "sample") + (count == 1 ? " is" : " are") +
                                                " zero, negative, infinite or no number; the first is " + first + "."};
}

std::optional<CoarseResolution> FindCoarseResolution(const VerdictCase& measured, double delta) {
  std::vector<double> values = SamplesOf(measured);
  const size_t count = values.size();
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  // Values that seldom repeat were not rounded.
  if (count < 2 || values.size() * 2 > count) return std::nullopt;
  CoarseResolution found;
  found.reason.code = "resolution_coarse";
  if (values.size() == 1) {
    found.reason.message = "All " + std::to_string(count) + " samples are " + TextOfNanos(values.front()) +
                           ", so the clock's step is not known, and may hide a difference.";
    return found;
  }
  const double step = StepOf(values);
  found.step_share = step / values.front();
  if (!(found.step_share > delta)) return std::nullopt;
  found.reason.message = "The clock's step seems to be " + TextOfNanos(step) + ", " + PercentOfShare(found.step_share) +
                         " of the shortest sample: it may not see a difference of " + PercentOfShare(delta) + ".";
  for (const NamedSide& side : kSides) {
    double first = 0;
    for (const VerdictBlock& block : measured.blocks) {
      for (const ProcessSamples& process : block.*side.processes) {
        for (const double ns : process.ns) {
          if (first == 0) first = ns;
          if (ns != first) found.is_seen = true;
        }
      }
    }
  }
  return found;
}

std::optional<VerdictReason> FindTwoModes(const VerdictCase& measured) {
  for (const NamedSide& side : kSides) {
    std::vector<double> medians;
    size_t bimodal = 0;
    std::optional<TwoModes> shown;
    for (const VerdictBlock& block : measured.blocks) {
      for (const ProcessSamples& process : block.*side.processes) {
        if (process.ns.empty()) continue;
        std::vector<double> sorted = process.ns;
        std::sort(sorted.begin(), sorted.end());
        medians.push_back(SortedQuantile(sorted, 0.5));
        if (const std::optional<TwoModes> modes = ModesOf(sorted)) {
          ++bimodal;
          if (!shown) shown = modes;
        }
      }
    }
    if (shown && 2 * bimodal >= medians.size()) {
      return VerdictReason{"bimodal", "The samples of " + std::to_string(bimodal) + " of " +
                                          TextOfCounted(medians.size(), "turn") + " of the " + side.name +
                                          " have two modes: in the first of them, " + TextOfModes(*shown) + "."};
    }
    if (const std::optional<TwoModes> modes = ModesInTurns(medians)) {
      return VerdictReason{"bimodal", "The processes of the " + std::string(side.name) +
                                          " have two modes: " + TextOfModes(*modes) + "."};
    }
  }
  return std::nullopt;
}

std::optional<VerdictReason> FindDrift(const BlockDraws& blocks, double delta) {
  const std::pair<const char*, const std::vector<double>&> sides[] = {{"candidate", blocks.candidate_logs()},
                                                                      {"baseline", blocks.baseline_logs()}};
  for (const auto& [name, logs] : sides) {
    const std::optional<double> change = TrendOf(logs);
    if (!change || std::abs(*change) <= delta) continue;
    return VerdictReason{"drift", "The time of the " + std::string(name) + (*change > 0 ? " rose by " : " fell by ") +
                                      PercentOfShare(std::abs(*change)) + " from the first third of " +
                                      TextOfCounted(logs.size(), "block") + " to the last; within blocks it cancels."};
  }
  return std::nullopt;
}

VerdictReason WhyUndecided(const LogInterval& interval, double location, double delta, size_t blocks) {
  const double half = (interval.high - interval.low) / 2;
  const std::string difference = PercentOfShare(std::abs(std::exp(location) - 1));
  if (half <= delta) {
    return {"difference_at_limit", "The difference of " + difference + " is known to " + PercentOfShare(half) +
                                       ", which cannot tell it from the limit of " + PercentOfShare(delta) + "."};
  }
  // The width falls with the root of the blocks; it must fit between the difference and the limit.
  const double room = std::max(std::abs(std::abs(location) - delta), delta / 4);
  const double factor = (half / room) * (half / room);
  char times[32];
  std::snprintf(times, sizeof times, factor < 10 ? "%.1f" : "%.0f", factor);
  return {"noise_high", "The difference of " + difference + " is known to " + PercentOfShare(half) + " after " +
                            TextOfCounted(blocks, "block") + ", more than the limit of " + PercentOfShare(delta) +
                            "; about " + times + " times as many blocks would decide."};
}

}  // namespace kprof
