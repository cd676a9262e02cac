#include "storage/trace/slice_nesting.h"

#include "storage/trace/event_kind.h"

namespace kprof {

// What ends before the next one does will hold none that begins later: whatever of those is within it is within the
// next one, too, which began later. So each track has one chain of slices that are in each other.
void SliceNesting::AddDepths(std::span<const int64_t> times_ns, std::span<const int64_t> durations_ns,
                             std::span<const int64_t> tracks, std::vector<int64_t>& depths) {
  depths.reserve(depths.size() + times_ns.size());
  std::vector<int64_t>* ends = nullptr;
  for (size_t row = 0; row < times_ns.size(); ++row) {
    if (row == 0 || tracks[row] != tracks[row - 1]) ends = &open_[tracks[row]];
    const int64_t time = times_ns[row];
    const bool has_end = durations_ns[row] != kNoValue;
    const int64_t end = has_end ? time + durations_ns[row] : time;
    while (!ends->empty() && (ends->back() <= time || ends->back() < end)) ends->pop_back();
    depths.push_back(static_cast<int64_t>(ends->size()));
    if (has_end) ends->push_back(end);
  }
}

}  // namespace kprof
