// Levels of detail of counters: a part's samples as seen from far away. On level n, samples of a track in the same 4^n
// ns are one row: from the time of the first to that of the last, with their number, and the least, the greatest, the
// last and the mean of their values. Samples that are no number (NaN) are in no row.
//
// Each sample is in one row of a level, whatever order samples come in. Out of order, a stretch of time only has more
// rows.
//
// One thread. Memory: the open rows of kMostOpenTracks tracks, and up to a segment's rows of each level.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "storage/base/status.h"
#include "storage/trace/write/segment_maker.h"

namespace kprof {

// The mean of two groups of samples, from their means and sizes. REQUIRES: there is at least one sample. Infinite if a
// sample is infinite, and NaN if there are samples of both infinities.
inline double MeanOfBoth(double mean, int64_t count, double others, int64_t other_count) {
  if (!std::isfinite(mean) || !std::isfinite(others)) return mean + others;
  const double share =
      static_cast<double>(other_count) / (static_cast<double>(count) + static_cast<double>(other_count));
  return mean * (1 - share) + others * share;
}

class CounterLevels {
 public:
  using Write = std::function<Status(const EncodedSegment&)>;
  static constexpr size_t kMostOpenTracks = 1 << 14;  // with one more, all rows that are open are ended
  // `levels`: the levels to make, the finest first.
  CounterLevels(Write write, std::span<const int> levels);
  ~CounterLevels();

  // Adds samples; `values` are the bits of doubles. Each track best in the order of time. REQUIRES: all of one size.
  Status Add(std::span<const int64_t> times, std::span<const int64_t> tracks, std::span<const int64_t> values);
  // Writes the rest. Once, last.
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
