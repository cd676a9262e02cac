// How long the steps of a training loop took, which were slow, and what differs in those. Docs: docs/analyses/steps.md.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/device_scope.h"
#include "daemon/analysis/functions/host/host_calls.h"
#include "daemon/analysis/functions/part_notes.h"
#include "daemon/analysis/operators/part_filter.h"
#include "daemon/analysis/operators/row_indexes.h"
#include "storage/base/memory_charge.h"

namespace kprof {
namespace {

enum StepTable : size_t { kStepRows, kStepRanks, kStepDifferences };

constexpr int64_t kLooksBetweenStops = 1 << 16;
constexpr size_t kLeastSteps = 3;        // to call one of them slow
constexpr size_t kMostExplained = 10;    // slow steps, of a part
constexpr size_t kMostDifferences = 10;  // of a kind, of a slow step

constexpr AnalysisOption kStepOptions[] = {
    {"name", AnalysisType::kText, "", "", "The steps are the ranges of this name, which may have * and ?"},
    {"slow-percent", AnalysisType::kReal, "10", "percent", "A step is slow that is so much longer than the median"},
};

struct StepRange {
  std::string name;
  std::optional<int64_t> number;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  uint32_t track = 0;

  int64_t length_ns() const { return end_ns - begin_ns; }
};

struct FoundSteps {
  std::string series;            // what they are called; empty: there are none
  std::vector<StepRange> steps;  // in the order of time; none overlaps another
};

// Names with their numbers as #: "step 12" and "step 13" are of one series.
std::string SeriesOf(std::string_view name) {
  std::string series;
  for (const char c : name) {
    if (c < '0' || c > '9') {
      series += c;
    } else if (series.empty() || series.back() != '#') {
      series += '#';
    }
  }
  return series;
}

// The last number of a name.
std::optional<int64_t> NumberIn(std::string_view name) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  size_t end = name.size();
  while (end > 0 && !is_digit(name[end - 1])) --end;
  size_t begin = end;
  while (begin > 0 && is_digit(name[begin - 1])) --begin;
  int64_t number = 0;
  const auto [last, error] = std::from_chars(name.data() + begin, name.data() + end, number);
  return begin < end && error == std::errc() ? std::optional(number) : std::nullopt;
}

constexpr std::string_view kProfilerStep = "ProfilerStep#";
constexpr std::string_view kOptimizer = "Optimizer.step#";
constexpr std::string_view kStepWords[] = {"step", "iteration", "iter", "batch"};

// "train_step 3", but not "stepper": a letter on neither side of a word.
bool IsCalledStep(std::string_view name) {
  if (name.starts_with("Optimizer.")) return false;
  std::string letters;
  for (const char c : name) letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto is_letter = [&](size_t at) { return at < letters.size() && letters[at] >= 'a' && letters[at] <= 'z'; };
  for (const std::string_view word : kStepWords) {
    for (size_t at = letters.find(word); at != std::string::npos; at = letters.find(word, at + 1)) {
      if ((at == 0 || !is_letter(at - 1)) && !is_letter(at + word.size())) return true;
    }
  }
  return false;
}

// Ranges of a part by their series and track.
using StepSeries = std::map<std::pair<std::string, uint32_t>, std::vector<StepRange>>;

Status ReadStepRanges(const TracePart& part, const EventFilter& filter, bool of_devices, const StopSignal& stop,
                      MemoryCharge& charge, StepSeries& series) {
  ASSIGN_OR_RETURN(const PartFilter bound, PartFilter::Bind(filter, part, EventKind::kSlice));
  if (bound.never()) return OkStatus();
  PartReader& reader = *part.reader;
  std::vector<int64_t> times;
  std::vector<int64_t> durations;
  std::vector<int64_t> names;
  std::vector<int64_t> tracks;
  return bound.ForEach(stop, [&](const Segment& segment, const RowSelection& selection) -> Status {
    RETURN_IF_ERROR(GatherValues(reader, segment, EventColumn::kTime, selection, times));
    RETURN_IF_ERROR(GatherValues(reader, segment, EventColumn::kDuration, selection, durations));
    RETURN_IF_ERROR(GatherValues(reader, segment, EventColumn::kName, selection, names));
    RETURN_IF_ERROR(GatherValues(reader, segment, EventColumn::kTrack, selection, tracks));
    for (size_t i = 0; i < times.size(); ++i) {
      const auto track = static_cast<size_t>(tracks[i]);
      if (track >= reader.tracks().size()) return reader.Broken("a slice is on a track that is not there");
      if (!IsKnown(durations[i]) || (reader.tracks()[track].kind == "gpu_stream") != of_devices) continue;
      ASSIGN_OR_RETURN(std::string name, reader.ReadString(names[i]));
      RETURN_IF_ERROR(charge.Grow(static_cast<int64_t>(sizeof(StepRange) + name.size())));
      const int64_t begin = SafeTime(times[i]);
      std::vector<StepRange>& ranges = series[{SeriesOf(name), static_cast<uint32_t>(track)}];
      const std::optional<int64_t> number = NumberIn(name);
      ranges.push_back({std::move(name), number, begin, SafeEndOf(begin, durations[i]), static_cast<uint32_t>(track)});
    }
    return OkStatus();
  });
}

// The series and track that covers the most time, without ranges that lie in others of it.
FoundSteps LongestOf(StepSeries& series) {
  FoundSteps found;
  int64_t most_ns = -1;
  for (auto& [key, ranges] : series) {
    std::stable_sort(ranges.begin(), ranges.end(), [](const StepRange& a, const StepRange& b) {
      return std::tuple(a.begin_ns, b.end_ns) < std::tuple(b.begin_ns, a.end_ns);
    });
    std::vector<StepRange> outer;
    int64_t sum = 0;
    for (StepRange& range : ranges) {
      if (!outer.empty() && range.begin_ns < outer.back().end_ns) continue;
      sum = SaturatingSum(sum, range.length_ns());
      outer.push_back(std::move(range));
    }
    if (sum <= most_ns) continue;
    most_ns = sum;
    found = {key.first, std::move(outer)};
  }
  return found;
}

EventFilter AnnotationFilter(std::function<bool(std::string_view)> accepts) {
  EventFilter filter;
  filter.categories = {"user_annotation", "nvtx", "gpu_user_annotation"};
  filter.accepts_name = std::move(accepts);
  return filter;
}

// Numbers that do not rise from step to step count something else: then steps are counted from 1.
void NumberInOrder(std::vector<StepRange>& steps) {
  bool rises = steps.size() > 1;
  for (size_t i = 0; i < steps.size(); ++i) {
    rises = rises && steps[i].number && (i == 0 || *steps[i].number > *steps[i - 1].number);
  }
  for (size_t i = 0; i < steps.size() && !rises; ++i) steps[i].number = static_cast<int64_t>(i + 1);
}

int64_t LengthOf(const TracePart& part) {
  int64_t begin = INT64_MAX;
  int64_t end = INT64_MIN;
  for (const Segment& segment : part.reader->segments(EventKind::kSlice)) {
    begin = std::min(begin, SafeTime(segment.min_time_ns));
    end = std::max(end, SafeTime(segment.max_end_ns));
  }
  return std::max<int64_t>(end - begin, 0);
}

class StepFinder {
 public:
  StepFinder(const AnalysisTraces& traces, size_t part, const StopSignal& stop)
      : part_(traces.parts()[part]), stop_(stop), charge_(traces.take_memory()) {}

  // `pattern`: the option name; empty: whatever is called a step.
  Result<FoundSteps> Find(const std::string& pattern) {
    if (!pattern.empty()) {
      EventFilter filter;
      filter.names = {pattern};
      return FindOne(filter);
    }
    EventFilter profiler;  // older versions of PyTorch write them as operators
    profiler.accepts_name = [](std::string_view name) { return name.starts_with(kProfilerStep); };
    ASSIGN_OR_RETURN(FoundSteps found, FindOne(profiler));
    if (!found.steps.empty()) return found;
    ASSIGN_OR_RETURN(found, FindOne(AnnotationFilter(IsCalledStep)));
    if (!found.steps.empty()) return found;
    ASSIGN_OR_RETURN(found, FindByOptimizer());
    if (!found.steps.empty()) return found;
    return FindByTime();
  }

 private:
  // Ranges of the host, else those of a device.
  Result<FoundSteps> FindOne(const EventFilter& filter) {
    for (const bool of_devices : {false, true}) {
      StepSeries series;
      RETURN_IF_ERROR(ReadStepRanges(part_, filter, of_devices, stop_, charge_, series));
      if (!series.empty()) return LongestOf(series);
    }
    return FoundSteps();
  }

  // A step ends where the optimizer's does, and the next one begins there.
  Result<FoundSteps> FindByOptimizer() {
    ASSIGN_OR_RETURN(FoundSteps found,
                     FindOne(AnnotationFilter([](std::string_view name) { return name.starts_with(kOptimizer); })));
    FoundSteps between;
    for (size_t i = 1; i < found.steps.size(); ++i) {
      StepRange step = found.steps[i];
      step.begin_ns = found.steps[i - 1].end_ns;
      step.number = static_cast<int64_t>(i);
      between.steps.push_back(std::move(step));
    }
    if (!between.steps.empty()) between.series = "from the end of " + found.series + " to that of the next";
    return between;
  }

  // A series that covers half of the trace is its loop, whatever it is called (vLLM: execute_context_...): one of
  // several ranges rather than one of a single range, of these the one that covers the most.
  Result<FoundSteps> FindByTime() {
    const EventFilter filter = AnnotationFilter([](std::string_view name) {
      return NameOfCall(name).size() == name.size();  // no operator of emit_nvtx
    });
    const int64_t whole_ns = LengthOf(part_);
    for (const bool of_devices : {false, true}) {
      StepSeries all;
      RETURN_IF_ERROR(ReadStepRanges(part_, filter, of_devices, stop_, charge_, all));
      for (const bool is_single : {false, true}) {
        StepSeries some;
        for (auto& [key, ranges] : all) {
          if ((ranges.size() == 1) == is_single) some.insert({key, std::move(ranges)});
        }
        FoundSteps found = LongestOf(some);
        int64_t sum = 0;
        for (const StepRange& step : found.steps) sum = SaturatingSum(sum, step.length_ns());
        if (!found.steps.empty() && sum >= whole_ns - sum) {
          NumberInOrder(found.steps);
          return found;
        }
      }
    }
    return FoundSteps();
  }

  const TracePart& part_;
  const StopSignal& stop_;
  MemoryCharge charge_;
};

// Time of a step, by what it went to.
struct StepShare {
  int64_t ns = 0;
  int64_t count = 0;
};
using StepShares = std::unordered_map<int64_t, StepShare>;  // by a string's number

struct StepTimes {
  int64_t busy_ns = 0;
  int64_t busy_to_ns = INT64_MIN;
  int64_t kernels = 0;
  StepShares of_kernels;
  StepShares of_host;
};

// The first step that ends behind that time.
size_t StepAt(const std::vector<StepRange>& steps, int64_t time_ns) {
  const auto found =
      std::partition_point(steps.begin(), steps.end(), [&](const StepRange& step) { return step.end_ns <= time_ns; });
  return static_cast<size_t>(found - steps.begin());
}

Status ReadDeviceTimes(const TracePart& part, EventFilter filter, const std::vector<StepRange>& steps,
                       const StopSignal& stop, MemoryCharge& charge, std::vector<StepTimes>& times_of_steps) {
  filter.from_ns = steps.front().begin_ns;
  filter.to_ns = steps.back().end_ns;
  if (*filter.from_ns >= *filter.to_ns) return OkStatus();
  ASSIGN_OR_RETURN(const PartFilter bound, PartFilter::Bind(filter, part, EventKind::kSlice));
  if (bound.never()) return OkStatus();
  struct Work {
    int64_t begin_ns = 0;
    int64_t end_ns = 0;
    int64_t name = 0;
  };
  std::vector<Work> work;
  std::vector<int64_t> times;
  std::vector<int64_t> durations;
  std::vector<int64_t> names;
  PartReader& reader = *part.reader;
  RETURN_IF_ERROR(bound.ForEach(stop, [&](const Segment& segment, const RowSelection& selection) -> Status {
    RETURN_IF_ERROR(GatherValues(reader, segment, EventColumn::kTime, selection, times));
    RETURN_IF_ERROR(GatherValues(reader, segment, EventColumn::kDuration, selection, durations));
    RETURN_IF_ERROR(GatherValues(reader, segment, EventColumn::kName, selection, names));
    RETURN_IF_ERROR(charge.Grow(static_cast<int64_t>(times.size() * sizeof(Work))));
    for (size_t i = 0; i < times.size(); ++i) {
      const int64_t begin = SafeTime(times[i]);
      work.push_back({begin, SafeEndOf(begin, durations[i]), names[i]});
    }
    return OkStatus();
  }));
  std::sort(work.begin(), work.end(), [](const Work& a, const Work& b) { return a.begin_ns < b.begin_ns; });
  int64_t looked_at = 0;
  for (const Work& slice : work) {
    for (size_t i = StepAt(steps, slice.begin_ns); i < steps.size() && steps[i].begin_ns <= slice.end_ns; ++i) {
      if (++looked_at % kLooksBetweenStops == 0) RETURN_IF_ERROR(StillWanted(stop));
      StepTimes& of = times_of_steps[i];
      const int64_t begin = std::max(slice.begin_ns, steps[i].begin_ns);
      const int64_t end = std::min(slice.end_ns, steps[i].end_ns);
      if (begin > end || (begin == end && slice.begin_ns != slice.end_ns)) continue;
      ++of.kernels;
      const auto [share, is_new] = of.of_kernels.try_emplace(slice.name);
      if (is_new) RETURN_IF_ERROR(charge.Grow(sizeof(StepShare) + 48));
      share->second.ns = SaturatingSum(share->second.ns, end - begin);
      ++share->second.count;
      const int64_t from = std::max(begin, of.busy_to_ns);
      if (end > from) of.busy_ns += end - from;
      of.busy_to_ns = std::max(of.busy_to_ns, end);
    }
  }
  return OkStatus();
}

// The self times of calls on the steps' own thread, by the step in which they begin.
class HostShares : public HostCallVisitor {
 public:
  HostShares(const std::vector<StepRange>& steps, std::vector<StepTimes>& times, const std::vector<uint8_t>& is_asked)
      : steps_(steps), times_(times), is_asked_(is_asked) {}

  Status SeeSegments(std::span<const Segment>) override { return OkStatus(); }
  void SeeTrack(uint32_t) override {}

  void Begin(const std::vector<HostCall>& calls) override {
    const HostCall& call = calls.back();
    if (!covered_.empty()) Cover(covered_.back(), call);
    covered_.push_back({0, call.begin_ns});
  }

  void End(const std::vector<HostCall>& calls) override {
    const HostCall& call = calls.back();
    const Covered covered = covered_.back();
    covered_.pop_back();
    const size_t step = StepAt(steps_, call.begin_ns);
    if (step == steps_.size() || call.begin_ns < steps_[step].begin_ns || is_asked_[step] == 0) return;
    const bool is_step = call.begin_ns == steps_[step].begin_ns && call.end_ns == steps_[step].end_ns;
    if (is_step || call.role == CallRole::kStep || call.end_ns > steps_[step].end_ns) return;
    StepShare& share = times_[step].of_host[call.name];
    share.ns = SaturatingSum(share.ns, std::max<int64_t>(call.end_ns - call.begin_ns - covered.ns, 0));
    ++share.count;
  }

 private:
  struct Covered {
    int64_t ns = 0;
    int64_t to_ns = 0;
  };

  static void Cover(Covered& of, const HostCall& call) {
    const int64_t from = std::max(call.begin_ns, of.to_ns);
    if (call.end_ns <= from) return;
    of.ns += call.end_ns - from;
    of.to_ns = call.end_ns;
  }

  const std::vector<StepRange>& steps_;
  std::vector<StepTimes>& times_;
  const std::vector<uint8_t>& is_asked_;
  std::vector<Covered> covered_;
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
  ASSIGN_OR_RETURN(const FoundSteps found, StepFinder(traces, part, stop).Find(pattern));
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
  RETURN_IF_ERROR(ReadDeviceTimes(of, scope.WorkOf(part), steps, stop, charge, times));
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
  std::vector<uint8_t> tracks(of.reader->tracks().size(), 0);
  tracks[steps.front().track] = 1;
  HostShares host(steps, times, is_explained);
  RETURN_IF_ERROR(VisitHostCalls({of.reader, of.rank, &tracks}, stop, host));
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
