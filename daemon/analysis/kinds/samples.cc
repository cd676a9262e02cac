// Samples, the times that an event run took: how they are distributed, and which side is faster. Docs:
// docs/analyses/samples.md.
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/events/event_runs.h"
#include "daemon/analysis/verdict/distribution.h"
#include "daemon/analysis/verdict/timed_turns.h"
#include "daemon/launch/given/json_text.h"

namespace kprof {
namespace {

enum SamplesTable : size_t { kCaseRows, kComparisonRows, kHistogramRows, kTurnRows };

constexpr AnalysisOption kSamplesScope[] = {
    {"case", AnalysisType::kText, "", "", "Only this case"},
    {"limit", AnalysisType::kInteger, "", "", "At most so many rows of each table", "", 1},
};

AnalysisValue MaybeReal(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? AnalysisValue(*value) : AnalysisValue();
}

AnalysisValue CaseName(const std::string& name) {
  return name.empty() ? AnalysisValue() : AnalysisValue(name);
}

std::string CodesJson(const std::vector<VerdictReason>& reasons) {
  std::string json = "[";
  for (const VerdictReason& reason : reasons) json += (json.size() == 1 ? "" : ",") + JsonQuoted(reason.code);
  return json + "]";
}

std::vector<double> AllOf(const std::vector<ProcessSamples>& processes) {
  std::vector<double> all;
  for (const ProcessSamples& process : processes) all.insert(all.end(), process.ns.begin(), process.ns.end());
  return all;
}

AnalysisValue NoiseOf(const Distribution& of) {
  return of.relative_noise ? AnalysisValue(100 * *of.relative_noise) : AnalysisValue();
}

// Of the work that a sample says it does: in 1e12 or 1e9 each second.
AnalysisValue RateOf(double amount, double median_ns, double unit) {
  return amount > 0 && median_ns > 0 ? AnalysisValue(amount / median_ns * 1e9 / unit) : AnalysisValue();
}

Status AddCase(const EventRun& run, const std::string& name, bool is_candidate, AnalysisAnswer& answer) {
  const std::vector<ProcessSamples> processes = ProcessesOf(run.turns, is_candidate, name);
  if (processes.empty()) return OkStatus();
  const Distribution of = DistributionOf(AllOf(processes));
  const std::string side = is_candidate ? "candidate" : "baseline";
  const auto work = run.facts.work.find(name);
  const CaseWork amount = work == run.facts.work.end() ? CaseWork() : work->second;
  RETURN_IF_ERROR(answer.AddRow(
      kCaseRows,
      {run.run, CaseName(name), side, static_cast<int64_t>(processes.size()), of.count, of.median, NoiseOf(of), of.min,
       of.q1, of.q3, of.p95, of.p99, of.max, of.mean, of.deviation, MaybeReal(of.autocorrelation),
       int64_t{of.is_bimodal ? 1 : 0}, RateOf(amount.flops, of.median, 1e12), RateOf(amount.bytes, of.median, 1e9)}));
  const SampleHistogram& bars = of.histogram;
  for (size_t i = 0; i < bars.counts.size(); ++i) {
    const double from = bars.begin + bars.width * static_cast<double>(i);
    RETURN_IF_ERROR(
        answer.AddRow(kHistogramRows, {run.run, CaseName(name), side, from, from + bars.width, bars.counts[i]}));
  }
  return OkStatus();
}

Status AddComparison(const EventRun& run, const CaseVerdict& one, bool is_whole, AnalysisAnswer& answer) {
  return answer.AddRow(kComparisonRows,
                       {run.run, is_whole ? AnalysisValue() : CaseName(one.name), std::string(VerdictName(one.verdict)),
                        MaybeReal(one.ratio), MaybeReal(one.ci_low), MaybeReal(one.ci_high), MaybeReal(one.p_value),
                        CodesJson(one.reasons)});
}

Status AddTurns(const EventRun& run, AnalysisAnswer& answer) {
  for (size_t i = 0; i < run.turns.size(); ++i) {
    const TimedTurn& turn = run.turns[i];
    int64_t samples = 0;
    for (const auto& [name, values] : turn.samples) samples += static_cast<int64_t>(values.size());
    RETURN_IF_ERROR(answer.AddRow(
        kTurnRows, {run.run, turn.number, std::string(turn.is_candidate ? "candidate" : "baseline"),
                    turn.counts() ? AnalysisValue(turn.block) : AnalysisValue(), static_cast<int64_t>(turn.wall_ns),
                    run.user_cpu_ns[i], turn.asked_samples, samples, turn.reported_ns(), turn.leftover_processes}));
  }
  return OkStatus();
}

Result<AnalysisAnswer> AnswerSamples(const AnalysisTraces& traces, const AnalysisOptions& options,
                                     const StopSignal& stop) {
  AnalysisAnswer answer(traces);
  RETURN_IF_ERROR(StillWanted(stop));
  ASSIGN_OR_RETURN(const std::vector<EventRun> runs, ReadEventRuns(traces, stop));
  if (runs.empty()) answer.AddNote("no samples: none of the runs is one of kprofctl capture event");
  const std::string& only = options.text("case");
  const AnalysisValue none;
  AnalysisAnswer::Row facts = {none, none, none, none, std::string("[]"), none, none};
  for (const EventRun& run : runs) {
    for (const std::string& name : CasesOf(run.turns)) {
      if (!only.empty() && name != only) continue;
      RETURN_IF_ERROR(StillWanted(stop));
      for (const bool is_candidate : {true, false}) RETURN_IF_ERROR(AddCase(run, name, is_candidate, answer));
    }
    RETURN_IF_ERROR(AddTurns(run, answer));
    facts[5] = 100 * run.rules.delta;
    facts[6] = static_cast<int64_t>(run.rules.seed);
    if (!run.compares) continue;
    const Verdict verdict = JudgeTurns(run.turns, run.rules, run.facts);
    RETURN_IF_ERROR(AddComparison(run, verdict.overall, true, answer));
    for (const CaseVerdict& one : verdict.cases) {
      if (verdict.cases.size() == 1 || (!only.empty() && one.name != only)) continue;
      RETURN_IF_ERROR(AddComparison(run, one, false, answer));
    }
    if (runs.size() > 1) continue;
    facts[0] = std::string(VerdictName(verdict.overall.verdict));
    facts[1] = MaybeReal(verdict.overall.ratio);
    facts[2] = MaybeReal(verdict.overall.ci_low);
    facts[3] = MaybeReal(verdict.overall.ci_high);
    facts[4] = CodesJson(verdict.overall.reasons);
    for (const VerdictReason& reason : verdict.overall.reasons) answer.AddNote(reason.code + ": " + reason.message);
  }
  if (runs.size() > 1) answer.AddNote("several runs: the table comparison has the verdict of each");
  answer.SetFacts(std::move(facts));
  return answer;
}

}  // namespace

AnalysisKind Samples() {
  using enum AnalysisType;
  constexpr const char* kCaseMeaning = "As the command names it; null: it names none, or the whole process was timed";
  constexpr const char* kSideMeaning = "candidate: the command after --; baseline: that of --against";
  return {
      .name = "samples",
      .version = 1,
      .question = "How long did it take, how noisy was it, and which of two commands is faster?",
      .options = {kSamplesScope},
      .facts = {{"verdict", kText, "", "FASTER: the command beats the one it ran against; SLOWER, SAME, INCONCLUSIVE"},
                {"ratio", kReal, "", "The command's time by the other's: below 1 it is faster"},
                {"ci_low", kReal, "", "The 95 % interval of the ratio begins here"},
                {"ci_high", kReal, "", "And ends here"},
                {"reasons", kJson, "", "Codes of the reasons why it is no clearer; a note tells each in words"},
                {"delta_percent", kReal, "percent", "A smaller difference counts as none"},
                {"seed", kInteger, "", "Of the random numbers: the same samples and seed give the same verdict"}},
      .tables = {{"cases",
                  {{"run", kText, "", "The run", true},
                   {"case", kText, "", kCaseMeaning},
                   {"side", kText, "", kSideMeaning},
                   {"processes", kInteger, "", "Fresh processes that count"},
                   {"samples", kInteger, "", "Of all of them"},
                   {"median_ns", kReal, "ns", "Of the samples"},
                   {"noise_percent", kReal, "percent", "The standard deviation, of the mean"},
                   {"min_ns", kReal, "ns", "The shortest"},
                   {"q1_ns", kReal, "ns", "A quarter is shorter"},
                   {"q3_ns", kReal, "ns", "A quarter is longer"},
                   {"p95_ns", kReal, "ns", "A twentieth is longer"},
                   {"p99_ns", kReal, "ns", "A hundredth is longer"},
                   {"max_ns", kReal, "ns", "The longest"},
                   {"mean_ns", kReal, "ns", "Of the samples"},
                   {"deviation_ns", kReal, "ns", "The standard deviation"},
                   {"autocorrelation", kReal, "", "Of each sample with the next one: near 0 they are independent"},
                   {"is_bimodal", kBoolean, "", "They gather at two times"},
                   {"tflop_per_s", kReal, "", "TFLOP/s; by the FLOPs that a sample says it does, at the median"},
                   {"gb_per_s", kReal, "", "GB/s; by the bytes that a sample says it moves, at the median"}}},
                 {"comparison",
                  {{"run", kText, "", "The run", true},
                   {"case", kText, "", "Null: all cases together, as the geometric mean of their ratios"},
                   {"verdict", kText, "", "As the fact of that name"},
                   {"ratio", kReal, "", "The command's time by the other's"},
                   {"ci_low", kReal, "", "The interval of the ratio; of several cases each is at its Holm level"},
                   {"ci_high", kReal, "", "Its end"},
                   {"p_value", kReal, "", "The chance of such a difference, or a larger one, where there is none"},
                   {"reasons", kJson, "", "Codes"}}},
                 {"histogram",
                  {{"run", kText, "", "The run", true},
                   {"case", kText, "", kCaseMeaning},
                   {"side", kText, "", kSideMeaning},
                   {"from_ns", kReal, "ns", "Samples from this time on"},
                   {"to_ns", kReal, "ns", "Before this one"},
                   {"count", kInteger, "", "How many"}}},
                 {"turns",
                  {{"run", kText, "", "The run", true},
                   {"turn", kInteger, "", "From 1, in the order in which they ran"},
                   {"side", kText, "", kSideMeaning},
                   {"block", kInteger, "", "Turns that are compared with each other; null: it warmed up"},
                   {"wall_ns", kInteger, "ns", "Of the process, as seen from outside"},
                   {"user_cpu_ns", kInteger, "ns", "Of it and its children"},
                   {"asked_samples", kInteger, "", "Of each case"},
                   {"samples", kInteger, "", "That it reported"},
                   {"reported_ns", kReal, "ns", "Their sum"},
                   {"leftover_processes", kInteger, "", "That outlived it and were ended"}}}},
      .answer = &AnswerSamples};
}

}  // namespace kprof
