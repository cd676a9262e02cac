#include "daemon/analysis/verdict/verdict.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "daemon/analysis/verdict/block_bootstrap.h"
#include "daemon/analysis/verdict/look_schedule.h"
#include "daemon/analysis/verdict/signed_ranks.h"
#include "daemon/analysis/verdict/verdict_reasons.h"

namespace kprof {
namespace {

double Within(double value, double least, double most) {
  return value >= least ? std::min(value, most) : least;  // least for no number
}

VerdictRules Checked(const VerdictRules& rules) {
  VerdictRules checked = rules;
  checked.delta = Within(rules.delta, 0, 0.5);
  checked.confidence = Within(rules.confidence, 0.5, 0.9999);
  checked.most_looks = std::clamp<int64_t>(rules.most_looks, 1, kMostLooks);
  checked.resamples = std::clamp<int64_t>(rules.resamples, 200, 1'000'000);
  return checked;
}

VerdictKind KindOf(const LogInterval& interval, double delta) {
  const double low = std::exp(interval.low);
  const double high = std::exp(interval.high);
  if (high < 1 - delta) return VerdictKind::kFaster;
  if (low > 1 + delta) return VerdictKind::kSlower;
  return low >= 1 - delta && high <= 1 + delta ? VerdictKind::kSame : VerdictKind::kInconclusive;
}

std::vector<std::vector<double>> SortedSamples(const std::vector<ProcessSamples>& side) {
  std::vector<std::vector<double>> samples;
  for (const ProcessSamples& process : side) {
    if (process.ns.empty()) continue;
    samples.push_back(process.ns);
    std::sort(samples.back().begin(), samples.back().end());
  }
  return samples;
}

// A case on its way to a verdict.
struct OpenCase {
  CaseVerdict verdict;
  BlockDraws blocks;
  double slack = 0;  // how much the clock's step hides, where the noise does not even it out
  bool is_usable = false;
};

OpenCase Opened(const VerdictCase& measured, const VerdictRules& rules, BlockDraws::PlacesBySamples& places) {
  OpenCase open;
  open.verdict.name = measured.name;
  std::vector<VerdictReason>& reasons = open.verdict.reasons;
  if (std::optional<VerdictReason> reason = FindImpossibleValues(measured)) {
    reasons.push_back(*std::move(reason));
    return open;
  }
  for (const VerdictBlock& block : measured.blocks) {
    const std::vector<std::vector<double>> candidate = SortedSamples(block.candidate);
    const std::vector<std::vector<double>> baseline = SortedSamples(block.baseline);
    if (!candidate.empty() && !baseline.empty()) open.blocks.Add(candidate, baseline, places);
  }
  const size_t whole = open.blocks.size();
  if (whole < measured.blocks.size()) {
    reasons.push_back({"one_side_missing", TextOfCounted(measured.blocks.size() - whole, "block") + " of " +
                                               std::to_string(measured.blocks.size()) +
                                               " had no samples of one side, and took no part."});
  }
  if (whole > 0) {
    open.verdict.ratio = std::exp(open.blocks.Location());
    open.verdict.p_value = SignFlipPValue(open.blocks.log_ratios());
  }
  if (whole < static_cast<size_t>(kLeastBlocks)) {
    reasons.push_back({"too_few_samples", TextOfCounted(whole, "block") + " had samples of both sides; " +
                                              std::to_string(kLeastBlocks) + " are the least for a verdict."});
    return open;
  }
  open.is_usable = true;
  if (std::optional<VerdictReason> reason = FindTwoModes(measured)) reasons.push_back(*std::move(reason));
  if (std::optional<VerdictReason> reason = FindDrift(open.blocks, rules.delta)) reasons.push_back(*std::move(reason));
  if (std::optional<CoarseResolution> coarse = FindCoarseResolution(measured, rules.delta)) {
    reasons.push_back(std::move(coarse->reason));
    if (coarse->is_seen) open.slack = std::log1p(coarse->step_share);
  }
  return open;
}

// Decides by the interval. One that is narrower than the clock's step is judged as if it were that wide.
void Decide(const Resamples& resamples, double level, double slack, const VerdictRules& rules, size_t blocks,
            CaseVerdict& verdict) {
  const double location = resamples.location();
  const LogInterval interval = resamples.IntervalAt(level);
  verdict.ratio = std::exp(location);
  verdict.ci_low = std::exp(interval.low);
  verdict.ci_high = std::exp(interval.high);
  const LogInterval judged = {std::min(interval.low, location - slack), std::max(interval.high, location + slack)};
  verdict.verdict = KindOf(judged, rules.delta);
  if (verdict.verdict != VerdictKind::kInconclusive) return;
  if (KindOf(interval, rules.delta) == VerdictKind::kInconclusive) {
    verdict.reasons.push_back(WhyUndecided(interval, location, rules.delta, blocks));
  } else {
    verdict.reasons.push_back({"resolution_coarse", "The interval would decide, but the clock's step may hide " +
                                                        PercentOfShare(std::expm1(slack)) + " of the times."});
  }
}

// Holm's rule: as long as one more is decided, the others share what is left.
void DecideCases(const std::vector<Resamples>& resamples, const VerdictRules& rules, std::span<OpenCase* const> open) {
  std::vector<CaseVerdict> before;
  for (const OpenCase* each : open) before.push_back(each->verdict);
  std::vector<bool> is_decided(open.size(), false);
  size_t undecided = open.size();
  for (size_t last = 0; undecided > 0 && undecided != last;) {
    last = undecided;
    const double level = LevelOfEachLook((1 - rules.confidence) / static_cast<double>(undecided), rules.most_looks);
    for (size_t i = 0; i < open.size(); ++i) {
      if (is_decided[i]) continue;
      open[i]->verdict = before[i];
      Decide(resamples[i], level, open[i]->slack, rules, open[i]->blocks.size(), open[i]->verdict);
      is_decided[i] = open[i]->verdict.verdict != VerdictKind::kInconclusive;
      if (is_decided[i]) --undecided;
    }
  }
}

// Cases that go the other way than all together.
void NoteDifferingCases(const std::vector<CaseVerdict>& cases, CaseVerdict& overall) {
  VerdictKind other = VerdictKind::kInconclusive;
  if (overall.verdict == VerdictKind::kFaster) other = VerdictKind::kSlower;
  if (overall.verdict == VerdictKind::kSlower) other = VerdictKind::kFaster;
  if (other == VerdictKind::kInconclusive) return;
  const CaseVerdict* first = nullptr;
  size_t count = 0;
  for (const CaseVerdict& verdict : cases) {
    if (verdict.verdict != other) continue;
    ++count;
    if (first == nullptr || std::abs(std::log(*verdict.ratio)) > std::abs(std::log(*first->ratio))) first = &verdict;
  }
  if (first == nullptr) return;
  const std::string word = other == VerdictKind::kSlower ? "slower" : "faster";
  overall.reasons.push_back({"cases_differ", std::to_string(count) + " of " + TextOfCounted(cases.size(), "case") +
                                                 (count == 1 ? " is " : " are ") + word + ", most " + first->name +
                                                 " by " + PercentOfShare(std::abs(*first->ratio - 1)) + "."});
}

// Why there is nothing to say about all cases: reasons of those that are not usable.
void NoteUnusableCases(const std::vector<OpenCase>& open, CaseVerdict& overall) {
  for (const OpenCase& each : open) {
    if (each.is_usable) continue;
    for (const VerdictReason& reason : each.verdict.reasons) {
      overall.reasons.push_back({reason.code, "Case " + each.verdict.name + ": " + reason.message});
    }
  }
}

}  // namespace

std::string_view VerdictName(VerdictKind kind) {
  switch (kind) {
    case VerdictKind::kFaster:
      return "FASTER";
    case VerdictKind::kSlower:
      return "SLOWER";
    case VerdictKind::kSame:
      return "SAME";
    case VerdictKind::kInconclusive:
      break;
  }
  return "INCONCLUSIVE";
}

Verdict JudgeCases(const std::vector<VerdictCase>& cases, const VerdictRules& rules) {
  const VerdictRules checked = Checked(rules);
  BlockDraws::PlacesBySamples places;
  std::vector<OpenCase> open;
  open.reserve(cases.size());
  for (const VerdictCase& measured : cases) open.push_back(Opened(measured, checked, places));
  std::vector<OpenCase*> usable;
  std::vector<const BlockDraws*> draws;
  for (OpenCase& each : open) {
    if (!each.is_usable) continue;
    usable.push_back(&each);
    draws.push_back(&each.blocks);
  }
  Verdict made;
  made.overall.name = "overall";
  std::optional<JointResamples> resamples;
  if (!usable.empty()) {
    resamples = ResampleCases(draws, checked.resamples, checked.seed);
    DecideCases(resamples->cases, checked, usable);
  }
  for (const OpenCase& each : open) made.cases.push_back(each.verdict);
  if (cases.empty()) {
    made.overall.reasons.push_back({"too_few_samples", "There are no cases."});
  } else if (cases.size() == 1) {
    made.overall = made.cases[0];
  } else if (usable.size() < cases.size()) {
    NoteUnusableCases(open, made.overall);
  } else {
    size_t least_blocks = draws[0]->size();
    double slack = 0;
    for (const OpenCase* each : usable) {
      least_blocks = std::min(least_blocks, each->blocks.size());
      slack += each->slack / static_cast<double>(usable.size());
    }
    const double level = LevelOfEachLook(1 - checked.confidence, checked.most_looks);
    Decide(resamples->overall, level, slack, checked, least_blocks, made.overall);
    NoteDifferingCases(made.cases, made.overall);
  }
  return made;
}

}  // namespace kprof
