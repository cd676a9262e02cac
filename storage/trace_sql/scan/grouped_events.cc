#include "storage/trace_sql/scan/grouped_events.h"

#include <sqlite3.h>

#include <algorithm>

namespace kprof {
namespace {

constexpr uint64_t kFewestRows = 64;

}  // namespace

GroupedEvents::GroupedEvents(GroupedBy by, const TraceScan::Order& order, size_t values, const TakeMemory& take_memory,
                             size_t window_bytes)
    : one_each_(order.one_each),
      is_descending_(order.is_descending),
      width_(1 + values),
      window_bytes_(window_bytes),
      groups_(by, take_memory) {}

GroupedEvents::~GroupedEvents() {
  sqlite3_free(rows_);
}

Status GroupedEvents::Count(SegmentView& view, uint32_t row) {
  ASSIGN_OR_RETURN(const uint32_t value, groups_.ValueOf(view, row));
  if (value >= counts_.size()) counts_.resize(groups_.values());
  ++counts_[value];
  return OkStatus();
}

Status GroupedEvents::Order() {
  RETURN_IF_ERROR(groups_.Order(is_descending_));
  begins_.assign(groups_.groups() + 1, 0);
  for (uint32_t value = 0; value < counts_.size(); ++value) {
    begins_[groups_.GroupOf(value) + 1] += one_each_ ? 0 : counts_[value];
  }
  for (size_t group = 0; group < groups_.groups(); ++group) {
    begins_[group + 1] = one_each_ ? group + 1 : begins_[group + 1] + begins_[group];
  }
  size_ = begins_.back();
  return OkStatus();
}

Status GroupedEvents::BeginWindow() {
  const size_t row_bytes = width_ * sizeof(int64_t);
  if (rows_ == nullptr) {
    room_ = std::min<uint64_t>(size_, std::max<uint64_t>(window_bytes_ / row_bytes, kFewestRows));
    while ((rows_ = static_cast<int64_t*>(sqlite3_malloc64(room_ * row_bytes))) == nullptr) {
      if (room_ <= kFewestRows) {
        return Fail(ErrorCode::kUsage, "bring rows together", "they take more memory than a query may have",
                    "ask about a shorter time, or fewer rows");
      }
      room_ /= 2;
    }
  }
  window_begin_ = at_;
  window_end_ = std::min(size_, at_ + room_);
  placed_ = 0;
  next_ = begins_;
  segments_.clear();
  return OkStatus();
}

Result<int64_t*> GroupedEvents::Put(SegmentView& view, uint32_t row) {
  ASSIGN_OR_RETURN(const uint32_t value, groups_.ValueOf(view, row));
  const uint32_t group = groups_.GroupOf(value);
  const uint64_t place = next_[group]++;
  if (place < window_begin_ || place >= window_end_) return nullptr;
  // More rows of a group than were counted: those of the part are not the same any more.
  if (place >= begins_[group + 1]) return view.part().Broken("its rows change while they are read");
  if (segments_.empty() || segments_.back().second != &view.segment()) {
    segments_.emplace_back(&view.part(), &view.segment());
  }
  ++placed_;
  int64_t* to = rows_ + (place - window_begin_) * width_;
  *to = static_cast<int64_t>(static_cast<uint64_t>(segments_.size() - 1) << 32 | row);
  return to + 1;
}

}  // namespace kprof
