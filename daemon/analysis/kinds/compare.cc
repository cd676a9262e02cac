// Two sides of runs compared: totals, steps, kernels, operators. Docs: docs/analyses/compare.md.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/comparison/call_places.h"
#include "daemon/analysis/functions/comparison/compared_sides.h"
#include "daemon/analysis/functions/comparison/event_comparison.h"
#include "daemon/analysis/functions/comparison/matched_kernels.h"
#include "daemon/analysis/functions/comparison/matched_places.h"
#include "daemon/analysis/functions/comparison/neuron_comparison.h"
#include "daemon/analysis/functions/comparison/side_facts.h"
#include "daemon/analysis/functions/neuron/neuron_parts.h"
#include "storage/base/memory_charge.h"
#include "storage/trace_sql/tables/strict_json.h"

namespace kprof {
namespace {

enum CompareTable : size_t { kKernelChanges, kTotals, kStepChanges, kOperatorChanges, kWorkload, kNeuronChanges };

constexpr AnalysisOption kBaselineOption[] = {
    {.name = "baseline",
     .type = AnalysisType::kText,
     .meaning = "The run or runs to compare with, with commas between; without it: of two runs the older one",
     .names_runs = true},
    {.name = "baseline-device",
     .meaning = "The device of the baseline; without it the one of option device, or the only one that it has",
     .least = 0},
};

std::string QuotedJson(std::string_view text) {
  std::string json;
  AppendStrictText(text, json);
  return json;
}

// Which part of a change is of more or fewer calls, at the old time for each, and which of slower or faster calls.
struct ChangeParts {
  AnalysisValue by_count_ns;
  AnalysisValue by_call_ns;
};

ChangeParts PartsOfChange(const OfSides<SideSum>& sums) {
  if (sums[kBefore].count == 0 || sums[kAfter].count == 0) return {};
  const double mean = static_cast<double>(sums[kBefore].ns) / static_cast<double>(sums[kBefore].count);
  const double by_count = mean * static_cast<double>(sums[kAfter].count - sums[kBefore].count);
  return {by_count, static_cast<double>(sums[kAfter].ns - sums[kBefore].ns) - by_count};
}

const char* StatusOf(bool was, bool is, int64_t delta_ns, int64_t delta_count) {
  if (!was) return "added";
  if (!is) return "removed";
  return delta_ns == 0 && delta_count == 0 ? "same" : "changed";
}

SideSum StepSumOf(const SideFacts& facts) {
  SideSum sum;
  for (const auto& [number, step] : facts.steps) sum.Add(step);
  return sum;
}

std::optional<int64_t> MeanOf(const SideSum& sum) {
  if (sum.count == 0) return std::nullopt;
  return sum.ns / sum.count;
}

// The answer, once both sides are read.
class Comparison {
 public:
  // `is_cut`: a stretch of time was asked for, so that the totals are its length.
  Comparison(const OfSides<SideFacts>& sides, bool is_cut, AnalysisAnswer& answer)
      : sides_(sides), is_cut_(is_cut), answer_(answer), kernels_(MatchKernels(sides)), shared_(WorkInBoth(kernels_)) {}

  Status AddWorkload(const OfSides<std::string>& ranks) {
    const auto joined = [](const std::set<std::string>& names) {
      std::string text;
      for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
      return text;
    };
    const auto number = [](int64_t value) { return std::to_string(value); };
    RETURN_IF_ERROR(AddWork("runs", number(before().runs), number(after().runs), false));
    RETURN_IF_ERROR(AddWork("ranks", ranks[kBefore], ranks[kAfter], true));
    RETURN_IF_ERROR(AddWork("devices", joined(before().devices), joined(after().devices), true));
    RETURN_IF_ERROR(AddWork("steps", number(static_cast<int64_t>(before().steps.size())),
                            number(static_cast<int64_t>(after().steps.size())), true));
    RETURN_IF_ERROR(AddWork("operator calls", number(before().operators), number(after().operators), false));
    RETURN_IF_ERROR(AddWork("kernels", number(before().all_kernels.count), number(after().all_kernels.count), false));
    RETURN_IF_ERROR(
        AddWork("kernels that both have", number(shared_.calls[kBefore]), number(shared_.calls[kAfter]), false));
    if (HasOtherAmount()) {
      AddDifference("the amount of work", "kernels that both have ran " + number(shared_.calls[kBefore]) +
                                              " times, now " + number(shared_.calls[kAfter]) + ": " +
                                              TimesText(*shared_.ratio) +
                                              " times as often, on the median by their time");
    }
    return AddShapeWork();
  }

  Status AddTotals() {
    RETURN_IF_ERROR(AddTotal("total", before().total_ns, after().total_ns));
    const std::optional<int64_t> step_before = MeanOf(StepSumOf(before()));
    const std::optional<int64_t> step_after = MeanOf(StepSumOf(after()));
    if (step_before && step_after) RETURN_IF_ERROR(AddTotal("step", *step_before, *step_after));
    RETURN_IF_ERROR(AddTotal("device busy", before().busy_ns, after().busy_ns));
    RETURN_IF_ERROR(AddTotal("device idle", before().idle_ns, after().idle_ns));
    for (size_t type = 0; type < kKernelTypes; ++type) {
      RETURN_IF_ERROR(AddTotal(std::string(KernelTypeName(static_cast<KernelType>(type))), before().of_type_ns[type],
                               after().of_type_ns[type]));
    }
    return AddTotal("kernels", before().all_kernels.ns, after().all_kernels.ns);
  }

  // In their order: the first with the first. Means over ranks and runs.
  Status AddSteps() {
    auto a = before().steps.begin();
    auto b = after().steps.begin();
    for (; a != before().steps.end() && b != after().steps.end(); ++a, ++b) {
      const int64_t from = *MeanOf(a->second);
      const int64_t to = *MeanOf(b->second);
      RETURN_IF_ERROR(
          answer_.AddRow(kStepChanges, {a->first, b->first, from, to, to - from, PercentOf(to - from, from)}));
    }
    return OkStatus();
  }

  Status AddKernels(const OfSides<const CallPlaces*>& places) {
    for (const MatchedKernel& row : kernels_) {
      const bool was = !row.names[kBefore].empty();
      const bool is = !row.names[kAfter].empty();
      const std::string& name = (is ? row.names[kAfter] : row.names[kBefore]).front();
      const int64_t delta_count = row.sums[kAfter].count - row.sums[kBefore].count;
      const ChangeParts parts = PartsOfChange(row.sums);
      const std::string launcher = places[is ? kAfter : kBefore]->LauncherOf(name);
      const bool has_other_name = was && is && row.names[kBefore].front() != name;
      RETURN_IF_ERROR(answer_.AddRow(
          kKernelChanges,
          {name, row.sums[kBefore].ns, row.sums[kAfter].ns, row.delta_ns(),
           PercentOf(row.delta_ns(), row.sums[kBefore].ns), PercentOf(row.delta_ns(), before().all_kernels.ns),
           std::string(StatusOf(was, is, row.delta_ns(), delta_count)),
           row.matched_by.empty() ? AnalysisValue() : AnalysisValue(row.matched_by), row.sums[kBefore].count,
           row.sums[kAfter].count, row.sums[kBefore].mean_ns(), row.sums[kAfter].mean_ns(), parts.by_count_ns,
           parts.by_call_ns, std::string(KernelTypeName(TypeOfKernel(name))),
           launcher.empty() ? AnalysisValue() : AnalysisValue(launcher),
           has_other_name ? AnalysisValue(row.names[kBefore].front()) : AnalysisValue(),
           static_cast<int64_t>(row.names[kBefore].size()), static_cast<int64_t>(row.names[kAfter].size())}));
    }
    return OkStatus();
  }

  Status AddOperators(const OfSides<const CallPlaces*>& places, const TextNumbers& texts) {
    OfSides<SideSum> unlaunched;
    bool has_places = false;
    for (const Side side : {kBefore, kAfter}) {
      SideSum launched;
      for (const CallPlace& node : places[side]->nodes()) launched.Add({node.kernels, node.device_ns});
      has_places |= places[side]->nodes().size() > 1;
      const int64_t runs = sides_[side].runs;
      unlaunched[side] = {std::max<int64_t>(sides_[side].all_kernels.count * runs - launched.count, 0),
                          std::max<int64_t>(sides_[side].all_kernels.ns * runs - launched.ns, 0)};
    }
    if (!has_places) {
      answer_.AddNote("no operators: neither side has operators, modules or annotations of the host");
      return OkStatus();
    }
    const bool by_host = before().all_kernels.count == 0 && after().all_kernels.count == 0;
    if (by_host) answer_.AddNote("no kernels on either side: operators are compared by the host's time");
    const int64_t whole = by_host ? before().total_ns : before().all_kernels.ns;
    const PlaceMatching matching{{before().runs, after().runs}, unlaunched, by_host};
    for (const MatchedPlace& row : MatchPlaces(places, texts, matching)) {
      const ChangeParts parts = PartsOfChange(
          {SideSum{row.calls[kBefore], row.sums[kBefore].ns}, SideSum{row.calls[kAfter], row.sums[kAfter].ns}});
      const bool is_added = row.sums[kBefore].ns == 0 && row.calls[kBefore] == 0;
      const bool is_removed = row.sums[kAfter].ns == 0 && row.calls[kAfter] == 0;
      RETURN_IF_ERROR(answer_.AddRow(
          kOperatorChanges,
          {row.name.empty() ? AnalysisValue() : AnalysisValue(row.name), row.path, row.sums[kBefore].ns,
           row.sums[kAfter].ns, row.delta_ns(), PercentOf(row.delta_ns(), row.sums[kBefore].ns),
           PercentOf(row.delta_ns(), whole),
           std::string(StatusOf(!is_added, !is_removed, row.delta_ns(), row.calls[kAfter] - row.calls[kBefore])),
           row.calls[kBefore], row.calls[kAfter], row.sums[kBefore].count, row.sums[kAfter].count, parts.by_count_ns,
           parts.by_call_ns, JsonOf(row.lone[kBefore], before().runs), JsonOf(row.lone[kAfter], after().runs)}));
    }
    return OkStatus();
  }

  void SetFacts() {
    const std::optional<int64_t> step_before = MeanOf(StepSumOf(before()));
    const std::optional<int64_t> step_after = MeanOf(StepSumOf(after()));
    const bool by_step = HasSteps();
    const int64_t from = by_step ? *step_before : before().total_ns;
    const int64_t to = by_step ? *step_after : after().total_ns;
    AnalysisValue ratio;
    if (from > 0 && to > 0 && (by_step || (!is_cut_ && !HasOtherAmount()))) {
      ratio = static_cast<double>(to) / static_cast<double>(from);
    } else if (from > 0 && to > 0) {
      AddNoteOfNoRatio();
    }
    answer_.SetFacts({std::string("INCONCLUSIVE"), ratio, AnalysisValue(), AnalysisValue(),
                      std::string("[\"too_few_samples\"]"), differences_.empty() ? "[]" : differences_ + "]",
                      ratio.index() == 0 ? AnalysisValue() : AnalysisValue(std::string(by_step ? "step" : "total")),
                      before().total_ns, after().total_ns, ValueOf(step_before), ValueOf(step_after),
                      before().all_kernels.ns, after().all_kernels.ns});
  }

 private:
  const SideFacts& before() const { return sides_[kBefore]; }
  const SideFacts& after() const { return sides_[kAfter]; }
  bool HasSteps() const { return !before().steps.empty() && !after().steps.empty(); }

  // Steps are units of work. Without them, totals compare only if both traces have the same amount of it.
  bool HasOtherAmount() const {
    constexpr double kSameAmount = 0.01;
    return !HasSteps() && shared_.ratio && std::abs(*shared_.ratio - 1) > kSameAmount;
  }

  static std::string TimesText(double times) {
    char text[40];
    std::snprintf(text, sizeof(text), "%.3g", times);
    return text;
  }

  void AddNoteOfNoRatio() {
    const double ratio = static_cast<double>(after().total_ns) / static_cast<double>(before().total_ns);
    const bool has_amount = shared_.ratio && *shared_.ratio > 0;
    answer_.AddNote(std::string("no ratio: ") +
                    (is_cut_ ? "the totals are the time that was asked for, and no steps lie within it on both sides"
                             : "the totals are of different amounts of work, and there are no steps on both sides") +
                    (has_amount ? "; by the kernels that both have, the same work takes " +
                                      TimesText(ratio / *shared_.ratio) + " times as long"
                                : ""));
  }

  Status AddWork(const std::string& what, const std::string& from, const std::string& to, bool is_workload) {
    if (is_workload && from != to && !from.empty() && !to.empty()) AddDifference(what, from + ", now " + to);
    return answer_.AddRow(kWorkload, {what, from.empty() ? AnalysisValue() : AnalysisValue(from),
                                      to.empty() ? AnalysisValue() : AnalysisValue(to), int64_t{from != to ? 1 : 0}});
  }

  void AddDifference(const std::string& what, const std::string& how) {
    const std::string text = "the workload differs in " + what + ": " + how;
    answer_.AddNote(text);
    differences_ += (differences_.empty() ? "[" : ",") + QuotedJson(text);
  }

  // Operators that both have, with other shapes.
  Status AddShapeWork() {
    const ShapeChanges changes = CompareShapes(sides_);
    if (changes.compared == 0) return OkStatus();
    if (changes.differing > 0) {
      AddDifference("input shapes", std::to_string(changes.differing) + " of " + std::to_string(changes.compared) +
                                        " operators have others, as " + changes.example);
    }
    return answer_.AddRow(kWorkload, {std::string("operators with other input shapes"), std::string("0"),
                                      std::to_string(changes.differing), int64_t{changes.differing > 0 ? 1 : 0}});
  }

  Status AddTotal(const std::string& what, int64_t from, int64_t to) {
    return answer_.AddRow(kTotals, {what, from, to, to - from, PercentOf(to - from, from)});
  }

  static AnalysisValue JsonOf(const std::vector<LoneCalls>& lone, int64_t runs) {
    constexpr size_t kMostListed = 10;
    std::vector<LoneCalls> sorted = lone;
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const LoneCalls& a, const LoneCalls& b) { return a.sum.ns > b.sum.ns; });
    std::string text = "[";
    for (size_t i = 0; i < std::min(sorted.size(), kMostListed); ++i) {
      text += (i == 0 ? "" : ",") + std::string("{\"name\":") + QuotedJson(sorted[i].name) +
              ",\"ns\":" + std::to_string(sorted[i].sum.ns / runs) + "}";
    }
    return text + "]";
  }

  const OfSides<SideFacts>& sides_;
  const bool is_cut_;
  AnalysisAnswer& answer_;
  const std::vector<MatchedKernel> kernels_;
  const SharedWork shared_;
  std::string differences_;  // an open list of JSON
};

constexpr size_t kRatioFact = 1;
constexpr size_t kRatioOfFact = 6;

AnalysisAnswer::Row NoFacts(const char* reason) {
  const AnalysisValue none;
  return {std::string("INCONCLUSIVE"),
          none,
          none,
          none,
          "[\"" + std::string(reason) + "\"]",
          std::string("[]"),
          none,
          none,
          none,
          none,
          none,
          none,
          none};
}

// The advice where a comparison has nothing to compare: what to ask in its place. Empty: there is something.
std::string NoteOfReportsAlone(const OfSides<ComparedSide>& sides) {
  constexpr const char* kRemedy = "kprofctl report RUN --baseline RUN shows them beside each other";
  const bool is_before = sides[kBefore].has_reports_alone;
  const bool is_after = sides[kAfter].has_reports_alone;
  if (is_before && is_after) return std::string("these runs have reports of a kernel profiler: ") + kRemedy;
  if (!is_before && !is_after) return "";
  return std::string(is_before ? "the baseline" : "what is compared with the baseline") +
         " has a report of a kernel profiler alone, and no trace: compare runs of one tool";
}

// The ratio is that of the executions of device profiles, where each side has one.
Status AddNeuronChanges(const std::vector<ComparedNeuronFigure>& changes, AnalysisAnswer& answer,
                        AnalysisAnswer::Row& facts) {
  size_t executions = 0;
  for (const ComparedNeuronFigure& change : changes) {
    const std::optional<double> before = change.values[kBefore];
    const std::optional<double> after = change.values[kAfter];
    const AnalysisValue percent =
        before && after && *before > 0 ? AnalysisValue(100 * (*after - *before) / *before) : AnalysisValue();
    const auto value = [](std::optional<double> number) { return number ? AnalysisValue(*number) : AnalysisValue(); };
    RETURN_IF_ERROR(answer.AddRow(
        kNeuronChanges, {ValueOf(change.rank), change.what, std::string(change.unit), value(before), value(after),
                         before && after ? AnalysisValue(*after - *before) : AnalysisValue(), percent}));
    if (change.what != "execution" || !before || !after || !(*before > 0)) continue;
    const bool is_only = ++executions == 1;
    facts[kRatioFact] = is_only ? AnalysisValue(*after / *before) : AnalysisValue();
    facts[kRatioOfFact] = is_only ? AnalysisValue(std::string("execution")) : AnalysisValue();
  }
  return OkStatus();
}

// A row of the table kernels for each case, by the medians of its samples.
Status AddEventChanges(const EventComparison& events, AnalysisAnswer& answer) {
  for (const ComparedCase& one : events.cases) {
    const auto before = static_cast<int64_t>(std::llround(one.median_ns[kBefore]));
    const auto after = static_cast<int64_t>(std::llround(one.median_ns[kAfter]));
    const AnalysisValue none;
    RETURN_IF_ERROR(answer.AddRow(
        kKernelChanges,
        {one.name.empty() ? std::string("(all of it)") : one.name, before, after, after - before,
         PercentOf(after - before, before), none, std::string(StatusOf(before > 0, after > 0, after - before, 0)),
         std::string("name"), one.processes[kBefore], one.processes[kAfter], static_cast<double>(before),
         static_cast<double>(after), none, none, none, none, none, int64_t{1}, int64_t{1}}));
  }
  const CaseVerdict& overall = events.verdict.overall;
  const auto real = [](const std::optional<double>& value) { return value ? AnalysisValue(*value) : AnalysisValue(); };
  std::string reasons;
  for (const VerdictReason& reason : overall.reasons) {
    reasons += (reasons.empty() ? "[" : ",") + QuotedJson(reason.code);
    answer.AddNote(reason.code + ": " + reason.message);
  }
  AnalysisAnswer::Row facts = NoFacts("");
  facts[0] = std::string(VerdictName(overall.verdict));
  facts[kRatioFact] = real(overall.ratio);
  facts[kRatioFact + 1] = real(overall.ci_low);
  facts[kRatioFact + 2] = real(overall.ci_high);
  facts[kRatioFact + 3] = reasons + "]";
  facts[kRatioOfFact] = std::string("samples");
  answer.SetFacts(std::move(facts));
  return OkStatus();
}

Result<AnalysisAnswer> AnswerCompare(const AnalysisTraces& traces, const AnalysisOptions& options,
                                     const StopSignal& stop) {
  AnalysisAnswer answer(traces);
  RETURN_IF_ERROR(StillWanted(stop));
  ASSIGN_OR_RETURN(const std::optional<OfSides<ComparedSide>> compared, ChooseSides(traces, options, answer));
  if (!compared) {
    answer.AddNote("nothing to compare with: give option baseline, or two runs");
    answer.SetFacts(NoFacts("no_baseline"));
    return answer;
  }
  ASSIGN_OR_RETURN(const std::optional<EventComparison> events, CompareEvents(*compared, stop));
  if (events) {
    RETURN_IF_ERROR(AddEventChanges(*events, answer));
    return answer;
  }
  OfSides<ComparedSide> others = *compared;
  bool are_others_empty = true;
  for (const Side side : {kBefore, kAfter}) {
    others[side].traces = WithoutNeuron((*compared)[side].traces);
    are_others_empty &= others[side].traces.parts().empty();
  }
  if (options.integer("device").has_value() || options.integer("from") || options.integer("to") ||
      options.integer("step")) {
    // These choose no part of what a Neuron device did.
    are_others_empty = false;
  } else {
    ASSIGN_OR_RETURN(const std::vector<ComparedNeuronFigure> changes, CompareNeuron(*compared, stop));
    AnalysisAnswer::Row facts = NoFacts("too_few_samples");
    RETURN_IF_ERROR(AddNeuronChanges(changes, answer, facts));
    if (!changes.empty() && are_others_empty) {
      answer.AddNote("these runs are of Neuron devices: table neuron compares them");
      answer.SetFacts(std::move(facts));
      return answer;
    }
  }
  if (std::string note = NoteOfReportsAlone(*compared); !note.empty()) {
    answer.AddNote(std::move(note));
    answer.SetFacts(NoFacts("reports_alone"));
    return answer;
  }
  MemoryCharge charge(traces.take_memory());
  TextNumbers texts;
  OfSides<CallPlaces> places = {CallPlaces(texts, charge), CallPlaces(texts, charge)};
  OfSides<SideFacts> sides;
  for (const Side side : {kBefore, kAfter}) {
    ASSIGN_OR_RETURN(sides[side], ReadSide((*compared)[side], stop, charge, places[side]));
  }
  const OfSides<const CallPlaces*> trees = {&places[kBefore], &places[kAfter]};
  const bool is_cut = (options.integer("from") || options.integer("to")) && !options.integer("step");
  Comparison comparison(sides, is_cut, answer);
  RETURN_IF_ERROR(comparison.AddWorkload({(*compared)[kBefore].ranks, (*compared)[kAfter].ranks}));
  RETURN_IF_ERROR(comparison.AddTotals());
  RETURN_IF_ERROR(comparison.AddSteps());
  RETURN_IF_ERROR(comparison.AddKernels(trees));
  RETURN_IF_ERROR(comparison.AddOperators(trees, texts));
  comparison.SetFacts();
  if (sides[kBefore].all_kernels.count == 0 || sides[kAfter].all_kernels.count == 0) {
    const bool is_before = sides[kBefore].all_kernels.count == 0;
    const bool are_both = is_before && sides[kAfter].all_kernels.count == 0;
    answer.AddNote(std::string("no kernels ") +
                   (are_both ? "on either side" : (is_before ? "in the baseline" : "in what is compared with it")));
  }
  return answer;
}

}  // namespace

AnalysisKind Compare() {
  using enum AnalysisType;
  return {
      .name = "compare",
      .version = 1,
      .question = "What changed since the baseline, by how much, and where?",
      .options = {kBaselineOption, kTraceScope},
      .facts =
          {{"verdict", kText, "", "FASTER, SLOWER, SAME or INCONCLUSIVE; a single trace is no sample of many"},
           {"ratio", kReal, "", "The time now to that of the baseline: below 1 is faster; null: of other work"},
           {"ci_low", kReal, "", "The interval of the ratio; null: too few samples"},
           {"ci_high", kReal, "", "Its upper end"},
           {"reasons", kJson, "", "Why there is no clearer verdict: too_few_samples, not_interleaved, no_baseline..."},
           {"differences", kJson, "", "In what the workloads differ: ranks, devices, steps, amount, shapes"},
           {"ratio_of", kText, "",
            "step: the mean of steps; total: no steps on both sides; execution: of Neuron device profiles; samples: of "
            "event runs; null: no ratio"},
           {"before_total_ns", kInteger, "ns", "The baseline's trace, from its first slice to its last"},
           {"after_total_ns", kInteger, "ns", "The same now"},
           {"before_step_ns", kInteger, "ns", "The baseline's mean step; null: it has none"},
           {"after_step_ns", kInteger, "ns", "The same now"},
           {"before_kernels_ns", kInteger, "ns", "Of all work of the baseline's devices, added up"},
           {"after_kernels_ns", kInteger, "ns", "The same now"}},
      .tables =
          {{"kernels",
            {{"name", kText, "", "The kernel, or the copy; of several that match the one with the most time"},
             {"before_ns", kInteger, "ns", "In the baseline, added up; 0: it has none"},
             {"after_ns", kInteger, "ns", "Now"},
             {"delta_ns", kInteger, "ns", "after_ns without before_ns"},
             {"delta_percent", kReal, "percent", "delta_ns of before_ns; null: it is new"},
             {"contribution_percent", kReal, "percent", "delta_ns of all kernels of the baseline"},
             {"status", kText, "", "added, removed, changed, same"},
             {"matched_by", kText, "", "name, spelling (demangled), template (without numbers); null: not matched"},
             {"before_count", kInteger, "", "How often in the baseline"},
             {"after_count", kInteger, "", "How often now"},
             {"before_mean_ns", kReal, "ns", "Per call in the baseline"},
             {"after_mean_ns", kReal, "ns", "Per call now"},
             {"by_count_ns", kReal, "ns", "What of delta_ns more or fewer calls make, each as long as before"},
             {"by_call_ns", kReal, "ns", "What of delta_ns slower or faster calls make"},
             {"type", kText, "", "compute, communication or memory"},
             {"operator", kText, "", "The operator that launched the most of it; null: not known"},
             {"before_name", kText, "", "Its name in the baseline, where it is another"},
             {"before_names", kInteger, "", "How many names of the baseline this is"},
             {"after_names", kInteger, "", "How many names of now"}}},
           {"totals",
            {{"what", kText, "", "total, step, device busy and idle, compute, communication, memory, kernels"},
             {"before_ns", kInteger, "ns", "In the baseline"},
             {"after_ns", kInteger, "ns", "Now"},
             {"delta_ns", kInteger, "ns", "after_ns without before_ns"},
             {"delta_percent", kReal, "percent", "delta_ns of before_ns"}}},
           {"steps",
            {{"before_step", kInteger, "", "The number of the step in the baseline"},
             {"after_step", kInteger, "", "The number of the step that comes at its place now"},
             {"before_ns", kInteger, "ns", "How long it took, on average over ranks"},
             {"after_ns", kInteger, "ns", "Now"},
             {"delta_ns", kInteger, "ns", "after_ns without before_ns"},
             {"delta_percent", kReal, "percent", "delta_ns of before_ns"}}},
           {"operators",
            {{"name", kText, "", "The innermost operator, module or annotation that both have; null: outside of all"},
             {"path", kText, "", "Its place in the call tree"},
             {"before_ns", kInteger, "ns", "Device time of its own and of calls in it that one side alone has"},
             {"after_ns", kInteger, "ns", "Now"},
             {"delta_ns", kInteger, "ns", "after_ns without before_ns"},
             {"delta_percent", kReal, "percent", "delta_ns of before_ns"},
             {"contribution_percent", kReal, "percent", "delta_ns of all kernels of the baseline"},
             {"status", kText, "", "changed, same"},
             {"before_calls", kInteger, "", "How often it was called in the baseline"},
             {"after_calls", kInteger, "", "How often now"},
             {"before_kernels", kInteger, "", "How many kernels that was in the baseline"},
             {"after_kernels", kInteger, "", "How many now"},
             {"by_count_ns", kReal, "ns", "What of delta_ns more or fewer calls make"},
             {"by_call_ns", kReal, "ns", "What of delta_ns slower or faster calls make"},
             {"removed", kJson, "", "Calls in it that the baseline alone has, with their device time"},
             {"added", kJson, "", "Calls in it that are new"}}},
           {"workload",
            {{"what", kText, "", "ranks, devices, steps, calls, shapes"},
             {"before", kText, "", "In the baseline"},
             {"after", kText, "", "Now"},
             {"differs", kBoolean, "", "They are not the same"}}},
           {"neuron",
            {{"rank", kInteger, "", "The rank; null where nobody knows it"},
             {"what", kText, "", "execution, tensor engine active, DMA bytes, MFU, device (NC) time, ..."},
             {"unit", kText, "", "Of the values: ns, bytes, percent, count"},
             {"before", kReal, "", "In the baseline, of several runs the mean; null: not known"},
             {"after", kReal, "", "Now"},
             {"delta", kReal, "", "after without before"},
             {"delta_percent", kReal, "percent", "delta of before"}}}},
      .answer = &AnswerCompare};
}

}  // namespace kprof
