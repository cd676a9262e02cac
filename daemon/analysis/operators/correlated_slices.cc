#include "daemon/analysis/operators/correlated_slices.h"

#include <algorithm>
#include <tuple>

namespace kprof {
namespace {

constexpr int64_t kMostHeldBytes = int64_t{16} << 20;

}  // namespace

Result<std::unique_ptr<CorrelatedSlices>> CorrelatedSlices::Make(const TracePart& from, const TracePart& to,
                                                                 const CorrelationRequest& request) {
  ASSIGN_OR_RETURN(PartFilter from_filter, PartFilter::Bind(request.from, from, EventKind::kSlice));
  ASSIGN_OR_RETURN(PartFilter to_filter, PartFilter::Bind(request.to, to, EventKind::kSlice));
  return std::unique_ptr<CorrelatedSlices>(
      new CorrelatedSlices(*to.reader, std::move(from_filter), std::move(to_filter), request.take_memory));
}

Status CorrelatedSlices::Next(size_t most, const StopSignal& stop, std::vector<CorrelatedPair>& window) {
  window.clear();
  if (!is_begun_) RETURN_IF_ERROR(FindFrom(stop));
  is_begun_ = true;
  while (window.size() < most) {
    if (!is_merging_) {
      ASSIGN_OR_RETURN(is_merging_, NextSegments(stop));
      if (!is_merging_) break;
    }
    Merge(most, window);
  }
  return OkStatus();
}

Status CorrelatedSlices::Collect(const PartFilter& filter, Side& side) {
  const Segment& segment = *side.segment;
  ASSIGN_OR_RETURN(const std::optional<ColumnBounds> bounds, reader_.ReadBounds(segment, EventColumn::kCorrelation));
  if (!bounds || bounds->max == kNoValue) return OkStatus();
  RowSelection selection;
  RETURN_IF_ERROR(filter.ForOne(segment, selection, [&](const Segment&, const RowSelection& selected) -> Status {
    ASSIGN_OR_RETURN(const DecodedColumn column, reader_.Read(segment, EventColumn::kCorrelation));
    const size_t rows = selected.all ? segment.rows : selected.rows.size();
    RETURN_IF_ERROR(side.charge.Grow(static_cast<int64_t>(rows * sizeof(Entry))));
    side.entries.reserve(rows);
    for (size_t i = 0; i < rows; ++i) {
      const uint32_t row = selected.all ? static_cast<uint32_t>(i) : selected.rows[i];
      if ((*column)[row] != kNoValue) side.entries.push_back({(*column)[row], row});
    }
    return OkStatus();
  }));
  const auto is_before = [](const Entry& a, const Entry& b) {
    return std::tie(a.correlation, a.row) < std::tie(b.correlation, b.row);
  };
  if (!std::is_sorted(side.entries.begin(), side.entries.end(), is_before)) {
    std::sort(side.entries.begin(), side.entries.end(), is_before);
  }
  return OkStatus();
}

Status CorrelatedSlices::FindFrom(const StopSignal& stop) {
  for (const Segment& segment : reader_.segments(EventKind::kSlice)) {
    RETURN_IF_ERROR(StillWanted(stop));
    auto side = std::make_unique<Side>(segment, take_memory_);
    RETURN_IF_ERROR(Collect(from_filter_, *side));
    if (side->entries.empty()) continue;
    from_.push_back({&segment, side->entries.front().correlation, side->entries.back().correlation});
    Hold(std::move(side));
  }
  return OkStatus();
}

void CorrelatedSlices::Hold(std::unique_ptr<Side> side) {
  held_bytes_ += side->charge.used_bytes();
  held_.push_front(std::move(side));
  while (held_bytes_ > kMostHeldBytes && held_.size() > 1) {
    held_bytes_ -= held_.back()->charge.used_bytes();
    held_.pop_back();
  }
}

Status CorrelatedSlices::TakeSide(const Segment& segment) {
  const auto found =
      std::find_if(held_.begin(), held_.end(), [&](const auto& side) { return side->segment == &segment; });
  if (found != held_.end()) {
    held_.splice(held_.begin(), held_, found);
    return OkStatus();
  }
  auto side = std::make_unique<Side>(segment, take_memory_);
  RETURN_IF_ERROR(Collect(from_filter_, *side));
  Hold(std::move(side));
  return OkStatus();
}

Result<bool> CorrelatedSlices::NextOfTo(const StopSignal& stop) {
  const std::span<const Segment> segments = reader_.segments(EventKind::kSlice);
  while (to_segment_ < segments.size() && !from_.empty()) {
    RETURN_IF_ERROR(StillWanted(stop));
    to_.reset();  // before the next one takes its memory
    to_ = std::make_unique<Side>(segments[to_segment_++], take_memory_);
    RETURN_IF_ERROR(Collect(to_filter_, *to_));
    if (to_->entries.empty()) continue;
    to_columns_ = {};
    from_segment_ = 0;
    return true;
  }
  return false;
}

Result<bool> CorrelatedSlices::NextSegments(const StopSignal& stop) {
  for (;;) {
    for (; to_ != nullptr && from_segment_ < from_.size(); ++from_segment_) {
      const FromSegment& from = from_[from_segment_];
      if (from.least > to_->entries.back().correlation || from.most < to_->entries.front().correlation) continue;
      RETURN_IF_ERROR(StillWanted(stop));
      RETURN_IF_ERROR(TakeSide(*from.segment));
      if (to_columns_.times == nullptr) {
        ASSIGN_OR_RETURN(to_columns_, ReadColumns(*to_->segment));
      }
      ASSIGN_OR_RETURN(from_columns_, ReadColumns(*from.segment));
      ++from_segment_;
      to_at_ = from_at_ = from_next_ = 0;
      return true;
    }
    ASSIGN_OR_RETURN(const bool has_more, NextOfTo(stop));
    if (!has_more) return false;
  }
}

Result<CorrelatedSlices::Columns> CorrelatedSlices::ReadColumns(const Segment& segment) {
  Columns columns;
  ASSIGN_OR_RETURN(columns.times, reader_.Read(segment, EventColumn::kTime));
  ASSIGN_OR_RETURN(columns.durations, reader_.Read(segment, EventColumn::kDuration));
  ASSIGN_OR_RETURN(columns.names, reader_.Read(segment, EventColumn::kName));
  ASSIGN_OR_RETURN(columns.runs, TrackRuns::Read(reader_, segment));
  return columns;
}

JoinedSlice CorrelatedSlices::SliceOf(const Segment& segment, const Columns& columns, uint32_t row) {
  size_t run = 0;  // the first that ends behind the row
  for (size_t end = columns.runs->size(); run < end;) {
    const size_t middle = run + (end - run) / 2;
    if ((*columns.runs)[middle].end <= row) {
      run = middle + 1;
    } else {
      end = middle;
    }
  }
  return {segment.first_row + row, (*columns.times)[row], (*columns.durations)[row], (*columns.runs)[run].track,
          (*columns.names)[row]};
}

void CorrelatedSlices::Merge(size_t most, std::vector<CorrelatedPair>& window) {
  const Side& from_side = *held_.front();
  const Entries& from = from_side.entries;
  const Entries& to = to_->entries;
  for (; to_at_ < to.size(); ++to_at_) {
    const int64_t correlation = to[to_at_].correlation;
    while (from_at_ < from.size() && from[from_at_].correlation < correlation) ++from_at_;
    if (from_at_ == from.size()) break;
    from_next_ = std::max(from_next_, from_at_);
    for (; from_next_ < from.size() && from[from_next_].correlation == correlation; ++from_next_) {
      const bool is_itself = from_side.segment == to_->segment && from[from_next_].row == to[to_at_].row;
      if (is_itself) continue;
      if (window.size() == most) return;
      window.push_back({correlation, SliceOf(*from_side.segment, from_columns_, from[from_next_].row),
                        SliceOf(*to_->segment, to_columns_, to[to_at_].row)});
    }
    from_next_ = from_at_;
  }
  is_merging_ = false;
}

}  // namespace kprof
