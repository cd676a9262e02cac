#include "daemon/analysis/functions/profiler_steps.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/analysis/operators/part_filter.h"
#include "daemon/analysis/operators/safe_times.h"
#include "daemon/analysis/operators/selected_values.h"

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

struct StepColumns {
  std::vector<int64_t> names;
  std::vector<int64_t> times;
  std::vector<int64_t> durations;
  std::vector<int64_t> tracks;
};

}  // namespace

Result<std::vector<ProfilerStep>> FindProfilerSteps(const TracePart& part, const StopSignal& stop) {
  EventFilter filter;
  filter.accepts_name = [](std::string_view name) { return NumberOfStep(name).has_value(); };
  ASSIGN_OR_RETURN(const PartFilter bound, PartFilter::Bind(filter, part, EventKind::kSlice));
  PartReader& reader = *part.reader;
  std::map<int64_t, ProfilerStep> of_host;
  std::map<int64_t, ProfilerStep> of_devices;
  StepColumns columns;
  RETURN_IF_ERROR(bound.ForEach(stop, [&](const Segment& segment, const RowSelection& selection) -> Status {
    RETURN_IF_ERROR(GatherValues(reader, segment, EventColumn::kName, selection, columns.names));
    RETURN_IF_ERROR(GatherValues(reader, segment, EventColumn::kTime, selection, columns.times));
    RETURN_IF_ERROR(GatherValues(reader, segment, EventColumn::kDuration, selection, columns.durations));
    RETURN_IF_ERROR(GatherValues(reader, segment, EventColumn::kTrack, selection, columns.tracks));
    for (size_t i = 0; i < columns.names.size(); ++i) {
      ASSIGN_OR_RETURN(const std::string name, reader.ReadString(columns.names[i]));
      const auto track = static_cast<size_t>(columns.tracks[i]);
      const bool is_device = track < reader.tracks().size() && reader.tracks()[track].kind == "gpu_stream";
      const int64_t number = NumberOfStep(name).value_or(0);
      const int64_t begin = SafeTime(columns.times[i]);
      const int64_t end = EndOf(begin, columns.durations[i]);
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

}  // namespace kprof
