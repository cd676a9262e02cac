#include "storage/trace_sql/scan/event_scan.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "storage/trace_sql/parts/correlation_index.h"
#include "storage/trace_sql/parts/open_part.h"

namespace kprof {
namespace {

constexpr size_t kMostParents = 4096;  // whose places are looked up

}  // namespace

Status NarrowToChildren(TraceSet& set, EventKind kind, ScanFilter& filter) {
  if (!filter.parent.is_active()) return OkStatus();
  std::vector<int64_t> parents;
  if (filter.parent.is_empty()) {
  } else if (filter.parent.list() != nullptr) {
    parents = *filter.parent.list();
  } else if (filter.parent.only()) {
    parents.push_back(*filter.parent.only());
  } else {
    return OkStatus();
  }
  if (parents.size() > kMostParents) return OkStatus();
  std::vector<int64_t> tracks;
  std::vector<int64_t> depths;
  int64_t begin_ns = INT64_MAX;
  int64_t end_ns = INT64_MIN;
  for (const int64_t id : parents) {
    const int64_t part_number = PartOfSqlId(id);
    const int64_t row = NumberOfSqlId(id);
    if (part_number < 0 || part_number >= static_cast<int64_t>(set.parts().size())) continue;
    OpenPart& part = *set.parts()[static_cast<size_t>(part_number)];
    const Segment* segment = part.FindSegment(kind, row);
    if (segment == nullptr) continue;
    RETURN_IF_ERROR(part.CheckTime());
    const auto at = static_cast<size_t>(row - segment->first_row);
    const auto value = [&](EventColumn column) -> Result<int64_t> {
      ASSIGN_OR_RETURN(const DecodedColumn values, part.Read(*segment, column));
      return (*values)[at];
    };
    ASSIGN_OR_RETURN(const int64_t track, value(EventColumn::kTrack));
    ASSIGN_OR_RETURN(const int64_t time_ns, value(EventColumn::kTime));
    ASSIGN_OR_RETURN(const int64_t duration_ns, value(EventColumn::kDuration));
    ASSIGN_OR_RETURN(const int64_t depth, value(EventColumn::kDepth));
    if (depth < 0 || depth == INT64_MAX) continue;
    int64_t ends_ns = INT64_MAX;
    if (duration_ns >= 0 && __builtin_add_overflow(time_ns, duration_ns, &ends_ns)) ends_ns = INT64_MAX;
    tracks.push_back(part.IdOf(track));
    depths.push_back(depth + 1);
    begin_ns = std::min(begin_ns, std::max(time_ns, INT64_MIN + 1));
    end_ns = std::max(end_ns, ends_ns);
  }
  if (tracks.empty()) {
    filter.id.KeepOnly({});
    return OkStatus();
  }
  filter.track.KeepOnly(std::move(tracks));
  filter.of(EventColumn::kTime).KeepBetween(begin_ns, end_ns);
  filter.of(EventColumn::kDepth).KeepOnly(std::move(depths));
  return OkStatus();
}

namespace {

constexpr EventColumn kFilteredValues[] = {EventColumn::kDuration, EventColumn::kDepth, EventColumn::kCorrelation};

}  // namespace

Status EventScan::Start(ScanFilter filter) {
  const bool same_texts = filter.text(EventColumn::kName) == filter_.text(EventColumn::kName) &&
                          filter.text(EventColumn::kCategory) == filter_.text(EventColumn::kCategory);
  filter_ = std::move(filter);
  if (!same_texts || answers_of_.empty()) {
    answers_of_.clear();
    answers_of_.resize(set_.parts().size());
  }
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
  correlations_ = filter_.of(EventColumn::kCorrelation).CorrelationsOf(part.number());
  if (tracks_.is_empty() || correlations_.is_empty()) return OkStatus();
  auto& answers = answers_of_[static_cast<size_t>(part.number())];
  if (!answers) {
    answers.emplace(
        Answers{{filter_.text(EventColumn::kName), part, false}, {filter_.text(EventColumn::kCategory), part, true}});
  }
  answers_ = &*answers;
  part_ = &part;
  RETURN_IF_ERROR(part.CheckTime());
  ASSIGN_OR_RETURN(const bool is_looked_up, LookUp(part));
  if (is_looked_up) return OkStatus();
  for (const Segment& segment : part.segments(kind_)) {
    ASSIGN_OR_RETURN(const bool may_hold, MayHold(part, segment));
    if (may_hold) tasks_.push_back({&segment, std::nullopt});
  }
  return OkStatus();
}

void EventScan::AddRows(OpenPart& part, const std::vector<int64_t>& rows) {
  for (const int64_t row : rows) {
    const Segment* segment = part.FindSegment(kind_, row);
    if (segment == nullptr) continue;
    if (tasks_.empty() || tasks_.back().segment != segment) tasks_.push_back({segment, std::vector<uint32_t>()});
    tasks_.back().rows->push_back(static_cast<uint32_t>(row - segment->first_row));
  }
}

Result<bool> EventScan::LookUp(OpenPart& part) {
  const IntegerFilter ids = filter_.id.NumbersOf(part.number());
  if (ids.is_active()) {
    if (ids.is_empty()) return true;
    if (ids.list() != nullptr) {
      AddRows(part, *ids.list());
      return true;
    }
    if (ids.only()) {
      AddRows(part, {*ids.only()});
      return true;
    }
  }
  if (kind_ != EventKind::kSlice || !correlations_.is_active()) return false;
  const std::optional<int64_t> only = correlations_.only();
  const bool is_listed = correlations_.list() != nullptr;
  if (!is_listed && !only) return false;
  std::vector<CorrelationIndex::Found> found;
  ASSIGN_OR_RETURN(
      const bool is_found,
      part.correlations().Find(part, is_listed ? std::span(*correlations_.list()) : std::span(&*only, 1), found));
  if (!is_found) return false;
  for (CorrelationIndex::Found& of : found) tasks_.push_back({of.segment, std::move(of.rows)});
  return true;
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
    ASSIGN_OR_RETURN(const bool may_hold, touches(column, OfPart(column)));
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

void EventScan::KeepIds(const Task& task) {
  const IntegerFilter ids = filter_.id.NumbersOf(part_->number());
  const int64_t first_row = task.segment->first_row;
  if (!ids.is_active() || (ids.min() <= first_row && ids.max() >= first_row + task.segment->rows - 1)) return;
  if (is_all_) {
    rows_.resize(chosen_);
    for (uint32_t row = 0; row < chosen_; ++row) rows_[row] = row;
    is_all_ = false;
  }
  rows_.resize(chosen_);
  std::erase_if(rows_, [&](uint32_t row) { return !ids.Accepts(first_row + row); });
  chosen_ = static_cast<uint32_t>(rows_.size());
}

Status EventScan::KeepCorrelations() {
  const IntegerFilter& filter = filter_.of(EventColumn::kCorrelation);
  if (!filter.is_active() || chosen_ == 0) return OkStatus();
  const int64_t part = held_->part().number();
  ASSIGN_OR_RETURN(const int64_t* values, held_->Column(EventColumn::kCorrelation));
  return Keep(values, [&](int64_t value) { return filter.Accepts(SqlCorrelation(part, value)); });
}

Status EventScan::KeepTexts(EventColumn column, TextAnswers& answers) {
  if (!filter_.text(column).is_active() || chosen_ == 0) return OkStatus();
  ASSIGN_OR_RETURN(const int64_t* values, held_->Column(column));
  Status failure;
  RETURN_IF_ERROR(Keep(values, [&](int64_t value) {
    const TextAnswers::Answer known = answers.Known(value);
    if (known != TextAnswers::kUnknown) return known == TextAnswers::kYes;
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
  ASSIGN_OR_RETURN(const TrackStretches* runs, view.part().ReadTracks(view.segment()));
  const int64_t* values = nullptr;
  if (by_time) {
    ASSIGN_OR_RETURN(values, held_->Column(EventColumn::kTime));
  }
  is_all_ = false;
  rows_.clear();
  const std::optional<int64_t> only = tracks_.is_active() ? tracks_.only() : std::nullopt;
  for (const TrackStretch& run : only ? runs->Of(*only) : std::span(runs->all)) {
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

Result<bool> EventScan::ChooseByCategory(SegmentView& view) {
  if (!filter_.text(EventColumn::kCategory).is_active()) return true;
  if (!is_all_) return false;
  ASSIGN_OR_RETURN(const CategoryRows* known, view.Categories());
  if (known == nullptr) return false;
  size_t accepted = 0;
  size_t last = 0;
  for (size_t i = 0; i < known->size(); ++i) {
    ASSIGN_OR_RETURN(const bool accepts, answers_->categories.Accepts((*known)[i].number));
    if (!accepts) continue;
    ++accepted;
    last = i;
  }
  if (accepted == known->size()) return true;  // all rows
  if (accepted > 1 || (accepted == 1 && !(*known)[last].is_rare)) return false;
  is_all_ = false;
  rows_.clear();
  if (accepted == 1) known->AppendRows(last, rows_);
  chosen_ = static_cast<uint32_t>(rows_.size());
  return true;
}

Status EventScan::Choose(const Task& task) {
  OpenPart& part = *part_;
  RETURN_IF_ERROR(part.CheckTime());
  if (!held_ || &held_->part() != &part || &held_->segment() != task.segment) held_.emplace(part, *task.segment);
  is_all_ = !task.rows.has_value();
  chosen_ = task.segment->rows;
  if (task.rows) {
    rows_ = *task.rows;
    chosen_ = static_cast<uint32_t>(rows_.size());
    RETURN_IF_ERROR(KeepValues(EventColumn::kTrack, tracks_));
    RETURN_IF_ERROR(KeepValues(EventColumn::kTime, filter_.of(EventColumn::kTime)));
  } else {
    RETURN_IF_ERROR(ChooseByTrackAndTime(*held_));
  }
  ASSIGN_OR_RETURN(const bool is_categorised, ChooseByCategory(*held_));
  KeepIds(task);
  RETURN_IF_ERROR(KeepValues(EventColumn::kDuration, filter_.of(EventColumn::kDuration)));
  RETURN_IF_ERROR(KeepValues(EventColumn::kDepth, filter_.of(EventColumn::kDepth)));
  RETURN_IF_ERROR(KeepCorrelations());
  if (!is_categorised) RETURN_IF_ERROR(KeepTexts(EventColumn::kCategory, answers_->categories));
  return KeepTexts(EventColumn::kName, answers_->names);
}

}  // namespace kprof
