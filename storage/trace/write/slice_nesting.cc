#include "storage/trace/write/slice_nesting.h"

#include <algorithm>
#include <iterator>

#include "storage/trace/format/event_time.h"
#include "storage/trace/format/trace_model.h"

namespace kprof {

// What ends before the next one does will hold none that begins later: whatever of those is within it is within the
// next one, too, which began later. So each track has one chain of slices that are in each other.
int64_t SliceNesting::Add(int64_t time_ns, int64_t duration_ns, int64_t track) {
  if (open() >= sweep_at_) Forget(time_ns);
  if (last_ == nullptr || track != last_track_) {
    last_ = &open_[track];
    last_track_ = track;
  }
  const bool has_end = duration_ns != kNoValue;
  const int64_t end = EndOf(time_ns, duration_ns);
  std::vector<int64_t>& ends = *last_;
  while (!ends.empty() && (ends.back() <= time_ns || ends.back() < end)) {
    ends.pop_back();
    --ends_;
  }
  const auto depth = static_cast<int64_t>(ends.size());
  const bool holds = has_end && end > time_ns;
  if (depth == kMostDepth || (holds && open() >= 2 * most_open_)) {
    ++crowded_;
  } else if (holds) {
    ends.push_back(end);
    ++ends_;
  }
  return depth;
}

// Of all tracks. The next time when there is half as much again, so that it costs little for each slice.
void SliceNesting::Forget(int64_t before_ns) {
  last_ = nullptr;
  for (auto at = open_.begin(); at != open_.end();) {
    std::vector<int64_t>& ends = at->second;
    while (!ends.empty() && ends.back() <= before_ns) {
      ends.pop_back();
      --ends_;
    }
    at = ends.empty() ? open_.erase(at) : std::next(at);
  }
  sweep_at_ = open() + most_open_ / 2;
}

}  // namespace kprof
