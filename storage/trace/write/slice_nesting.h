// How deep a slice is in others of its track: one deeper than the last one before it that holds it whole. Slices of a
// track may cross (a profiler's spans and Python's frames do): what ends after another one is not within it, but beside
// it.
//
// Fed with rows in the order of a trace: on each track by time, and of those of one time the longest first. The parent
// of a slice is then the last row before it on its track whose depth is one less.
//
// One thread. Bounded: as many slices may be open on all tracks together as the limit says, a track counting as one.
// Those that ended before the present one are forgotten now and then, which changes nothing where slices come in the
// order of time. What is open beyond twice the limit holds nothing, and is counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace kprof {

// Slices in more others than that have this depth, too.
constexpr int64_t kMostDepth = 32'767;

class SliceNesting {
 public:
  static constexpr size_t kMostOpen = 1 << 18;
  explicit SliceNesting(size_t most_open = kMostOpen) : most_open_(most_open), sweep_at_(most_open) {}

  // The depth of the next slice, 0 for one in none. A slice whose end is not known (kNoValue) holds nothing. Numbers
  // may be any; in another order than a trace's they only make depths that mean nothing.
  int64_t Add(int64_t time_ns, int64_t duration_ns, int64_t track);

  // Slices of kMostDepth, whether they have a duration or not, and those that were taken to hold nothing, as too many
  // were open: of what is in them, the depth is less than it should be.
  int64_t crowded() const { return crowded_; }
  // Slices that are known to be open, and tracks.
  size_t open() const { return ends_ + open_.size(); }

 private:
  void Forget(int64_t before_ns);

  const size_t most_open_;
  // Of each track: the ends of the slices that are open, each within the one before.
  std::unordered_map<int64_t, std::vector<int64_t>> open_;
  std::vector<int64_t>* last_ = nullptr;
  int64_t last_track_ = 0;
  size_t ends_ = 0;
  size_t sweep_at_;  // when there are as many, what has ended is forgotten
  int64_t crowded_ = 0;
};

}  // namespace kprof
