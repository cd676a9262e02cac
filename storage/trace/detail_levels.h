// Levels of detail: what a part's slices look like from far away, so that any stretch of time is drawn by looking at
// few rows. On level n, slices shorter than 4^n ns that begin in the same 4^n ns of the same track and depth are one
// row: from the first one's begin to the last one's end, with how many they are, the sum of their durations, and the
// name of the longest. Longer ones stay as they are. So a window of p pixels, each at least 4^n ns wide, has at most
// some rows per pixel of each track and depth. A level is left out that has more than half of the rows of the one
// before, or more than a quarter of the slices: all of them together are then no more than half as many as those.
//
// One thread. Memory: what is open on so many tracks and depths as the limits say, and up to a segment's rows of each
// level. Where there are more, all that is open is ended, and begins anew: those stretches have two rows each.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "storage/base/status.h"
#include "storage/trace/event_rows.h"
#include "storage/trace/segment_maker.h"

namespace kprof {

constexpr int kFinestLevel = 5;     // 1,024 ns
constexpr int kCoarsestLevel = 20;  // 18 minutes

struct DetailLimits {
  size_t lanes = 1 << 15;        // tracks and depths that are open
  size_t lane_places = 1 << 20;  // and depths without any between them
};

class DetailLevels {
 public:
  using Write = std::function<Status(const EncodedSegment&)>;
  explicit DetailLevels(Write write, const DetailLimits& limits = {});
  ~DetailLevels();

  // On each track in the order of time. Numbers may be any: a duration is taken for 0 where it is negative, and sums
  // end with the last number there is.
  struct Slice {
    int64_t time_ns = 0;
    int64_t duration_ns = 0;
    int64_t track = 0;
    int64_t depth = 0;
    int64_t name = 0;
  };
  Status Add(const Slice& slice);
  // All that is left. Once, last.
  Status Finish();

 private:
  // A row of a level, of one lane: a track and a depth.
  struct Item {
    int64_t begin = 0;
    int64_t end = 0;
    int64_t busy = 0;
    int64_t count = 0;
    int64_t longest = 0;
    int64_t name = 0;
    int64_t track = 0;
    uint32_t depth = 0;
    uint32_t lane = 0;
  };
  struct Level;

  uint32_t LaneOf(int64_t track, uint32_t depth);
  void Push(size_t level, const Item& item);
  void Emit(size_t level, const Item& item);
  void EmitAll();
  void ChooseLevels();
  Status WriteFull(size_t least_rows);
  Status WriteRows(Level& level);

  const Write write_;
  const DetailLimits limits_;
  size_t lanes_ = 0;
  size_t lane_places_ = 0;
  std::unordered_map<int64_t, std::vector<uint32_t>> lanes_of_tracks_;  // by depth
  std::vector<uint32_t>* last_lanes_ = nullptr;
  int64_t last_track_ = 0;
  std::vector<Level> levels_;
  int64_t slices_ = 0;
  bool chosen_ = false;
  bool has_full_ = false;
};

}  // namespace kprof
