// Where the slices of a part with a correlation are. Made segment by segment, of those that are asked about: launches
// and their kernels are close in time, so that a join of them goes from segment to segment, however long the trace is.
//
// What it holds counts as the query's memory, and has a bound; where questions jump about in more than that, it gives
// up.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "storage/base/status.h"
#include "storage/trace_sql/parts/open_part.h"

namespace kprof {

class CorrelationIndex {
 public:
  // Of a segment, in ascending order.
  struct Found {
    const Segment* segment = nullptr;
    std::vector<uint32_t> rows;
  };

  CorrelationIndex() = default;
  ~CorrelationIndex();
  CorrelationIndex(const CorrelationIndex&) = delete;
  CorrelationIndex& operator=(const CorrelationIndex&) = delete;

  // Appends the part's slices with one of these, in the order of their segments. False when it is better to look at all
  // of them: the first time, which is as fast, and where there is no memory for more.
  Result<bool> Find(OpenPart& part, std::span<const int64_t> correlations, std::vector<Found>& found);

 private:
  // Those of a segment by their correlation, and by row where that is the same.
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
  // False where there is none.
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
