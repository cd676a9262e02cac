// Levels of detail (detail_levels.h) of some lanes, a lane being a track and a depth: the open rows of each level, and
// the finished rows that nobody has taken yet. Takes slices, or instants: those are slices without a length, all of
// depth 0, and their row has the name of the first.
//
// One thread.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "storage/trace/format/trace_model.h"
#include "storage/trace/write/segment_maker.h"

namespace kprof {

constexpr int kFinestLevel = 5;     // 1,024 ns
constexpr int kCoarsestLevel = 20;  // 18 minutes

struct DetailLimits {
  size_t lanes = 1 << 15;        // tracks and depths that are open
  size_t lane_places = 1 << 20;  // and depths without any between them
};

// Any numbers are fine: a negative duration counts as 0, and sums stop at the greatest number.
struct DetailSlice {
  int64_t time_ns = 0;
  int64_t duration_ns = 0;
  int64_t track = 0;
  int64_t depth = 0;
  int64_t name = 0;
};

// The lane of a depth: depths from 4,096 on are drawn on one.
int64_t DetailLane(int64_t depth);

class LaneLevels {
 public:
  // `kind`: the kind of the rows to make, kSummary or kInstantSummary.
  LaneLevels(EventKind kind, const DetailLimits& limits);
  // Sets the levels to make, the finest first. Once, before all slices.
  void Choose(const std::vector<int>& levels);
  ~LaneLevels();
  LaneLevels(LaneLevels&&) noexcept;
  LaneLevels& operator=(LaneLevels&&) = delete;

  // Each lane best in the order of time: out of order, a stretch of time only has more rows.
  void Add(const DetailSlice& slice);
  // Ends all open rows.
  void EndAll();

  // The number of finished rows of each level that were not taken yet.
  std::vector<size_t> rows() const;
  // Takes the rows of the levels that have so many, as segments.
  std::vector<EncodedSegment> Take(size_t least_rows);

 private:
  // A row of a level and of one lane.
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
  static void Join(Item& open, int64_t begin, int64_t end, int64_t busy, int64_t count, int64_t longest, int64_t name);
  void Push(size_t level, const Item& item);
  void Emit(size_t level, const Item& item);
  void EndOpen(size_t level);
  void Encode(Level& level, std::vector<EncodedSegment>& segments) const;

  EventKind kind_;
  const DetailLimits limits_;
  size_t lanes_ = 0;
  size_t lane_places_ = 0;
  std::unordered_map<int64_t, std::vector<uint32_t>> lanes_of_tracks_;  // by depth
  std::vector<uint32_t>* last_lanes_ = nullptr;
  int64_t last_track_ = 0;
  std::vector<Level> levels_;
};

}  // namespace kprof
