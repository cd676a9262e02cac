#include "daemon/analysis/functions/steps/step_ranges.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <functional>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "daemon/analysis/functions/host/host_calls.h"
#include "daemon/analysis/operators/part_filter.h"
#include "daemon/analysis/operators/row_indexes.h"
#include "storage/base/memory_charge.h"

namespace kprof {
namespace {

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

}  // namespace

Result<FoundSteps> FindSteps(const AnalysisTraces& traces, size_t part, const std::string& pattern,
                             const StopSignal& stop) {
  return StepFinder(traces, part, stop).Find(pattern);
}

}  // namespace kprof
