// Makes segments of events: brings them into their order (event_time.h), cuts them, and encodes each column of each
// piece by itself.
//
// Pure; any thread. One thread plans, then each segment may be encoded on a thread of its own.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "storage/trace/format/column_codec.h"
#include "storage/trace/format/event_args.h"
#include "storage/trace/format/trace_model.h"

namespace kprof {

// Events of one kind in memory, column by column, in no order. A reader fills them, and segments are made of them.
struct EventRows {
  // By IndexOf(column). Columns that the kind does not have are empty, all others are of one size.
  std::array<std::vector<int64_t>, kEventColumns> columns;
  // By shape, by slot: the values of the rows of that shape, in their order. Empty for slots without a column.
  std::vector<std::vector<std::vector<int64_t>>> args;

  std::vector<int64_t>& of(EventColumn column) { return columns[IndexOf(column)]; }
  const std::vector<int64_t>& of(EventColumn column) const { return columns[IndexOf(column)]; }
  size_t size() const { return of(EventColumn::kTime).size(); }
};

struct EncodedSegment {
  struct Column {
    uint32_t shape = kNoArgs;  // the column is a slot of this shape's; kNoArgs: it is one of the event's
    uint32_t column = 0;       // its EventColumn, or its slot
    uint32_t rows = 0;
    EncodedColumn encoded;
  };
  EventKind kind = EventKind::kSlice;
  uint32_t rows = 0;
  int64_t min_time_ns = 0;
  int64_t max_time_ns = 0;
  int64_t max_end_ns = 0;  // of those whose end is known
  std::vector<Column> columns;
};

class SegmentMaker {
 public:
  // REQUIRES: there are rows. They are borrowed until the last call has returned.
  SegmentMaker(EventKind kind, const EventRows& rows, size_t segment_rows = kMaxSegmentRows);

  // The rows in the order of their times, until the first Encode begins.
  std::span<const uint32_t> order() const { return order_; }
  size_t segments() const { return (order_.size() + segment_rows_ - 1) / segment_rows_; }
  // Encodes the segment with this place in time. Any number of threads, each its own segment.
  EncodedSegment Encode(size_t segment);
  // Adds a column that readers do not fill, and that was put into the rows meanwhile. REQUIRES: the segment was
  // encoded.
  void EncodeAlso(size_t segment, EventColumn column, EncodedSegment& encoded) const;

 private:
  const EventKind kind_;
  const EventRows& rows_;
  const size_t segment_rows_;
  std::vector<uint32_t> order_;
  std::vector<uint32_t> arg_rows_;  // of each row: its place among the rows of its shape
};

}  // namespace kprof
