#include "daemon/analysis/operators/slice_columns.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "daemon/analysis/operators/row_indexes.h"

namespace kprof {

Status SliceColumns::Read(const Segment& segment, const RowSelection& selection) {
  RETURN_IF_ERROR(GatherValues(*reader_, segment, EventColumn::kTime, selection, times_));
  RETURN_IF_ERROR(GatherValues(*reader_, segment, EventColumn::kDuration, selection, durations_));
  RETURN_IF_ERROR(GatherValues(*reader_, segment, EventColumn::kName, selection, names_));
  RETURN_IF_ERROR(GatherValues(*reader_, segment, EventColumn::kTrack, selection, tracks_));
  const uint64_t tracks = reader_->tracks().size();
  for (const int64_t track : tracks_) {
    if (static_cast<uint64_t>(track) >= tracks) return reader_->Broken("a slice is on a track that is not there");
  }
  return OkStatus();
}

Status SliceColumns::ReadWithCorrelations(const Segment& segment, const RowSelection& selection) {
  RETURN_IF_ERROR(Read(segment, selection));
  ASSIGN_OR_RETURN(const std::optional<ColumnBounds> bounds, reader_->ReadBounds(segment, EventColumn::kCorrelation));
  if (bounds) return GatherValues(*reader_, segment, EventColumn::kCorrelation, selection, correlations_);
  correlations_.assign(times_.size(), kNoValue);
  return OkStatus();
}

Status ReadSlices(const TracePart& part, const EventFilter& filter, const StopSignal& stop, MemoryCharge& charge,
                  std::vector<PartSlice>& slices) {
  ASSIGN_OR_RETURN(const PartFilter bound, PartFilter::Bind(filter, part, EventKind::kSlice));
  SliceColumns read(*part.reader);
  return bound.ForEach(stop, [&](const Segment& segment, const RowSelection& selection) -> Status {
    RETURN_IF_ERROR(read.ReadWithCorrelations(segment, selection));
    RETURN_IF_ERROR(charge.Grow(static_cast<int64_t>(read.size() * sizeof(PartSlice))));
    const size_t needed = slices.size() + read.size();
    if (needed > slices.capacity()) slices.reserve(std::max(needed, 2 * slices.capacity()));
    for (size_t i = 0; i < read.size(); ++i) {
      slices.push_back({read.begin_ns(i), read.end_ns(i), read.name(i), read.correlation(i), read.track(i)});
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

}  // namespace kprof
