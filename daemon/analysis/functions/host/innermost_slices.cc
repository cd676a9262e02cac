#include "daemon/analysis/functions/host/innermost_slices.h"

#include <algorithm>
#include <limits>

namespace kprof {

InnermostSlices::Stretch InnermostSlices::At(uint32_t track, int64_t time_ns) {
  if (track != track_) {
    open_.clear();
    track_ = track;
    const auto first = std::lower_bound(slices_.begin() + static_cast<ptrdiff_t>(next_), slices_.end(), track,
                                        [](const PartSlice& slice, uint32_t of) { return slice.track < of; });
    next_ = static_cast<size_t>(first - slices_.begin());
  }
  for (; next_ < slices_.size() && slices_[next_].track == track && slices_[next_].begin_ns <= time_ns; ++next_) {
    if (slices_[next_].end_ns > time_ns) open_.push_back(&slices_[next_]);
  }
  while (!open_.empty() && open_.back()->end_ns <= time_ns) open_.pop_back();
  Stretch stretch{open_.empty() ? nullptr : open_.back(), std::numeric_limits<int64_t>::max()};
  if (stretch.slice != nullptr) stretch.until_ns = stretch.slice->end_ns;
  if (next_ < slices_.size() && slices_[next_].track == track) {
    stretch.until_ns = std::min(stretch.until_ns, slices_[next_].begin_ns);
  }
  return stretch;
}

}  // namespace kprof
