#include "storage/trace/slice_nesting.h"

#include "storage/trace/event_kind.h"
#include "storage/trace/event_time.h"

namespace kprof {

// What ends before the next one does will hold none that begins later: whatever of those is within it is within the
// next one, too, which began later. So each track has one chain of slices that are in each other.
int64_t SliceNesting::Add(int64_t time_ns, int64_t duration_ns, int64_t track) {
  if (last_ == nullptr || track != last_track_) {
    last_ = &open_[track];
    last_track_ = track;
  }
  const bool has_end = duration_ns != kNoValue;
  const int64_t end = EndOf(time_ns, duration_ns);
  std::vector<int64_t>& ends = *last_;
  while (!ends.empty() && (ends.back() <= time_ns || ends.back() < end)) ends.pop_back();
  const auto depth = static_cast<int64_t>(ends.size());
  if (has_end && depth < kMostDepth) ends.push_back(end);
  return depth;
}

}  // namespace kprof
