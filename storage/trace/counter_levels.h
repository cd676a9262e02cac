// Levels of detail of counters: what a part's samples look like from far away. On level n, samples of a track in the
// same 4^n ns are one row: from the time of the first to that of the last, how many they are, the least, the greatest,
// the last and the mean of their values. Samples that are no number are on none. A level is left out that
// has more than half of the rows of the one before, or more than a quarter of the samples, by the first of those.
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
#include "storage/trace/event_rows.h"
#include "storage/trace/segment_maker.h"

namespace kprof {

class CounterLevels {
 public:
  using Write = std::function<Status(const EncodedSegment&)>;
  static constexpr size_t kMostOpenTracks = 1 << 14;  // with one more, all rows that are open are ended
  explicit CounterLevels(Write write);
  ~CounterLevels();

  // Samples in this order; of each track, best in that of their times.
  Status Add(const EventRows& samples, std::span<const uint32_t> order);
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
  void ChooseLevels();
  Status WriteFull(size_t least_rows);
  Status WriteRows(Level& level);

  const Write write_;
  std::unordered_map<int64_t, size_t> lanes_;  // of tracks
  std::vector<Level> levels_;
  int64_t samples_ = 0;
  bool chosen_ = false;
  bool has_full_ = false;
};

}  // namespace kprof
