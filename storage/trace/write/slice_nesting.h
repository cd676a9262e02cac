// Finds how deep a slice lies in others of its track: one deeper than the last slice before it that holds it whole.
// Slices of a track may cross (a profiler's spans and Python's frames do): a slice that ends after another one is not
// within it, but beside it.
//
// Slices come in the order of a trace: on each track by time, and of those of one time the longest first. The parent of
// a slice is then the last one before it on its track whose depth is one less.
//
// One thread. Bounded: as many slices may be open on all tracks together as the limit says; each track counts as one.
// Slices that ended before the present one are forgotten now and then, which changes nothing when slices come in the
// order of time. With twice the limit open, further slices hold nothing, and are counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace kprof {

// The greatest depth: slices within more others have it, too.
constexpr int64_t kMostDepth = 32'767;

class SliceNesting {
 public:
  static constexpr size_t kMostOpen = 1 << 18;
  explicit SliceNesting(size_t most_open = kMostOpen) : most_open_(most_open), sweep_at_(most_open) {}

  // The depth of the next slice, 0 for one in none. A slice whose end is not known (kNoValue) holds nothing. Any
  // numbers are fine; in another order than a trace's the depths only mean nothing.
  int64_t Add(int64_t time_ns, int64_t duration_ns, int64_t track);

  // The number of slices at kMostDepth, with a duration or not, and of slices that hold nothing as too many were open.
  // The depth of slices within these is less than it should be.
  int64_t crowded() const { return crowded_; }
  // The number of slices that are known to be open, and of tracks.
  size_t open() const { return ends_ + open_.size(); }

 private:
  void Forget(int64_t before_ns);

  const size_t most_open_;
  // By track: the ends of its open slices, each within the one before.
  std::unordered_map<int64_t, std::vector<int64_t>> open_;
  std::vector<int64_t>* last_ = nullptr;
  int64_t last_track_ = 0;
  size_t ends_ = 0;
  size_t sweep_at_;  // when there are as many, ended slices are forgotten
  int64_t crowded_ = 0;
};

}  // namespace kprof
