#include "daemon/analysis/functions/launches/launched_work.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "daemon/analysis/functions/slice_args.h"
#include "daemon/analysis/operators/part_filter.h"
#include "daemon/analysis/operators/row_indexes.h"
#include "daemon/analysis/operators/slice_columns.h"

namespace kprof {
namespace {

// Correlations of slices on tracks that are no streams, sorted.
Result<std::vector<int64_t>> FindHostCorrelations(const TracePart& part, MemoryCharge& charge, const StopSignal& stop) {
  PartReader& reader = *part.reader;
  std::vector<int64_t> found;
  for (const Segment& segment : reader.segments(EventKind::kSlice)) {
    RETURN_IF_ERROR(StillWanted(stop));
    ASSIGN_OR_RETURN(const std::optional<ColumnBounds> bounds, reader.ReadBounds(segment, EventColumn::kCorrelation));
    if (!bounds) continue;
    ASSIGN_OR_RETURN(const TrackRuns runs, TrackRuns::Read(reader, segment));
    ASSIGN_OR_RETURN(const DecodedColumn values, reader.Read(segment, EventColumn::kCorrelation));
    const size_t before = found.size();
    for (size_t i = 0; i < runs.size(); ++i) {
      if (reader.tracks()[runs[i].track].kind == "gpu_stream") continue;
      for (uint32_t row = runs[i].first; row < runs[i].end; ++row) {
        if ((*values)[row] != kNoValue) found.push_back((*values)[row]);
      }
    }
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
