// Rounds, the versions of a kernel that were measured one after another: which is the best one, and whether it is worth
// to go on. Docs: docs/analyses/rounds.md.
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/events/event_runs.h"
#include "daemon/analysis/functions/kernel_reports/judged_kernels.h"
#include "daemon/analysis/functions/kernel_reports/kernel_reports.h"
#include "daemon/analysis/functions/kernel_reports/roofline_policies.h"
#include "daemon/analysis/functions/kernel_reports/stop_advice.h"

namespace kprof {
namespace {

enum RoundsTable : size_t { kRoundRows };

constexpr AnalysisOption kRoundsOptions[] = {
    {"policy", AnalysisType::kText, "sol-95-60", "", "As in roofline: when a round is at the roofline"},
    {"stop-rule", AnalysisType::kText, "best", "", "What is progress", "best|range"},
    {"rounds", AnalysisType::kInteger, "5", "", "How many of the last rounds have to make it", "", 2},
    {"improvement", AnalysisType::kReal, "", "percent", "What counts as progress; best: 1, range: 0.1", "", 0},
};

AnalysisValue RoundNumber(const std::optional<double>& number) {
  return number ? AnalysisValue(*number) : AnalysisValue();
}

struct MeasuredRound {
  std::string run;
  OptimizationRound round;
  std::string kernel;      // the one that takes most time
  std::string bottleneck;  // of it
  std::string device;      // its kind
  int64_t kernels = 0;
  bool is_event = false;
};

// One launch of each of a run's kernels, one after another: how long they take, and how near to the roof they come,
// weighted by time. A kernel that several ranks ran counts once, with the mean of them.
MeasuredRound RoundOf(const std::string& run, const KernelReports& reports, const ChosenPolicy& policy) {
  struct Mean {
    double ns = 0;
    double judged_ns = 0;  // of those with an efficiency
    double weighted = 0;   // efficiency by ns
    int64_t ranks = 0;
  };
  MeasuredRound of{.run = run};
  std::map<std::string, Mean> kernels;
  bool has_time = true;
  for (const ReportKernel& kernel : reports.kernels()) {
    if (kernel.run != run) continue;
    const JudgedKernel judged = JudgeKernel(reports, kernel, policy);
    if (of.kernel.empty()) {
      of.kernel = kernel.name;
      of.bottleneck = BottleneckName(judged.verdict.bottleneck);
      of.device = kernel.device_name;
    }
    has_time &= judged.duration.has_value();
    const double ns = judged.duration ? judged.duration->mean : 0;
    Mean& mean = kernels[kernel.name];
    mean.ns += ns;
    if (judged.verdict.efficiency) {
      mean.judged_ns += ns;
      mean.weighted += *judged.verdict.efficiency * ns;
    }
    ++mean.ranks;
  }
  of.kernels = static_cast<int64_t>(kernels.size());
  double whole_ns = 0;
  double judged_ns = 0;
  double weighted = 0;
  for (const auto& [name, mean] : kernels) {
    const auto ranks = static_cast<double>(mean.ranks);
    whole_ns += mean.ns / ranks;
    judged_ns += mean.judged_ns / ranks;
    weighted += mean.weighted / ranks;
  }
  if (kernels.empty() || !has_time || whole_ns <= 0) return of;
  of.round.ns = whole_ns;
  if (judged_ns > 0) of.round.efficiency = weighted / judged_ns;
  of.round.at_roofline = of.round.efficiency && *of.round.efficiency >= policy["threshold"];
  return of;
}

// The geometric mean of the medians of an event run's cases.
std::optional<double> TimeOfEvents(const EventRun& run) {
  const std::vector<CaseTime> cases = CaseTimesOf(run);
  double log_sum = 0;
  for (const CaseTime& one : cases) {
    if (!(one.median_ns > 0)) return std::nullopt;
    log_sum += std::log(one.median_ns);
  }
  if (cases.empty()) return std::nullopt;
  return std::exp(log_sum / static_cast<double>(cases.size()));
}

const StopRule& RuleOf(const std::string& name) {
  for (const StopRule& rule : StopRules()) {
    if (rule.name == name) return rule;
  }
  return StopRules().front();
}

Result<AnalysisAnswer> AnswerRounds(const AnalysisTraces& traces, const AnalysisOptions& options,
                                    const StopSignal& stop) {
  ASSIGN_OR_RETURN(const ChosenPolicy policy, ChosenPolicy::Read(options.text("policy")));
  const StopRule& rule = RuleOf(options.text("stop-rule"));
  const StopLimits limits{.rounds = static_cast<size_t>(options.integer("rounds").value_or(2)),
                          .improvement = options.real("improvement").value_or(rule.improvement),
                          .threshold = policy["threshold"]};
  if (!std::isfinite(limits.improvement) || limits.improvement < 0) {
    return Fail(ErrorCode::kUsage, "analyze rounds", "option improvement has to be 0 or more", "give one such number");
  }
  ASSIGN_OR_RETURN(const KernelReports reports, KernelReports::Read(traces, KernelReports::WantedOf(options), stop));
  ASSIGN_OR_RETURN(const std::vector<EventRun> events, ReadEventRuns(traces, stop));
  if (events.empty()) RETURN_IF_ERROR(reports.CheckSome());
  AnalysisAnswer answer(traces);
  std::vector<std::string> runs;
  std::vector<OptimizationRound> rounds;
  StopAdvice advice;
  std::set<std::string> devices;
  for (size_t part = 0; part < traces.parts().size(); ++part) {
    const std::string& run = traces.run(part);
    if (!runs.empty() && runs.back() == run) continue;
    const std::optional<size_t> best_before = FastestRound(rounds);
    const std::optional<double> best_ns = best_before ? rounds[*best_before].ns : std::nullopt;
    const KnownRun known = traces.KnownOf(run);
    MeasuredRound measured = RoundOf(run, reports, policy);
    for (const EventRun& event : events) {
      if (event.run != run) continue;
      measured.is_event = true;
      measured.round.ns = TimeOfEvents(event);
    }
    // A wrong kernel may be as fast as it likes, and so may one that says so itself.
    if (!known.failure.empty() || !known.refuted.empty()) measured.round = {};
    runs.push_back(run);
    rounds.push_back(measured.round);
    if (!known.failure.empty()) {
      answer.AddTrust({"run_failed", "run " + run + " failed (" + known.failure + "): its round does not count"});
    } else if (!known.refuted.empty()) {
      answer.AddTrust({"round_refuted", "run " + run + " is not believed (" + known.refuted + "): it does not count"});
    } else if (measured.kernels == 0 && !measured.is_event)
      answer.AddNote("run " + run + " has no kernel report: its round says nothing");
    if (!measured.device.empty()) devices.insert(measured.device);
    advice = rule.advise(rounds, limits);
    const std::optional<double> change = best_ns && measured.round.ns && *best_ns > 0
                                             ? std::optional(100 * (*measured.round.ns / *best_ns - 1))
                                             : std::nullopt;
    const std::optional<size_t> best = FastestRound(rounds);
    RETURN_IF_ERROR(answer.AddRow(
        kRoundRows,
        {static_cast<int64_t>(rounds.size()), run, RoundNumber(measured.round.ns), RoundNumber(change),
         RoundNumber(measured.round.efficiency),
         measured.bottleneck.empty() ? AnalysisValue() : AnalysisValue(measured.bottleneck),
         static_cast<int64_t>(measured.round.at_roofline), best ? AnalysisValue(runs[*best]) : AnalysisValue(),
         static_cast<int64_t>(advice.stops), advice.stops ? AnalysisValue(advice.reason) : AnalysisValue(),
         measured.kernels, measured.kernel.empty() ? AnalysisValue() : AnalysisValue(measured.kernel),
         known.version.empty() ? AnalysisValue() : AnalysisValue(known.version),
         !known.failure.empty()   ? AnalysisValue(known.failure)
         : !known.refuted.empty() ? AnalysisValue(known.refuted)
                                  : AnalysisValue(),
         measured.device.empty() ? AnalysisValue() : AnalysisValue(measured.device)}));
  }
  if (devices.size() > 1) {
    std::string names;
    for (const std::string& device : devices) names += (names.empty() ? "" : ", ") + device;
    answer.AddTrust({"conditions_differ", "the rounds are of several kinds of devices: " + names});
  }
  const std::optional<size_t> best = FastestRound(rounds);
  answer.SetFacts({static_cast<int64_t>(advice.stops), advice.stops ? AnalysisValue(advice.reason) : AnalysisValue(),
                   best ? AnalysisValue(runs[*best]) : AnalysisValue(),
                   best ? RoundNumber(rounds[*best].ns) : AnalysisValue(),
                   best ? RoundNumber(rounds[*best].efficiency) : AnalysisValue(), std::string(rule.name),
                   limits.improvement, std::string(policy.policy().name)});
  if (events.empty()) AddReportNotes(traces, reports, answer);
  return answer;
}

}  // namespace

AnalysisKind Rounds() {
  using enum AnalysisType;
  return {
      .name = "rounds",
      .version = 1,
      .question = "Is it worth to go on with making a kernel faster, and which version is the best one?",
      .options = {kReportScope, kRoundsOptions},
      .facts = {{"stop", kBoolean, "", "It is not worth to go on, by the rule"},
                {"reason", kText, "", "Why; null: go on"},
                {"best_run", kText, "", "The fastest one; null: none has a time"},
                {"best_ns", kReal, "ns", "Its time"},
                {"best_efficiency_percent", kReal, "percent", "Its efficiency"},
                {"stop_rule", kText, "", "The rule"},
                {"improvement", kReal, "", "What counted as progress"},
                {"policy", kText, "", "What judged whether a round is at the roofline"}},
      .tables = {{"rounds",
                  {{"round", kInteger, "", "Counted from 1, as the runs were named"},
                   {"run", kText, "", "The run"},
                   {"duration_ns", kReal, "ns",
                    "One launch of each of its kernels, one after another; of an event run the median of its samples"},
                   {"change_percent", kReal, "percent", "Of the best time before it; below 0: faster"},
                   {"efficiency_percent", kReal, "percent", "Of its kernels, by their time"},
                   {"bottleneck", kText, "", "Of the kernel that takes most time"},
                   {"at_roofline", kBoolean, "", "The efficiency is the policy's `threshold` or more"},
                   {"best_run", kText, "", "The fastest run up to this one"},
                   {"stop", kBoolean, "", "The rule says so, after this round"},
                   {"reason", kText, "", "Why; null: go on"},
                   {"kernels", kInteger, "", "How many different ones it has"},
                   {"kernel", kText, "", "The one that takes most time"},
                   {"version", kText, "", "As the capture's --version named it; null: it did not"},
                   {"failure", kText, "",
                    "Why its round counts for nothing: the code of its failure, or of what refutes its times; null: it "
                    "counts"},
                   {"device_name", kText, "", "The kind of device of that kernel"}}}},
      .answer = &AnswerRounds};
}

}  // namespace kprof
