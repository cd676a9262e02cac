// How deep a slice is in others of its track: one deeper than the last one before it that holds it whole. Slices of a
// track may cross (a profiler's spans and Python's frames do): what ends after another one is not within it, but beside
// it.
//
// Fed with rows in the order of a trace: on each track by time, and of those of one time the longest first. The parent
// of a slice is then the last row before it on its track whose depth is one less.
//
// One thread. Its memory is the slices that are open, on all tracks.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace kprof {

// Slices in more others than that have this depth, too.
constexpr int64_t kMostDepth = 32'767;

class SliceNesting {
 public:
  // The depth of the next slice, 0 for one in none. A slice whose end is not known (kNoValue) holds nothing. Numbers
  // may be any; in another order than a trace's they only make depths that mean nothing.
  int64_t Add(int64_t time_ns, int64_t duration_ns, int64_t track);

 private:
  // Of each track: the ends of the slices that are open, each within the one before.
  std::unordered_map<int64_t, std::vector<int64_t>> open_;
  std::vector<int64_t>* last_ = nullptr;
  int64_t last_track_ = 0;
};

}  // namespace kprof
