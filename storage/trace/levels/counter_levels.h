// Levels of detail of counters: what a part's samples look like from far away. On level n, samples of a track in the
// same 4^n ns are one row: from the time of the first to that of the last, how many they are, the least, the greatest,
// the last and the mean of their values. Samples that are no number are on none.
//
// Rows are of different samples each, whatever order those come in: out of order, a stretch of time only has more of
// them.
//
// One thread. Memory: what is open on kMostOpenTracks tracks, and up to a segment's rows of each level.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "storage/base/status.h"
#include "storage/trace/write/segment_maker.h"

namespace kprof {

// Of some samples and others, of which there is at least one. Where a sample has no end (infinity) it has none, either,
// and is no number where there are both of those.
double MeanOfBoth(double mean, int64_t count, double others, int64_t other_count);

class CounterLevels {
 public:
  using Write = std::function<Status(const EncodedSegment&)>;
  static constexpr size_t kMostOpenTracks = 1 << 14;  // with one more, all rows that are open are ended
  // `levels`: those that are made, the finest first.
  CounterLevels(Write write, std::span<const int> levels);
  ~CounterLevels();

  // Samples, `values` the bits of doubles; of each track, best in the order of time. REQUIRES: all of one size.
  Status Add(std::span<const int64_t> times, std::span<const int64_t> tracks, std::span<const int64_t> values);
  // All that is left. Once, last.
  Status Finish();

 private:
  struct Row {
    int64_t begin = 0;
    int64_t end = 0;
    int64_t track = 0;
    int64_t count = 0;  // 0: there is none
    double last = 0;
    double least = 0;
    double most = 0;
    double mean = 0;
  };
  struct Level;

  size_t LaneOf(int64_t track);
  void Push(size_t level, size_t lane, const Row& row);
  void Emit(size_t level, size_t lane, const Row& row);
  void EmitAll();
  Status WriteFull(size_t least_rows);
  Status WriteRows(Level& level);

  const Write write_;
  std::unordered_map<int64_t, size_t> lanes_;  // of tracks
  std::vector<Level> levels_;
  bool has_full_ = false;
};

}  // namespace kprof
