#include "storage/trace/levels/slice_group.h"

#include <algorithm>
#include <limits>

#include "storage/trace/format/time_order.h"

namespace kprof {

static_assert(kMostDepth <= std::numeric_limits<int16_t>::max());

void SliceGroup::Clear() {
  tracks_.clear();
  for (std::vector<Place>& of_segment : pieces_) of_segment.clear();
  rows_ = 0;
}

void SliceGroup::AddTrack(int64_t track, std::span<const SlicePiece> pieces) {
  const size_t first = rows_;
  for (const SlicePiece& piece : pieces) {
    if (pieces_.size() <= piece.segment) pieces_.resize(piece.segment + 1);
    pieces_[piece.segment].push_back({piece, rows_});
    rows_ += piece.count;
  }
  tracks_.push_back({track, first, rows_ - first});
}

void SliceGroup::Gather(size_t segment, std::span<const int64_t> times, std::span<const int64_t> durations,
                        std::span<const int64_t> names) {
  for (std::vector<int64_t>* column : {&times_, &durations_, &names_}) column->resize(rows_);
  for (const auto& [piece, at] : pieces_[segment]) {
    const auto place = static_cast<ptrdiff_t>(at);
    std::copy_n(times.begin() + static_cast<ptrdiff_t>(piece.first), piece.count, times_.begin() + place);
    std::copy_n(durations.begin() + static_cast<ptrdiff_t>(piece.first), piece.count, durations_.begin() + place);
    std::copy_n(names.begin() + static_cast<ptrdiff_t>(piece.first), piece.count, names_.begin() + place);
  }
}

Status SliceGroup::Nest(SliceNesting& nesting, DetailLevels& levels) {
  depths_.resize(rows_);
  for (const Track& track : tracks_) {
    const std::span times = std::span<const int64_t>(times_).subspan(track.first, track.count);
    const std::span durations = std::span<const int64_t>(durations_).subspan(track.first, track.count);
    const std::span names = std::span<const int64_t>(names_).subspan(track.first, track.count);
    const std::span depths = std::span(depths_).subspan(track.first, track.count);
    const std::vector<uint32_t> order = OrderByTime(times, durations);
    for (const uint32_t row : order) {
      depths[row] = static_cast<int16_t>(nesting.Add(times[row], durations[row], track.id));
    }
    RETURN_IF_ERROR(levels.Add(order, [&](uint32_t row) {
      return DetailSlice{times[row], durations[row], track.id, depths[row], names[row]};
    }));
  }
  return OkStatus();
}

void SliceGroup::GiveDepths(std::span<std::vector<int16_t>> depths) const {
  for (size_t segment = 0; segment < pieces_.size(); ++segment) {
    for (const auto& [piece, at] : pieces_[segment]) {
      std::copy_n(depths_.begin() + static_cast<ptrdiff_t>(at), piece.count,
                  depths[segment].begin() + static_cast<ptrdiff_t>(piece.first));
    }
  }
}

}  // namespace kprof
