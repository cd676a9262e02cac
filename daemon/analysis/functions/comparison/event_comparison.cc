#include "daemon/analysis/functions/comparison/event_comparison.h"

#include <algorithm>
#include <set>
#include <utility>

#include "daemon/analysis/functions/events/event_runs.h"
#include "daemon/analysis/verdict/distribution.h"
#include "daemon/analysis/verdict/timed_turns.h"
#include "daemon/analysis/verdict/witness.h"

namespace kprof {
namespace {

// From one session to the next the same command has drifted by some percent on quiet machines.
constexpr double kDriftBetweenRuns = 0.05;

struct EventSide {
  std::vector<TimedTurn> turns;  // of the commands themselves, run by run
  VerdictRules rules;
};

Result<std::optional<EventSide>> ReadEventSide(const ComparedSide& side, const StopSignal& stop) {
  ASSIGN_OR_RETURN(std::vector<EventRun> runs, ReadEventRuns(side.traces, stop));
  if (runs.empty()) return std::optional<EventSide>();
  EventSide of{.rules = runs.front().rules};
  for (EventRun& run : runs) {
    for (TimedTurn& turn : run.turns) {
      if (turn.is_candidate) of.turns.push_back(std::move(turn));
    }
  }
  return std::optional<EventSide>(std::move(of));
}

double MedianOfAll(const std::vector<ProcessSamples>& processes) {
  std::vector<double> all;
  for (const ProcessSamples& process : processes) all.insert(all.end(), process.ns.begin(), process.ns.end());
  return DistributionOf(std::move(all)).median;
}

}  // namespace

Result<std::optional<EventComparison>> CompareEvents(const OfSides<ComparedSide>& sides, const StopSignal& stop) {
  OfSides<EventSide> of;
  for (const Side side : {kBefore, kAfter}) {
    ASSIGN_OR_RETURN(std::optional<EventSide> read, ReadEventSide(sides[side], stop));
    if (!read) return std::optional<EventComparison>();
    of[side] = *std::move(read);
  }
  EventComparison comparison;
  std::set<std::string> names;
  for (const Side side : {kBefore, kAfter}) {
    for (std::string& name : CasesOf(of[side].turns)) names.insert(std::move(name));
  }
  std::vector<VerdictCase> both;
  for (const std::string& name : names) {
    ComparedCase& row = comparison.cases.emplace_back();
    row.name = name;
    OfSides<std::vector<ProcessSamples>> processes;
    for (const Side side : {kBefore, kAfter}) {
      processes[side] = ProcessesOf(of[side].turns, true, name);
      row.processes[side] = static_cast<int64_t>(processes[side].size());
      if (!processes[side].empty()) row.median_ns[side] = MedianOfAll(processes[side]);
    }
    VerdictCase& one = both.emplace_back();
    one.name = name;
    const size_t pairs = std::min(processes[kBefore].size(), processes[kAfter].size());
    for (size_t i = 0; i < pairs; ++i) {
      one.blocks.push_back(
          {.candidate = {std::move(processes[kAfter][i])}, .baseline = {std::move(processes[kBefore][i])}});
    }
  }
  VerdictRules rules = of[kAfter].rules;
  rules.delta = std::max(rules.delta, kDriftBetweenRuns);
  rules.most_looks = 1;
  comparison.verdict = JudgeCases(both, rules);
  CaseVerdict& overall = comparison.verdict.overall;
  for (const Side side : {kBefore, kAfter}) {
    for (const VerdictReason& dispute : DisputesOf(of[side].turns)) {
      overall.verdict = VerdictKind::kInconclusive;
      overall.reasons.push_back(dispute);
    }
  }
  overall.reasons.push_back({"not_interleaved",
                             "the two were not measured in turns: a difference below 5 % may be the node's; compare "
                             "them with kprofctl capture event --against CMD"});
  return std::optional<EventComparison>(std::move(comparison));
}

}  // namespace kprof
