// How long the steps of a training loop took, which were slow, and what differs in those. Docs: docs/analyses/steps.md.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/device_scope.h"
#include "daemon/analysis/functions/host/host_calls.h"
#include "daemon/analysis/functions/part_notes.h"
#include "daemon/analysis/functions/steps/step_ranges.h"
#include "daemon/analysis/functions/steps/step_times.h"
#include "storage/base/memory_charge.h"

namespace kprof {
namespace {

enum StepTable : size_t { kStepRows, kStepRanks, kStepDifferences };

constexpr size_t kLeastSteps = 3;        // to call one of them slow
constexpr size_t kMostExplained = 10;    // slow steps, of a part
constexpr size_t kMostDifferences = 10;  // of a kind, of a slow step

constexpr AnalysisOption kStepOptions[] = {
    {"name", AnalysisType::kText, "", "", "The steps are the ranges of this name, which may have * and ?"},
    {"slow-percent", AnalysisType::kReal, "10", "percent", "A step is slow that is so much longer than the median"},
};

struct StepStatistics {
  double mean_ns = 0;
  double deviation_ns = 0;
  int64_t median_ns = 0;
  size_t median_step = 0;
  int64_t min_ns = 0;
  int64_t max_ns = 0;
};

// REQUIRES: there is one.
StepStatistics StatisticsOf(const std::vector<StepRange>& steps) {
  std::vector<size_t> order(steps.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return steps[a].length_ns() < steps[b].length_ns(); });
  StepStatistics of;
  of.median_step = order[(order.size() - 1) / 2];
  of.median_ns = steps[of.median_step].length_ns();
  of.min_ns = steps[order.front()].length_ns();
  of.max_ns = steps[order.back()].length_ns();
  const auto count = static_cast<double>(steps.size());
  for (const StepRange& step : steps) of.mean_ns += static_cast<double>(step.length_ns()) / count;
  double squares = 0;
  for (const StepRange& step : steps) squares += std::pow(static_cast<double>(step.length_ns()) - of.mean_ns, 2);
  if (steps.size() > 1) of.deviation_ns = std::sqrt(squares / (count - 1));
  return of;
}

// The steps of one part, and what was found of them.
struct AnsweredSteps {
  const AnalysisTraces& traces;
  size_t part = 0;
  const std::vector<StepRange>& steps;
  const std::vector<StepTimes>& times;
  const StepStatistics& statistics;
  AnalysisAnswer& answer;

  AnalysisValue run() const { return traces.run(part); }
  AnalysisValue rank() const { return ValueOf(traces.parts()[part].rank); }
};

struct StepDifference {
  int64_t name = 0;
  StepShare slow;
  StepShare median;
  int64_t delta_ns() const { return slow.ns - median.ns; }
};

Status AddStepDifferences(const AnsweredSteps& of, size_t step, const std::string& what, const StepShares& slow,
                          const StepShares& median) {
  std::vector<StepDifference> differences;
  for (const auto& [name, share] : slow) {
    const auto other = median.find(name);
    const StepDifference one{name, share, other == median.end() ? StepShare() : other->second};
    if (one.delta_ns() > 0) differences.push_back(one);
  }
  std::sort(differences.begin(), differences.end(), [](const StepDifference& a, const StepDifference& b) {
    return std::tuple(-a.delta_ns(), a.name) < std::tuple(-b.delta_ns(), b.name);
  });
  if (differences.size() > kMostDifferences) differences.resize(kMostDifferences);
  const int64_t more = of.steps[step].length_ns() - of.statistics.median_ns;
  for (const StepDifference& one : differences) {
    ASSIGN_OR_RETURN(const std::string text, of.traces.parts()[of.part].reader->ReadString(one.name));
    std::string name(what == "host" ? NameOfCall(text) : text);
    RETURN_IF_ERROR(of.answer.AddRow(kStepDifferences, {of.run(), of.rank(), of.steps[step].name, what, std::move(name),
                                                        one.delta_ns(), PercentOf(one.delta_ns(), more), one.slow.ns,
                                                        one.median.ns, one.slow.count, one.median.count}));
  }
  return OkStatus();
}

Status ExplainSlowStep(const AnsweredSteps& of, size_t step) {
  const size_t median = of.statistics.median_step;
  const int64_t more = of.steps[step].length_ns() - of.statistics.median_ns;
  const int64_t idle = of.steps[step].length_ns() - of.times[step].busy_ns;
  const int64_t median_idle = of.steps[median].length_ns() - of.times[median].busy_ns;
  RETURN_IF_ERROR(of.answer.AddRow(
      kStepDifferences,
      {of.run(), of.rank(), of.steps[step].name, std::string("idle"), AnalysisValue(), idle - median_idle,
       PercentOf(idle - median_idle, more), idle, median_idle, AnalysisValue(), AnalysisValue()}));
  RETURN_IF_ERROR(AddStepDifferences(of, step, "kernel", of.times[step].of_kernels, of.times[median].of_kernels));
  return AddStepDifferences(of, step, "host", of.times[step].of_host, of.times[median].of_host);
}

Status AnswerStepsOf(const AnalysisTraces& traces, size_t part, const DeviceScope& scope,
                     const AnalysisOptions& options, const StopSignal& stop, PartNotes& notes, AnalysisAnswer& answer) {
  const TracePart& of = traces.parts()[part];
  if (of.reader->rows(EventKind::kSlice) == 0) {
    // The part `samples` of a run has none, and nobody expects any.
    if (of.rank || traces.parts().size() == 1) notes.Add(part, "no steps: it has no slices");
    return OkStatus();
  }
  const std::string& pattern = options.text("name");
  ASSIGN_OR_RETURN(const FoundSteps found, FindSteps(traces, part, pattern, stop));
  const std::vector<StepRange>& steps = found.steps;
  if (steps.empty()) {
    notes.Add(part, (pattern.empty() ? "no steps: neither ProfilerStep#N nor a range that is called step; --name tells "
                                       "which ranges are steps"
                                     : "no ranges are called " + pattern));
    return OkStatus();
  }
  MemoryCharge charge(traces.take_memory());
  RETURN_IF_ERROR(charge.Grow(static_cast<int64_t>(steps.size() * sizeof(StepTimes))));
  std::vector<StepTimes> times(steps.size());
  RETURN_IF_ERROR(AddDeviceTimes(of, scope.WorkOf(part), steps, stop, charge, times));
  const StepStatistics statistics = StatisticsOf(steps);
  const double slow_ns =
      static_cast<double>(statistics.median_ns) * (1 + options.real("slow-percent").value_or(0) / 100);
  const auto is_slow = [&](size_t i) {
    return steps.size() >= kLeastSteps && static_cast<double>(steps[i].length_ns()) > slow_ns;
  };
  const auto is_asked = [&](size_t i) {
    return steps[i].end_ns > scope.from_ns(part).value_or(INT64_MIN) &&
           steps[i].begin_ns < scope.to_ns(part).value_or(INT64_MAX);
  };
  const AnsweredSteps answered{traces, part, steps, times, statistics, answer};
  std::vector<size_t> slow;
  int64_t all_slow = 0;
  int64_t all_ns = 0;
  int64_t busy_ns = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    all_ns = SaturatingSum(all_ns, steps[i].length_ns());
    busy_ns = SaturatingSum(busy_ns, times[i].busy_ns);
    all_slow += is_slow(i) ? 1 : 0;
    if (!is_asked(i)) continue;
    if (is_slow(i)) slow.push_back(i);
    const int64_t length = steps[i].length_ns();
    RETURN_IF_ERROR(answer.AddRow(kStepRows, {answered.run(), answered.rank(), ValueOf(steps[i].number), length,
                                              PercentOf(length - statistics.median_ns, statistics.median_ns),
                                              static_cast<int64_t>(is_slow(i) ? 1 : 0), steps[i].name, times[i].busy_ns,
                                              PercentOf(times[i].busy_ns, length), length - times[i].busy_ns,
                                              times[i].kernels, steps[i].begin_ns}));
  }
  RETURN_IF_ERROR(answer.AddRow(
      kStepRanks,
      {answered.run(), answered.rank(), static_cast<int64_t>(steps.size()), all_slow, statistics.median_ns,
       statistics.mean_ns, statistics.deviation_ns,
       statistics.mean_ns > 0 ? AnalysisValue(100 * statistics.deviation_ns / statistics.mean_ns) : AnalysisValue(),
       statistics.min_ns, statistics.max_ns, PercentOf(busy_ns, all_ns), found.series}));
  if (steps.size() < kLeastSteps) {
    notes.Add(part, std::to_string(steps.size()) + (steps.size() == 1 ? " step" : " steps") +
                        ": too few to say which is slow");
  }
  if (slow.empty()) return OkStatus();
  std::stable_sort(slow.begin(), slow.end(),
                   [&](size_t a, size_t b) { return steps[a].length_ns() > steps[b].length_ns(); });
  if (slow.size() > kMostExplained) {
    notes.Add(part, "differences: the " + std::to_string(kMostExplained) + " slowest of " +
                        std::to_string(slow.size()) + " slow steps");
    slow.resize(kMostExplained);
  }
  std::vector<uint8_t> is_explained(steps.size(), 0);
  is_explained[statistics.median_step] = 1;
  for (const size_t step : slow) is_explained[step] = 1;
  RETURN_IF_ERROR(AddHostTimes(of, steps, is_explained, stop, times));
  for (const size_t step : slow) RETURN_IF_ERROR(ExplainSlowStep(answered, step));
  return OkStatus();
}

Result<AnalysisAnswer> AnswerSteps(const AnalysisTraces& traces, const AnalysisOptions& options,
                                   const StopSignal& stop) {
  AnalysisAnswer answer(traces);
  ASSIGN_OR_RETURN(const DeviceScope scope, DeviceScope::Make(traces, options, stop));
  PartNotes notes;
  for (size_t part = 0; part < traces.parts().size(); ++part) {
    RETURN_IF_ERROR(StillWanted(stop));
    if (!scope.never(part)) RETURN_IF_ERROR(AnswerStepsOf(traces, part, scope, options, stop, notes, answer));
  }
  notes.AddTo(traces, answer);
  return answer;
}

}  // namespace

AnalysisKind Steps() {
  using enum AnalysisType;
  constexpr const char* kRank = "The rank; null where nobody knows it";
  return {.name = "steps",
          .version = 1,
          .question = "How long did the steps take, which were slow, and what differs in those?",
          .options = {kTraceScope, kStepOptions},
          .tables = {{"steps",
                      {{"run", kText, "", "The run", true},
                       {"rank", kInteger, "", kRank},
                       {"step", kInteger, "", "Its number; null where its name has none"},
                       {"duration_ns", kInteger, "ns", "From its begin on the host to its end there"},
                       {"vs_median_percent", kReal, "percent", "How much longer it is than the median step"},
                       {"is_slow", kBoolean, "", "More than slow-percent longer than the median step"},
                       {"name", kText, "", "Its name"},
                       {"busy_ns", kInteger, "ns", "A device worked in this time"},
                       {"busy_percent", kReal, "percent", "busy_ns of duration_ns"},
                       {"idle_ns", kInteger, "ns", "No device worked in this time"},
                       {"kernels", kInteger, "", "Kernels and copies that ran in this time, also a part of them"},
                       {"start_ns", kInteger, "ns", "Its begin"}}},
                     {"ranks",
                      {{"run", kText, "", "The run", true},
                       {"rank", kInteger, "", kRank},
                       {"steps", kInteger, "", "How many steps there are"},
                       {"slow", kInteger, "", "How many of them are slow"},
                       {"median_ns", kInteger, "ns", "The duration that half of them do not exceed"},
                       {"mean_ns", kReal, "ns", "Their mean duration"},
                       {"stddev_ns", kReal, "ns", "The standard deviation of their durations"},
                       {"variation_percent", kReal, "percent", "stddev_ns of mean_ns"},
                       {"min_ns", kInteger, "ns", "The shortest"},
                       {"max_ns", kInteger, "ns", "The longest"},
                       {"busy_percent", kReal, "percent", "Of all of their time, that in which a device worked"},
                       {"series", kText, "", "What counts as a step; # stands for numbers"}}},
                     {"differences",
                      {{"run", kText, "", "The run", true},
                       {"rank", kInteger, "", kRank},
                       {"step", kText, "", "The name of the slow step"},
                       {"what", kText, "",
                        "idle: no device works; kernel: a kernel runs; host: its own thread is in a call"},
                       {"name", kText, "", "The kernel, or the call; null for idle"},
                       {"delta_ns", kInteger, "ns", "How much more of it than in the median step"},
                       {"percent", kReal, "percent", "delta_ns of what the step is longer"},
                       {"ns", kInteger, "ns", "In the slow step"},
                       {"median_ns", kInteger, "ns", "In the median step"},
                       {"count", kInteger, "", "How often in the slow step"},
                       {"median_count", kInteger, "", "How often in the median step"}}}},
          .answer = &AnswerSteps};
}

}  // namespace kprof
