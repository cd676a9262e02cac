#include "storage/trace_sql/scan/top_events.h"

#include <algorithm>
#include <limits>

namespace kprof {

static_assert(kNoValue == std::numeric_limits<int64_t>::min(), "NULL comes before all numbers");

Status TopEvents::Add(SegmentView& view, EventColumn column, const uint32_t* rows, uint32_t count) {
  if (most_rows_ == 0) return OkStatus();
  ASSIGN_OR_RETURN(const int64_t* values, view.Column(column));
  const int64_t flip = is_descending_ ? -1 : 0;  // all bits: reverses the order of all numbers
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t row = rows == nullptr ? i : rows[i];
    const int64_t key = values[row] ^ flip;
    if (found_.size() == most_rows_) {
      if (key >= found_.front().key) continue;  // a later row of the same number comes behind
      std::pop_heap(found_.begin(), found_.end());
      found_.pop_back();
    } else {
      RETURN_IF_ERROR(memory_.Grow(sizeof(Found)));
    }
    found_.push_back({key, seen_ + i, {&view.part(), &view.segment(), row}});
    std::push_heap(found_.begin(), found_.end());
  }
  seen_ += count;
  return OkStatus();
}

void TopEvents::Order() {
  std::sort_heap(found_.begin(), found_.end());
  at_ = 0;
}

}  // namespace kprof
