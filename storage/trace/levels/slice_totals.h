// Totals of a part's slices, for each stretch of about a million rows: how many slices there are of each track, name
// and category, and the sum, the least and the greatest of their durations. So a sum by name over a hundred million
// slices adds up some thousands of rows, and decodes only segments that are asked for in part.
//
// A stretch gets no totals if they would be hardly fewer than its slices.
//
// One thread. Memory: a table of the groups of one stretch, a few MiB at most. Costs a look into it for each slice.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "storage/base/status.h"
#include "storage/trace/write/segment_maker.h"

namespace kprof {

struct SliceTotalsLimits {
  size_t stretch_rows = size_t{1} << 20;  // a stretch ends with the segments that bring it to as many
  size_t most_groups = kMaxSegmentRows;   // of a stretch
  size_t least_shrinking = 8;             // slices for each total
};

class SliceTotals {
 public:
  using Write = std::function<Status(const EncodedSegment&)>;
  explicit SliceTotals(Write write, const SliceTotalsLimits& limits = {});

  // Adds all rows of the next segments of slices, in any order, with the part's numbers. Sums stop at the greatest
  // number.
  Status Add(const EventRows& slices);
  // Writes the last stretch. Once, last.
  Status Finish();

 private:
  struct Group {
    int64_t track = 0;
    int64_t name = 0;
    int64_t category = 0;
    int64_t count = 0;
    int64_t ended = 0;
    int64_t busy = 0;
    int64_t least = 0;  // of those that ended, here and below
    int64_t most = 0;
  };
  Group* FindGroup(int64_t track, int64_t name, int64_t category);
  void Grow();
  Status WriteStretch();

  const Write write_;
  const SliceTotalsLimits limits_;
  int64_t first_row_ = 0;  // of the stretch, here and below
  size_t rows_ = 0;
  int64_t min_time_ = 0;
  int64_t max_time_ = 0;
  int64_t max_end_ = 0;
  bool differs_ = false;  // too many groups: the stretch gets no totals
  std::vector<Group> groups_;
  std::vector<uint32_t> places_;  // by hash: a group's number and one, or 0; a power of two, at most half of them taken
};

}  // namespace kprof
