#include "daemon/analysis/functions/device_scope.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/analysis/operators/part_filter.h"
#include "daemon/analysis/operators/slice_columns.h"
#include "daemon/analysis/operators/trace_part.h"

namespace kprof {
namespace {

constexpr std::string_view kStepPrefix = "ProfilerStep#";

std::optional<int64_t> NumberOfStep(std::string_view name) {
  if (!name.starts_with(kStepPrefix)) return std::nullopt;
  name.remove_prefix(kStepPrefix.size());
  int64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size() || number < 0) return std::nullopt;
  return number;
}

}  // namespace

Result<std::vector<ProfilerStep>> FindProfilerSteps(const TracePart& part, const StopSignal& stop) {
  EventFilter filter;
  filter.accepts_name = [](std::string_view name) { return NumberOfStep(name).has_value(); };
  ASSIGN_OR_RETURN(const PartFilter bound, PartFilter::Bind(filter, part, EventKind::kSlice));
  PartReader& reader = *part.reader;
  std::map<int64_t, ProfilerStep> of_host;
  std::map<int64_t, ProfilerStep> of_devices;
  SliceColumns slices(reader);
  RETURN_IF_ERROR(bound.ForEach(stop, [&](const Segment& segment, const RowSelection& selection) -> Status {
    RETURN_IF_ERROR(slices.Read(segment, selection));
    for (size_t i = 0; i < slices.size(); ++i) {
      ASSIGN_OR_RETURN(const std::string name, reader.ReadString(slices.name(i)));
      const bool is_device = reader.tracks()[slices.track(i)].kind == "gpu_stream";
      const int64_t number = NumberOfStep(name).value_or(0);
      const int64_t begin = slices.begin_ns(i);
      const int64_t end = slices.end_ns(i);
      const auto [found, is_new] =
          (is_device ? of_devices : of_host).try_emplace(number, ProfilerStep{number, begin, end});
      if (is_new) continue;
      found->second.begin_ns = std::min(found->second.begin_ns, begin);
      found->second.end_ns = std::max(found->second.end_ns, end);
    }
    return OkStatus();
  }));
  of_host.merge(of_devices);
  std::vector<ProfilerStep> steps;
  steps.reserve(of_host.size());
  for (const auto& [number, step] : of_host) steps.push_back(step);
  return steps;
}

namespace {

// On a stream, but nothing that runs there.
constexpr std::string_view kNoWork[] = {"gpu_user_annotation", "cuda_sync", "cuda_event", "overhead",
                                        "cuda_profiler_range"};

bool IsWorkCategory(std::string_view category) {
  return std::find(std::begin(kNoWork), std::end(kNoWork), category) == std::end(kNoWork);
}

}  // namespace

Result<DeviceScope> DeviceScope::Make(const AnalysisTraces& traces, const AnalysisOptions& options,
                                      const StopSignal& stop) {
  DeviceScope scope(traces);
  scope.is_hta_ = options.text("window") == "hta";
  scope.device_ = options.integer("device");
  scope.is_all_time_ = !options.integer("from") && !options.integer("to") && !options.integer("step");
  scope.cut_ns_ = options.integer("to");
  scope.times_.assign(traces.parts().size(), {false, options.integer("from"), options.integer("to")});
  if (scope.device_) RETURN_IF_ERROR(scope.FindDevice(*scope.device_));
  if (const std::optional<int64_t> step = options.integer("step")) RETURN_IF_ERROR(scope.FindStep(*step, stop));
  return scope;
}

Status DeviceScope::FindDevice(int64_t device) const {
  constexpr size_t kMostNamed = 8;
  std::set<int64_t> there;
  for (const TracePart& part : traces_->parts()) {
    for (const TrackRow& track : part.reader->tracks()) {
      if (track.device) there.insert(*track.device);
    }
  }
  if (there.contains(device)) return OkStatus();
  std::string names;
  size_t named = 0;
  for (const int64_t other : there) {
    if (named++ == kMostNamed) break;
    names += (names.empty() ? "there are " : ", ") + std::to_string(other);
  }
  if (there.size() > kMostNamed) names += " and " + std::to_string(there.size() - kMostNamed) + " more";
  return Fail(ErrorCode::kUsage, "choose device " + std::to_string(device), "the traces have no such device",
              names.empty() ? "they have none" : names);
}

Status DeviceScope::FindStep(int64_t number, const StopSignal& stop) {
  bool is_found = false;
  std::set<int64_t> others;
  for (size_t i = 0; i < times_.size(); ++i) {
    ASSIGN_OR_RETURN(const std::vector<ProfilerStep> steps, FindProfilerSteps(traces_->parts()[i], stop));
    times_[i].never = true;
    for (const ProfilerStep& step : steps) {
      if (step.number != number) {
        others.insert(step.number);
        continue;
      }
      const int64_t from = std::max(times_[i].from_ns.value_or(step.begin_ns), step.begin_ns);
      const int64_t to = std::min(times_[i].to_ns.value_or(step.end_ns), step.end_ns);
      times_[i] = {from >= to, from, to};
      is_found = true;
    }
  }
  if (is_found) return OkStatus();
  std::string there = "they have no steps (slices called ProfilerStep#N)";
  if (!others.empty()) {
    there = "their steps are " + std::to_string(*others.begin()) + " to " + std::to_string(*others.rbegin());
  }
  return Fail(ErrorCode::kUsage, "choose step " + std::to_string(number), "the traces have no such step", there);
}

EventFilter DeviceScope::WorkOf(size_t part) const {
  EventFilter filter;
  filter.from_ns = from_ns(part);
  filter.to_ns = to_ns(part);
  filter.track_kinds = {"gpu_stream"};
  if (device_) filter.devices = {*device_};
  filter.accepts_category = IsWorkCategory;
  filter.categories_are_left_out = true;
  return filter;
}

EventFilter DeviceScope::WorkOf(size_t part, KernelType type) const {
  EventFilter filter = WorkOf(part);
  filter.accepts_name = [type](std::string_view name) { return TypeOfKernel(name) == type; };
  return filter;
}

Interval DeviceScope::WholeOf(size_t part) const {
  Interval whole;
  bool is_first = true;
  for (const Segment& segment : traces_->parts()[part].reader->segments(EventKind::kSlice)) {
    const int64_t begin = SafeTime(segment.min_time_ns);
    const int64_t end = SafeTime(segment.max_end_ns);
    whole.begin_ns = is_first ? begin : std::min(whole.begin_ns, begin);
    whole.end_ns = is_first ? end : std::max(whole.end_ns, end);
    is_first = false;
  }
  whole.begin_ns = SafeTime(from_ns(part).value_or(whole.begin_ns));
  whole.end_ns = std::max(SafeTime(to_ns(part).value_or(whole.end_ns)), whole.begin_ns);
  return whole;
}

std::string DeviceScope::TextOfBounds() const {
  return (device_ ? " on device " + std::to_string(*device_) : "") +
         (is_all_time_ ? "" : " in the time that is asked for");
}

}  // namespace kprof
