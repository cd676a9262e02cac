#include "daemon/analysis/functions/launches/calls_and_work.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "daemon/analysis/operators/part_filter.h"
#include "daemon/analysis/operators/row_indexes.h"
#include "daemon/analysis/operators/trace_part.h"

namespace kprof {

bool IsCallCategory(std::string_view category) {
  std::string lower(category);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return (lower.ends_with("runtime") || lower.ends_with("driver")) && !lower.starts_with("os_");
}

Status ReadSlices(const TracePart& part, const EventFilter& filter, const StopSignal& stop, MemoryCharge& charge,
                  std::vector<PartSlice>& slices) {
  PartReader& reader = *part.reader;
  ASSIGN_OR_RETURN(const PartFilter bound, PartFilter::Bind(filter, part, EventKind::kSlice));
  std::vector<int64_t> times;
  std::vector<int64_t> durations;
  std::vector<int64_t> names;
  std::vector<int64_t> tracks;
  std::vector<int64_t> correlations;
  return bound.ForEach(stop, [&](const Segment& segment, const RowSelection& selection) -> Status {
    RETURN_IF_ERROR(GatherValues(reader, segment, EventColumn::kTime, selection, times));
    RETURN_IF_ERROR(charge.Grow(static_cast<int64_t>(times.size() * sizeof(PartSlice))));
    RETURN_IF_ERROR(GatherValues(reader, segment, EventColumn::kDuration, selection, durations));
    RETURN_IF_ERROR(GatherValues(reader, segment, EventColumn::kName, selection, names));
    RETURN_IF_ERROR(GatherValues(reader, segment, EventColumn::kTrack, selection, tracks));
    correlations.assign(times.size(), kNoValue);
    ASSIGN_OR_RETURN(const std::optional<ColumnBounds> bounds, reader.ReadBounds(segment, EventColumn::kCorrelation));
    if (bounds) RETURN_IF_ERROR(GatherValues(reader, segment, EventColumn::kCorrelation, selection, correlations));
    const size_t needed = slices.size() + times.size();
    if (needed > slices.capacity()) slices.reserve(std::max(needed, 2 * slices.capacity()));
    for (size_t i = 0; i < times.size(); ++i) {
      const auto track = static_cast<uint64_t>(tracks[i]);
      if (track >= reader.tracks().size()) return reader.Broken("a slice is on a track that is not there");
      const int64_t begin = SafeTime(times[i]);
      slices.push_back(
          {begin, SafeEndOf(begin, durations[i]), names[i], correlations[i], static_cast<uint32_t>(track)});
    }
    return OkStatus();
  });
}

void SortByTrack(std::vector<PartSlice>& slices) {
  const auto before = [](const PartSlice& a, const PartSlice& b) {
    return std::tie(a.track, a.begin_ns, b.end_ns) < std::tie(b.track, b.begin_ns, a.end_ns);
  };
  if (!std::is_sorted(slices.begin(), slices.end(), before)) std::stable_sort(slices.begin(), slices.end(), before);
}

Result<CallsAndWork> CallsAndWork::Read(const AnalysisTraces& traces, size_t part, const DeviceScope& scope,
                                        const StopSignal& stop) {
  CallsAndWork made(traces);
  const TracePart& of = traces.parts()[part];
  EventFilter work = scope.WorkOf(part);
  work.from_ns.reset();
  work.to_ns.reset();
  RETURN_IF_ERROR(ReadSlices(of, work, stop, *made.charge_, made.work_));
  EventFilter calls;
  calls.accepts_category = IsCallCategory;
  RETURN_IF_ERROR(ReadSlices(of, calls, stop, *made.charge_, made.calls_));
  SortByTrack(made.work_);
  SortByTrack(made.calls_);
  RETURN_IF_ERROR(made.FindCalls());
  return made;
}

void CallsAndWork::CutAt(int64_t time_ns) {
  for (std::vector<PartSlice>* slices : {&calls_, &work_}) {
    for (PartSlice& slice : *slices) {
      if (slice.begin_ns < time_ns) slice.end_ns = std::min(slice.end_ns, time_ns);
    }
  }
}

Status CallsAndWork::FindCalls() {
  std::vector<std::pair<int64_t, uint32_t>> by_correlation;
  RETURN_IF_ERROR(
      charge_->Grow(static_cast<int64_t>(calls_.size() * sizeof(by_correlation[0]) + work_.size() * sizeof(uint32_t))));
  by_correlation.reserve(calls_.size());
  for (size_t i = 0; i < calls_.size(); ++i) {
    if (calls_[i].correlation != kNoValue) by_correlation.emplace_back(calls_[i].correlation, i);
  }
  // Of two calls with one correlation, the first launched it.
  std::sort(by_correlation.begin(), by_correlation.end(), [this](const auto& a, const auto& b) {
    return std::tie(a.first, calls_[a.second].begin_ns, a.second) <
           std::tie(b.first, calls_[b.second].begin_ns, b.second);
  });
  call_of_.assign(work_.size(), kNoCall);
  for (size_t i = 0; i < work_.size(); ++i) {
    if (work_[i].correlation == kNoValue) continue;
    const auto found = std::lower_bound(by_correlation.begin(), by_correlation.end(), work_[i].correlation,
                                        [](const auto& one, int64_t correlation) { return one.first < correlation; });
    if (found != by_correlation.end() && found->first == work_[i].correlation) call_of_[i] = found->second;
  }
  return OkStatus();
}

}  // namespace kprof
