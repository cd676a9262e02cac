// How many rows each level of detail (detail_levels.h) would have of some slices, without making them.
//
// One thread. Memory: what each lane had last.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "storage/trace/levels/lane_levels.h"

namespace kprof {

constexpr size_t kDetailLevels = kCoarsestLevel - kFinestLevel + 1;
using LevelRows = std::array<size_t, kDetailLevels>;  // from the finest level on

class LevelCounts {
 public:
  // On each lane in the order of time.
  void Add(const DetailSlice& slice);
  LevelRows rows() const;
  size_t lanes() const { return last_.size(); }

 private:
  struct Lane {
    int64_t track = 0;
    int64_t depth = 0;
    bool operator==(const Lane& other) const { return track == other.track && depth == other.depth; }
  };
  struct HashLane {
    size_t operator()(const Lane& lane) const;
  };
  struct Last {
    int64_t begin = 0;
    int long_to = 0;  // it is a row of its own up to that level
  };

  std::unordered_map<Lane, Last, HashLane> last_;
  std::array<size_t, kCoarsestLevel + 1> begun_{};  // slices that begin a row up to that level
};

}  // namespace kprof
