#include "daemon/analysis/functions/launches/device_launches.h"

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "daemon/analysis/functions/hta_rows.h"
#include "daemon/analysis/functions/slice_args.h"
#include "daemon/analysis/operators/part_filter.h"
#include "daemon/analysis/operators/row_indexes.h"
#include "daemon/analysis/operators/slice_columns.h"

namespace kprof {
namespace {

// Correlations that are asked for a million times: a byte for each number of a narrow range, else a sorted list.
class WantedCorrelations {
 public:
  explicit WantedCorrelations(const std::vector<DeviceSlice>& slices) {
    for (const DeviceSlice& slice : slices) {
      if (slice.correlation != kNoValue) sorted_.push_back(slice.correlation);
    }
    std::sort(sorted_.begin(), sorted_.end());
    sorted_.erase(std::unique(sorted_.begin(), sorted_.end()), sorted_.end());
    if (sorted_.empty()) return;
    const auto range = static_cast<uint64_t>(sorted_.back()) - static_cast<uint64_t>(sorted_.front());
    if (range > kWidest) return;
    near_.resize(range + 1);
    for (const int64_t one : sorted_) near_[static_cast<uint64_t>(one) - static_cast<uint64_t>(sorted_.front())] = 1;
  }

  bool empty() const { return sorted_.empty(); }
  bool MayHave(const ColumnBounds& bounds) const { return bounds.max >= sorted_.front(); }
  bool Has(int64_t one) const {
    if (one < sorted_.front() || one > sorted_.back()) return false;
    if (near_.empty()) return std::binary_search(sorted_.begin(), sorted_.end(), one);
    return near_[static_cast<uint64_t>(one) - static_cast<uint64_t>(sorted_.front())] != 0;
  }

 private:
  static constexpr uint64_t kWidest = 8 << 20;

  std::vector<int64_t> sorted_;
  std::vector<uint8_t> near_;
};

// Calls `see(row, track, correlation)` for each slice on a track that is no stream, in the order of rows.
template <typename See>
Status ForEachHostCorrelation(PartReader& reader, const Segment& segment, const See& see) {
  ASSIGN_OR_RETURN(const TrackRuns runs, TrackRuns::Read(reader, segment));
  ASSIGN_OR_RETURN(const DecodedColumn correlations, reader.Read(segment, EventColumn::kCorrelation));
  for (size_t i = 0; i < runs.size(); ++i) {
    const TrackRun run = runs[i];
    if (reader.tracks()[run.track].kind == "gpu_stream") continue;
    for (uint32_t row = run.first; row < run.end; ++row) see(row, run.track, (*correlations)[row]);
  }
  return OkStatus();
}

}  // namespace

Result<DeviceLaunches> DeviceLaunches::Read(const AnalysisTraces& traces, size_t part, const DeviceScope& scope,
                                            const StopSignal& stop, bool at_any_time) {
  DeviceLaunches made(traces);
  if (scope.never(part)) return made;
  if (scope.is_hta()) {
    RETURN_IF_ERROR(made.ReadHta(traces, part, scope, stop));
    return made;
  }
  EventFilter filter = scope.WorkOf(part);
  if (at_any_time) {
    filter.from_ns.reset();
    filter.to_ns.reset();
  }
  RETURN_IF_ERROR(made.ReadExact(traces.parts()[part], filter, stop));
  return made;
}

Status DeviceLaunches::ReadExact(const TracePart& of, const EventFilter& filter, const StopSignal& stop) {
  PartReader& reader = *of.reader;
  ASSIGN_OR_RETURN(const PartFilter work, PartFilter::Bind(filter, of, EventKind::kSlice));
  SliceColumns read(reader);
  RETURN_IF_ERROR(work.ForEach(stop, [&](const Segment& segment, const RowSelection& selection) -> Status {
    RETURN_IF_ERROR(read.ReadWithCorrelations(segment, selection));
    RETURN_IF_ERROR(charge_->Grow(static_cast<int64_t>(read.size() * sizeof(DeviceSlice))));
    for (size_t i = 0; i < read.size(); ++i) {
      slices_.push_back({.begin_ns = read.begin_ns(i),
                         .end_ns = read.end_ns(i),
                         .name = read.name(i),
                         .correlation = read.correlation(i),
                         .place = segment.first_row + selection.RowAt(i),
                         .stream = reader.tracks()[read.track(i)].stream.value_or(-1),
                         .track = read.track(i)});
    }
    return OkStatus();
  }));
  std::sort(slices_.begin(), slices_.end(), [](const DeviceSlice& a, const DeviceSlice& b) {
    return std::tie(a.track, a.begin_ns, a.end_ns, a.place) < std::tie(b.track, b.begin_ns, b.end_ns, b.place);
  });
  return ReadCalls(of, nullptr, stop);
}

Status DeviceLaunches::ReadHta(const AnalysisTraces& traces, size_t part, const DeviceScope& scope,
                               const StopSignal& stop) {
  ASSIGN_OR_RETURN(const HtaRows read, HtaRows::Read(traces, part, scope, stop));
  RETURN_IF_ERROR(charge_->Grow(static_cast<int64_t>(read.rows().size() * sizeof(DeviceSlice))));
  for (const HtaRow& row : read.rows()) {
    slices_.push_back({.begin_ns = row.begin_ns,
                       .end_ns = row.end_ns,
                       .name = row.name,
                       .correlation = row.correlation,
                       .place = row.place,
                       .stream = row.stream,
                       .track = row.track,
                       .is_operation = row.is_operation});
  }
  std::sort(slices_.begin(), slices_.end(), [](const DeviceSlice& a, const DeviceSlice& b) {
    return std::tie(a.stream, a.begin_ns, a.place) < std::tie(b.stream, b.begin_ns, b.place);
  });
  return ReadCalls(traces.parts()[part], &read.clock(), stop);
}

Status DeviceLaunches::ReadCalls(const TracePart& part, const HtaClock* clock, const StopSignal& stop) {
  PartReader& reader = *part.reader;
  const WantedCorrelations wanted(slices_);
  if (wanted.empty()) return OkStatus();
  struct HostSlice {
    uint32_t row = 0;
    uint32_t track = 0;
    int64_t correlation = 0;
  };
  std::vector<int64_t> of_devices;  // HTA's rows may lie on any track
  if (clock != nullptr) {
    for (const DeviceSlice& slice : slices_) of_devices.push_back(slice.place);
    std::sort(of_devices.begin(), of_devices.end());
  }
  for (const Segment& segment : reader.segments(EventKind::kSlice)) {
    RETURN_IF_ERROR(StillWanted(stop));
    ASSIGN_OR_RETURN(const std::optional<ColumnBounds> bounds, reader.ReadBounds(segment, EventColumn::kCorrelation));
    if (!bounds || !wanted.MayHave(*bounds)) continue;
    std::vector<HostSlice> found;
    const auto see = [&](uint32_t row, uint32_t track, int64_t correlation) {
      if (!wanted.Has(correlation)) return;
      if (std::binary_search(of_devices.begin(), of_devices.end(), segment.first_row + row)) return;
      found.push_back({row, track, correlation});
    };
    RETURN_IF_ERROR(ForEachHostCorrelation(reader, segment, see));
    if (found.empty()) continue;
    RETURN_IF_ERROR(charge_->Grow(static_cast<int64_t>(found.size() * sizeof(PartSlice))));
    ASSIGN_OR_RETURN(const DecodedColumn times, reader.Read(segment, EventColumn::kTime));
    ASSIGN_OR_RETURN(const DecodedColumn durations, reader.Read(segment, EventColumn::kDuration));
    ASSIGN_OR_RETURN(const DecodedColumn names, reader.Read(segment, EventColumn::kName));
    for (const auto& [row, track, correlation] : found) {
      PartSlice call{.begin_ns = SafeTime((*times)[row]), .correlation = correlation, .track = track};
      call.end_ns = SafeEndOf(call.begin_ns, (*durations)[row]);
      call.name = (*names)[row];
      if (clock != nullptr) {
        call.begin_ns = clock->RoundedUp(call.begin_ns);
        call.end_ns = clock->RoundedDown(call.end_ns);
        if (clock->cut_ns && call.begin_ns >= *clock->cut_ns) continue;
      }
      calls_.push_back(call);
    }
  }
  std::sort(calls_.begin(), calls_.end(), [](const PartSlice& a, const PartSlice& b) {
    return std::tie(a.correlation, a.begin_ns, a.end_ns) < std::tie(b.correlation, b.begin_ns, b.end_ns);
  });
  for (DeviceSlice& slice : slices_) {
    if (slice.correlation == kNoValue) continue;
    const auto found =
        std::lower_bound(calls_.begin(), calls_.end(), slice.correlation,
                         [](const PartSlice& call, int64_t correlation) { return call.correlation < correlation; });
    if (found != calls_.end() && found->correlation == slice.correlation) slice.call = found - calls_.begin();
  }
  return OkStatus();
}

std::span<const PartSlice> DeviceLaunches::CallsFrom(int64_t call) const {
  if (call == DeviceSlice::kNoCall) return {};
  const auto first = static_cast<size_t>(call);
  size_t end = first;
  while (end < calls_.size() && calls_[end].correlation == calls_[first].correlation) ++end;
  return std::span(calls_).subspan(first, end - first);
}

std::vector<std::span<const DeviceSlice>> ByStream(const DeviceLaunches& read, const PartReader& reader, bool is_hta) {
  const std::vector<DeviceSlice>& slices = read.slices();
  std::vector<std::span<const DeviceSlice>> lists;
  for (size_t first = 0; first < slices.size();) {
    size_t end = first + 1;
    while (end < slices.size() &&
           (is_hta ? slices[end].stream == slices[first].stream : slices[end].track == slices[first].track)) {
      ++end;
    }
    lists.push_back(std::span(slices).subspan(first, end - first));
    first = end;
  }
  if (is_hta) return lists;
  std::stable_sort(lists.begin(), lists.end(), [&](const auto& a, const auto& b) {
    const TrackRow& of_a = reader.tracks()[a.front().track];
    const TrackRow& of_b = reader.tracks()[b.front().track];
    return std::tie(of_a.device, of_a.stream) < std::tie(of_b.device, of_b.stream);
  });
  return lists;
}

namespace {

// Correlations of slices on tracks that are no streams, sorted.
Result<std::vector<int64_t>> FindHostCorrelations(const TracePart& part, MemoryCharge& charge, const StopSignal& stop) {
  PartReader& reader = *part.reader;
  std::vector<int64_t> found;
  for (const Segment& segment : reader.segments(EventKind::kSlice)) {
    RETURN_IF_ERROR(StillWanted(stop));
    ASSIGN_OR_RETURN(const std::optional<ColumnBounds> bounds, reader.ReadBounds(segment, EventColumn::kCorrelation));
    if (!bounds) continue;
    const size_t before = found.size();
    RETURN_IF_ERROR(ForEachHostCorrelation(reader, segment, [&found](uint32_t, uint32_t, int64_t correlation) {
      if (correlation != kNoValue) found.push_back(correlation);
    }));
    RETURN_IF_ERROR(charge.Grow(static_cast<int64_t>((found.size() - before) * sizeof(int64_t))));
  }
  std::sort(found.begin(), found.end());
  return found;
}

bool IsBefore(const LaunchedSlice& a, const LaunchedSlice& b) {
  return std::tie(a.key, a.begin_ns, a.track) < std::tie(b.key, b.begin_ns, b.track);
}

}  // namespace

std::span<const LaunchedSlice> LaunchedWork::Find(const std::vector<LaunchedSlice>& sorted, int64_t key) {
  if (key == kNoValue) return {};
  const auto first = std::lower_bound(sorted.begin(), sorted.end(), key,
                                      [](const LaunchedSlice& one, int64_t value) { return one.key < value; });
  auto last = first;
  while (last != sorted.end() && last->key == key) ++last;
  return std::span(first, last);
}

Result<LaunchedWork> LaunchedWork::Read(const AnalysisTraces& traces, size_t part, const DeviceScope& scope,
                                        const StopSignal& stop) {
  LaunchedWork work(traces);
  const TracePart& of = traces.parts()[part];
  PartReader& reader = *of.reader;
  EventFilter filter = scope.WorkOf(part);
  filter.from_ns.reset();
  filter.to_ns.reset();
  ASSIGN_OR_RETURN(const PartFilter bound, PartFilter::Bind(filter, of, EventKind::kSlice));
  if (bound.never()) return work;
  ASSIGN_OR_RETURN(const std::vector<int64_t> launches, FindHostCorrelations(of, *work.charge_, stop));
  ASSIGN_OR_RETURN(SliceArgs args, SliceArgs::Find(reader, {"External id", "external id"}));
  SliceColumns read(reader);
  std::vector<std::vector<SliceArg>> ids;
  RETURN_IF_ERROR(bound.ForEach(stop, [&](const Segment& segment, const RowSelection& selection) -> Status {
    RETURN_IF_ERROR(read.ReadWithCorrelations(segment, selection));
    RETURN_IF_ERROR(work.charge_->Grow(static_cast<int64_t>(read.size() * (sizeof(LaunchedSlice) + sizeof(int64_t)))));
    bool has_ids = false;
    for (size_t i = 0; i < read.size(); ++i) {
      LaunchedSlice slice{read.correlation(i), read.begin_ns(i), read.end_ns(i), read.name(i), read.track(i)};
      ++work.slices_;
      work.sum_ns_ = SaturatingSum(work.sum_ns_, slice.length_ns());
      if (slice.key != kNoValue && std::binary_search(launches.begin(), launches.end(), slice.key)) {
        work.launched_.push_back(slice);
        continue;
      }
      if (!has_ids) {
        RETURN_IF_ERROR(args.Read(segment, selection, ids));
        has_ids = true;
      }
      const SliceArg& id = ids[0][i].type == ArgType::kInteger ? ids[0][i] : ids[1][i];
      slice.key = id.type == ArgType::kInteger ? id.value : kNoValue;
      (slice.key == kNoValue ? work.without_ : work.with_id_).push_back(slice);
    }
    return OkStatus();
  }));
  std::sort(work.launched_.begin(), work.launched_.end(), IsBefore);
  std::sort(work.with_id_.begin(), work.with_id_.end(), IsBefore);
  return work;
}

}  // namespace kprof
