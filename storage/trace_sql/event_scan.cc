#include "storage/trace_sql/event_scan.h"

#include <algorithm>
#include <utility>

#include "storage/trace_sql/correlation_index.h"

namespace kprof {
namespace {

constexpr EventColumn kFilteredValues[] = {EventColumn::kDuration, EventColumn::kDepth, EventColumn::kCorrelation};

}  // namespace

Status EventScan::Start(ScanFilter filter) {
  filter_ = std::move(filter);
  next_part_ = 0;
  tasks_.clear();
  next_task_ = 0;
  return ToNextSegment();
}

Status EventScan::ToNextSegment() {
  view_ = nullptr;
  while (true) {
    if (next_task_ == tasks_.size()) {
      if (next_part_ == set_.parts().size()) return OkStatus();
      RETURN_IF_ERROR(PlanPart(*set_.parts()[next_part_++]));
      continue;
    }
    RETURN_IF_ERROR(Choose(tasks_[next_task_++]));
    if (chosen_ == 0) continue;
    at_ = 0;
    view_ = &*held_;
    return OkStatus();
  }
}

Status EventScan::PlanPart(OpenPart& part) {
  tasks_.clear();
  next_task_ = 0;
  if (filter_.run.is_active() && !filter_.run.Accepts(part.place().run)) return OkStatus();
  if (filter_.part.is_active() && !filter_.part.Accepts(part.place().part)) return OkStatus();
  tracks_ = filter_.track.NumbersOf(part.number());
  names_.emplace(filter_.text(EventColumn::kName), part, false);
  categories_.emplace(filter_.text(EventColumn::kCategory), part, true);
  RETURN_IF_ERROR(part.CheckTime());
  ASSIGN_OR_RETURN(const std::optional<std::vector<int64_t>> rows, LookUpRows(part));
  if (rows) {
    const Segment* last = nullptr;
    for (const int64_t row : *rows) {
      const Segment* segment = part.FindSegment(kind_, row);
      if (segment == nullptr) continue;
      if (segment != last) tasks_.push_back({segment, std::vector<uint32_t>()});
      last = segment;
      tasks_.back().rows->push_back(static_cast<uint32_t>(row - segment->first_row));
    }
  } else {
    for (const Segment& segment : part.segments(kind_)) tasks_.push_back({&segment, std::nullopt});
  }
  size_t kept = 0;
  for (Task& task : tasks_) {
    ASSIGN_OR_RETURN(const bool may_hold, MayHold(part, *task.segment));
    if (may_hold) std::swap(tasks_[kept++], task);
  }
  tasks_.resize(kept);
  held_.reset();
  if (!tasks_.empty()) held_.emplace(part, *tasks_[0].segment);
  return OkStatus();
}

Result<std::optional<std::vector<int64_t>>> EventScan::LookUpRows(OpenPart& part) {
  using Rows = std::optional<std::vector<int64_t>>;
  const IntegerFilter ids = filter_.id.NumbersOf(part.number());
  if (ids.is_active()) {
    if (ids.is_empty()) return Rows(std::vector<int64_t>());
    if (ids.list() != nullptr) return Rows(*ids.list());
    if (ids.only()) return Rows(std::vector<int64_t>{*ids.only()});
  }
  const IntegerFilter& correlation = filter_.of(EventColumn::kCorrelation);
  if (kind_ != EventKind::kSlice || !correlation.is_active()) return Rows();
  if (correlation.is_empty()) return Rows(std::vector<int64_t>());
  if (correlation.list() != nullptr) return part.correlations().Find(part, *correlation.list());
  if (correlation.only()) return part.correlations().Find(part, {*correlation.only()});
  return Rows();
}

Result<bool> EventScan::MayHold(OpenPart& part, const Segment& segment) {
  const IntegerFilter ids = filter_.id.NumbersOf(part.number());
  if (!ids.Touches(segment.first_row, segment.first_row + segment.rows - 1)) return false;
  if (!filter_.of(EventColumn::kTime).Touches(segment.min_time_ns, segment.max_time_ns)) return false;
  const auto touches = [&](EventColumn column, const IntegerFilter& filter) -> Result<bool> {
    if (!filter.is_active()) return true;
    if (filter.is_empty()) return false;
    ASSIGN_OR_RETURN(const std::optional<ColumnBounds> bounds, part.ReadBounds(segment, column));
    return bounds.has_value() && filter.Touches(bounds->min, bounds->max);
  };
  for (const EventColumn column : kFilteredValues) {
    ASSIGN_OR_RETURN(const bool may_hold, touches(column, filter_.of(column)));
    if (!may_hold) return false;
  }
  return touches(EventColumn::kTrack, tracks_);
}

template <typename Accepts>
Status EventScan::Keep(const int64_t* values, const Accepts& accepts) {
  uint32_t kept = 0;
  if (is_all_) {
    rows_.resize(chosen_);
    for (uint32_t row = 0; row < chosen_; ++row) {
      rows_[kept] = row;
      kept += accepts(values[row]) ? 1 : 0;
    }
    is_all_ = kept == chosen_;
  } else {
    for (uint32_t i = 0; i < chosen_; ++i) {
      const uint32_t row = rows_[i];
      rows_[kept] = row;
      kept += accepts(values[row]) ? 1 : 0;
    }
  }
  chosen_ = kept;
  return OkStatus();
}

Status EventScan::KeepValues(EventColumn column, const IntegerFilter& filter) {
  if (!filter.is_active() || chosen_ == 0) return OkStatus();
  ASSIGN_OR_RETURN(const int64_t* values, held_->Column(column));
  return Keep(values, [&](int64_t value) { return filter.Accepts(value); });
}

Status EventScan::KeepTexts(EventColumn column, TextAnswers& answers) {
  if (!filter_.text(column).is_active() || chosen_ == 0) return OkStatus();
  ASSIGN_OR_RETURN(const int64_t* values, held_->Column(column));
  Status failure;
  RETURN_IF_ERROR(Keep(values, [&](int64_t value) {
    const Result<bool> accepts = answers.Accepts(value);
    if (accepts.ok()) return *accepts;
    failure = accepts.status();
    return false;
  }));
  return failure;
}

// On a track rows are in the order of time, so that of each the ones that are meant lie together.
Status EventScan::ChooseByTrackAndTime(const SegmentView& view) {
  const IntegerFilter& times = filter_.of(EventColumn::kTime);
  const bool is_whole = times.is_active() && times.list() == nullptr && times.min() <= view.segment().min_time_ns &&
                        times.max() >= view.segment().max_time_ns;
  const bool by_time = times.is_active() && !is_whole;
  if (!by_time && !tracks_.is_active()) return OkStatus();
  ASSIGN_OR_RETURN(const std::vector<TrackStretch>* runs, view.part().ReadTracks(view.segment()));
  const int64_t* values = nullptr;
  if (by_time) {
    ASSIGN_OR_RETURN(values, held_->Column(EventColumn::kTime));
  }
  is_all_ = false;
  rows_.clear();
  for (const TrackStretch& run : *runs) {
    if (!tracks_.Accepts(run.track)) continue;
    uint32_t begin = run.begin;
    uint32_t end = run.end;
    if (by_time && run.in_time) {
      begin = static_cast<uint32_t>(std::lower_bound(values + begin, values + end, times.min()) - values);
      end = static_cast<uint32_t>(std::upper_bound(values + begin, values + end, times.max()) - values);
    }
    for (uint32_t row = begin; row < end; ++row) {
      if (!by_time || times.Accepts(values[row])) rows_.push_back(row);
    }
  }
  chosen_ = static_cast<uint32_t>(rows_.size());
  return OkStatus();
}

Status EventScan::Choose(const Task& task) {
  OpenPart& part = held_->part();
  RETURN_IF_ERROR(part.CheckTime());
  if (&held_->segment() != task.segment) held_.emplace(part, *task.segment);
  is_all_ = !task.rows.has_value();
  chosen_ = task.segment->rows;
  if (task.rows) {
    rows_ = *task.rows;
    chosen_ = static_cast<uint32_t>(rows_.size());
    RETURN_IF_ERROR(KeepValues(EventColumn::kTrack, tracks_));
    RETURN_IF_ERROR(KeepValues(EventColumn::kTime, filter_.of(EventColumn::kTime)));
  } else {
    RETURN_IF_ERROR(ChooseByTrackAndTime(*held_));
    // A range of ids; single ones were looked up.
    const IntegerFilter ids = filter_.id.NumbersOf(part.number());
    const int64_t first_row = task.segment->first_row;
    if (ids.is_active() && !(ids.min() <= first_row && ids.max() >= first_row + task.segment->rows - 1)) {
      if (is_all_) {
        rows_.resize(chosen_);
        for (uint32_t row = 0; row < chosen_; ++row) rows_[row] = row;
        is_all_ = false;
      }
      rows_.resize(chosen_);
      std::erase_if(rows_, [&](uint32_t row) { return !ids.Accepts(first_row + row); });
      chosen_ = static_cast<uint32_t>(rows_.size());
    }
  }
  for (const EventColumn column : kFilteredValues) RETURN_IF_ERROR(KeepValues(column, filter_.of(column)));
  RETURN_IF_ERROR(KeepTexts(EventColumn::kCategory, *categories_));
  return KeepTexts(EventColumn::kName, *names_);
}

}  // namespace kprof
