// Slices of some tracks, gathered from the segments that hold them: brought into the order of a trace, each gets its
// depth, and they go into the levels of detail.
//
// One thread at a time: who gathers gives it to who nests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "storage/base/status.h"
#include "storage/trace/levels/detail_levels.h"
#include "storage/trace/write/slice_nesting.h"

namespace kprof {

// Rows of one track, one behind the other in one segment.
struct SlicePiece {
  size_t segment = 0;  // by its place among those that are gathered from
  size_t first = 0;
  size_t count = 0;
};

class SliceGroup {
 public:
  // For the next ones; keeps its memory.
  void Clear();
  // All rows of a track. Each track once.
  void AddTrack(int64_t track, std::span<const SlicePiece> pieces);
  size_t rows() const { return rows_; }

  bool IsIn(size_t segment) const { return segment < pieces_.size() && !pieces_[segment].empty(); }
  // Its rows of a segment, out of that one's columns. REQUIRES: all tracks are added, and the columns have all rows.
  void Gather(size_t segment, std::span<const int64_t> times, std::span<const int64_t> durations,
              std::span<const int64_t> names);

  // Once all are gathered.
  Status Nest(SliceNesting& nesting, DetailLevels& levels);
  // Into those of segments, row by row.
  void GiveDepths(std::span<std::vector<int16_t>> depths) const;

 private:
  struct Track {
    int64_t id = 0;
    size_t first = 0;  // of ours
    size_t count = 0;
  };
  struct Place {
    SlicePiece piece;
    size_t at = 0;  // its first row's place among ours
  };

  std::vector<Track> tracks_;
  std::vector<std::vector<Place>> pieces_;  // by segment
  size_t rows_ = 0;
  std::vector<int64_t> times_;
  std::vector<int64_t> durations_;
  std::vector<int64_t> names_;
  std::vector<int16_t> depths_;
};

}  // namespace kprof
