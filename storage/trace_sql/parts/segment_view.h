// A segment while a query goes through it: columns are decoded when a value of them is asked for, and stay.
//
// One thread. The part must outlive it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "storage/base/status.h"
#include "storage/trace_sql/parts/open_part.h"

namespace kprof {

class SegmentView {
 public:
  SegmentView(OpenPart& part, const Segment& segment) : part_(&part), segment_(&segment) {}

  OpenPart& part() const { return *part_; }
  const Segment& segment() const { return *segment_; }
  uint32_t rows() const { return segment_->rows; }

  // As many values as there are rows.
  Result<const int64_t*> Column(EventColumn column) {
    const DecodedColumn& held = columns_[IndexOf(column)];
    if (held != nullptr) return held->data();
    return Load(column);
  }
  // The same where it was asked for before, else null.
  const int64_t* Held(EventColumn column) const {
    const DecodedColumn& held = columns_[IndexOf(column)];
    return held == nullptr ? nullptr : held->data();
  }
  // The slot's value for a row of that shape.
  Result<int64_t> Arg(uint32_t row, uint32_t shape, uint32_t slot);
  // The shape of a row, which is one of the part's.
  Result<uint32_t> Shape(uint32_t row);

 private:
  Result<const int64_t*> Load(EventColumn column);
  Status CountShapes();

  OpenPart* part_;
  const Segment* segment_;
  std::array<DecodedColumn, kEventColumns> columns_;
  std::vector<uint32_t> among_shape_;  // of each row: which one of its shape it is; made when arguments are asked for
  std::vector<std::vector<DecodedColumn>> args_;  // by shape, by slot
};

}  // namespace kprof
