// Where the rows of each track stand in a segment: side by side, as segments are written; so what is asked of tracks is
// asked once for a run of rows and not for each.
//
// On the reader's thread. Costs a pass over the track column once, then it is kept in the reader's cache.
#pragma once

#include <cstdint>
#include <utility>

#include "storage/base/status.h"
#include "storage/trace/read/part_reader.h"

namespace kprof {

struct TrackRun {
  uint32_t track = 0;  // one of the reader's
  uint32_t first = 0;  // rows of the segment, from `first` to before `end`
  uint32_t end = 0;
};

class TrackRuns {
 public:
  // Fails with kStorageBroken where a row is on a track that the part does not have.
  static Result<TrackRuns> Read(PartReader& reader, const Segment& segment);

  size_t size() const { return packed_->size() / 2; }
  // In the order of their rows. In a part of ours each track has one; in a hostile one it may have many.
  TrackRun operator[](size_t i) const {
    const auto rows = static_cast<uint64_t>((*packed_)[2 * i + 1]);
    return {static_cast<uint32_t>((*packed_)[2 * i]), static_cast<uint32_t>(rows >> 32), static_cast<uint32_t>(rows)};
  }

 private:
  explicit TrackRuns(DecodedColumn packed) : packed_(std::move(packed)) {}
  DecodedColumn packed_;  // of each run: its track; its first row and its end
};

}  // namespace kprof
