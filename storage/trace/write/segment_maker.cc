#include "storage/trace/write/segment_maker.h"

#include <algorithm>
#include <limits>
#include <map>

#include "storage/trace/format/event_time.h"

namespace kprof {
namespace {

// Of those that there are; kNoValue where there are none. Many slices have none, and one of them is looked for by it:
// so most segments can be passed over.
int64_t LeastCorrelation(std::span<const int64_t> values) {
  int64_t least = std::numeric_limits<int64_t>::max();
  int64_t most = kNoValue;
  for (const int64_t value : values) {
    if (value != kNoValue) least = std::min(least, value);
    most = std::max(most, value);
  }
  return most == kNoValue ? kNoValue : least;
}

void AddColumn(EncodedSegment& segment, uint32_t shape, uint32_t column, const std::vector<int64_t>& values) {
  segment.columns.push_back({shape, column, static_cast<uint32_t>(values.size()), EncodeColumn(values)});
  if (shape == kNoArgs && column == static_cast<uint32_t>(EventColumn::kCorrelation)) {
    segment.columns.back().encoded.min = LeastCorrelation(values);
  }
}

int64_t MaxEnd(const EventRows& rows, std::span<const uint32_t> order) {
  const std::vector<int64_t>& times = rows.of(EventColumn::kTime);
  const std::vector<int64_t>& durations = rows.of(EventColumn::kDuration);
  int64_t max = std::numeric_limits<int64_t>::min();
  for (const uint32_t row : order) {
    max = std::max(max, durations.empty() ? times[row] : EndOf(times[row], durations[row]));
  }
  return std::min(max, kMostTimeNs - 1);
}

}  // namespace

SegmentMaker::SegmentMaker(EventKind kind, const EventRows& rows, size_t segment_rows)
    : kind_(kind),
      rows_(rows),
      segment_rows_(segment_rows),
      order_(OrderByTime(rows.of(EventColumn::kTime), rows.of(EventColumn::kDuration))) {
  KPROF_CHECK(!order_.empty() && segment_rows > 0 && segment_rows <= kMaxSegmentRows);
  std::vector<uint32_t> counts(rows.args.size());
  arg_rows_.reserve(order_.size());
  for (const int64_t shape : rows.of(EventColumn::kShape)) {
    arg_rows_.push_back(shape == kNoArgs ? 0 : counts[static_cast<size_t>(shape)]++);
  }
}

EncodedSegment SegmentMaker::Encode(size_t segment) {
  const size_t first = segment * segment_rows_;
  const std::span<uint32_t> order(order_.data() + first, std::min(segment_rows_, order_.size() - first));
  EncodedSegment encoded;
  encoded.kind = kind_;
  encoded.rows = static_cast<uint32_t>(order.size());
  const std::vector<int64_t>& times = rows_.of(EventColumn::kTime);
  encoded.min_time_ns = times[order.front()];
  encoded.max_time_ns = times[order.back()];
  encoded.max_end_ns = MaxEnd(rows_, order);
  OrderByTrack(order, rows_.of(EventColumn::kTrack));

  std::vector<int64_t> values;
  for (const EventColumn column : ColumnsOf(kind_)) {
    const std::vector<int64_t>& from = rows_.of(column);
    values.clear();
    for (const uint32_t row : order) values.push_back(from[row]);
    AddColumn(encoded, kNoArgs, static_cast<uint32_t>(column), values);
  }
  if (arg_rows_.empty()) return encoded;
  std::map<int64_t, std::vector<uint32_t>> of_shapes;
  const std::vector<int64_t>& shapes = rows_.of(EventColumn::kShape);
  for (const uint32_t row : order) {
    if (shapes[row] != kNoArgs) of_shapes[shapes[row]].push_back(arg_rows_[row]);
  }
  for (const auto& [shape, arg_rows] : of_shapes) {
    const std::vector<std::vector<int64_t>>& slots = rows_.args[static_cast<size_t>(shape)];
    for (uint32_t slot = 0; slot < slots.size(); ++slot) {
      if (slots[slot].empty()) continue;
      values.clear();
      for (const uint32_t arg_row : arg_rows) values.push_back(slots[slot][arg_row]);
      AddColumn(encoded, static_cast<uint32_t>(shape), slot, values);
    }
  }
  return encoded;
}

void SegmentMaker::EncodeAlso(size_t segment, EventColumn column, EncodedSegment& encoded) const {
  const size_t first = segment * segment_rows_;
  std::vector<int64_t> values;
  for (size_t i = first; i < std::min(first + segment_rows_, order_.size()); ++i) {
    values.push_back(rows_.of(column)[order_[i]]);
  }
  AddColumn(encoded, kNoArgs, static_cast<uint32_t>(column), values);
}

}  // namespace kprof
