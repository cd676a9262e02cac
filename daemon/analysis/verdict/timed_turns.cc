#include "daemon/analysis/verdict/timed_turns.h"

#include <set>
#include <utility>

namespace kprof {
namespace {

constexpr size_t kTurnsOfBlock = 4;

// Empty: it has none of that case.
std::vector<double> SamplesOfCase(const TimedTurn& turn, const std::string& case_name) {
  if (turn.samples.empty() && case_name == kWholeProcess) return {turn.wall_ns};
  const auto found = turn.samples.find(case_name);
  return found == turn.samples.end() ? std::vector<double>() : found->second;
}

// Twice as fast is a claim that wants a witness.
constexpr double kLargeGain = 2;

void DoubtLargeGain(const std::vector<TimedTurn>& turns, Verdict& verdict) {
  CaseVerdict& overall = verdict.overall;
  const bool is_large = overall.ratio && (*overall.ratio < 1 / kLargeGain || *overall.ratio > kLargeGain);
  if (!is_large || overall.verdict == VerdictKind::kInconclusive || !IsUnwitnessed(turns)) return;
  overall.verdict = VerdictKind::kInconclusive;
  overall.reasons.insert(overall.reasons.begin(),
                         {"unwitnessed",
                          "a difference of more than twice is reported, and the wall time of the processes "
                          "is too noisy to confirm it: give more samples, or a quieter machine"});
}

}  // namespace

double TimedTurn::reported_ns() const {
  double sum = 0;
  for (const auto& [name, values] : samples) {
    for (const double value : values) sum += value;
  }
  return sum;
}

std::vector<std::string> CasesOf(const std::vector<TimedTurn>& turns) {
  std::set<std::string> names;
  for (const TimedTurn& turn : turns) {
    if (!turn.counts()) continue;
    if (turn.samples.empty()) names.insert(kWholeProcess);
    for (const auto& [name, values] : turn.samples) names.insert(name);
  }
  return {names.begin(), names.end()};
}

std::vector<ProcessSamples> ProcessesOf(const std::vector<TimedTurn>& turns, bool is_candidate,
                                        const std::string& case_name) {
  std::vector<ProcessSamples> processes;
  for (const TimedTurn& turn : turns) {
    if (!turn.counts() || turn.is_candidate != is_candidate) continue;
    std::vector<double> samples = SamplesOfCase(turn, case_name);
    if (!samples.empty()) processes.push_back({std::move(samples)});
  }
  return processes;
}

std::vector<VerdictCase> VerdictCasesOf(const std::vector<TimedTurn>& turns) {
  std::map<int64_t, size_t> turns_of_block;
  for (const TimedTurn& turn : turns) ++turns_of_block[turn.block];
  std::vector<VerdictCase> cases;
  for (const std::string& name : CasesOf(turns)) {
    std::map<int64_t, VerdictBlock> blocks;
    for (const TimedTurn& turn : turns) {
      if (!turn.counts() || turns_of_block[turn.block] < kTurnsOfBlock) continue;
      std::vector<double> samples = SamplesOfCase(turn, name);
      if (samples.empty()) continue;
      VerdictBlock& block = blocks[turn.block];
      (turn.is_candidate ? block.candidate : block.baseline).push_back({std::move(samples)});
    }
    VerdictCase& one = cases.emplace_back();
    one.name = name;
    for (auto& [number, block] : blocks) one.blocks.push_back(std::move(block));
  }
  return cases;
}

Verdict JudgeTurns(const std::vector<TimedTurn>& turns, const VerdictRules& rules, const WitnessFacts& facts) {
  Verdict verdict = JudgeCases(VerdictCasesOf(turns), rules);
  const std::vector<VerdictReason> disputes = DisputesOf(turns, facts);
  if (disputes.empty()) {
    DoubtLargeGain(turns, verdict);
    return verdict;
  }
  verdict.overall.verdict = VerdictKind::kInconclusive;  // whatever the samples say
  verdict.overall.reasons.insert(verdict.overall.reasons.begin(), disputes.begin(), disputes.end());
  for (CaseVerdict& one : verdict.cases) one.verdict = VerdictKind::kInconclusive;
  return verdict;
}

}  // namespace kprof
