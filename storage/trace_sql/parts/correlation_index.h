// Finds the slices of a part by correlation. The index is made segment by segment, only for segments that are asked
// about: launches and their kernels are close in time, so a join of them goes from segment to segment, however long the
// trace is.
//
// Its memory counts as the query's, and has a bound. When questions jump about in more than that, it gives up.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "storage/base/status.h"
#include "storage/trace_sql/parts/open_part.h"

namespace kprof {

class CorrelationIndex {
 public:
  // Rows of a segment, in ascending order.
  struct Found {
    const Segment* segment = nullptr;
    std::vector<uint32_t> rows;
  };

  CorrelationIndex() = default;
  ~CorrelationIndex();
  CorrelationIndex(const CorrelationIndex&) = delete;
  CorrelationIndex& operator=(const CorrelationIndex&) = delete;

  // Appends the part's slices with one of these correlations, in the order of their segments. False when it is better
  // to look at all slices: the first time, which is as fast, and when there is no memory for more.
  // REQUIRES: `correlations` are in ascending order.
  Result<bool> Find(OpenPart& part, std::span<const int64_t> correlations, std::vector<Found>& found);

 private:
  // The slices of a segment by their correlation, and by row where that is the same.
  struct OfSegment {
    const Segment* segment = nullptr;
    bool is_made = false;
    int64_t* correlations = nullptr;  // SQLite's memory, for the rows, too
    uint32_t* rows = nullptr;
    size_t size = 0;
    int64_t asked = 0;  // the last time, counted in questions
  };
  Status List(OpenPart& part);
  Result<bool> Make(OpenPart& part, OfSegment& of);
  void Drop(OfSegment& of);
  // False when there is none to drop.
  bool DropOldest();

  bool was_asked_ = false;
  bool is_listed_ = false;
  bool gave_up_ = false;
  std::vector<OfSegment> segments_;
  std::vector<ColumnBounds> bounds_;  // of each, side by side: every question looks at all of them
  size_t held_rows_ = 0;
  int64_t questions_ = 0;
  int64_t dropped_ = 0;
};

}  // namespace kprof
