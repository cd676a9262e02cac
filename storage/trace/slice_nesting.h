// In how many others of its track a slice is. Slices of a track may cross (a profiler's spans and Python's frames do):
// what ends after another one is not within it, but beside it.
//
// Fed with rows in the order of a trace: on each track by time, and of those of one time the longest first. The parent
// of a slice is then the last row before it on its track whose depth is one less.
//
// One thread. Its memory is the slices that are open, on all tracks.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace kprof {

class SliceNesting {
 public:
  // The depth of each, 0 for those in none. A slice whose end is not known (kNoValue) holds nothing.
  void AddDepths(std::span<const int64_t> times_ns, std::span<const int64_t> durations_ns,
                 std::span<const int64_t> tracks, std::vector<int64_t>& depths);

 private:
  // Of each track: the ends of the slices that are open, each within the one before.
  std::unordered_map<int64_t, std::vector<int64_t>> open_;
};

}  // namespace kprof
