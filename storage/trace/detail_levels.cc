#include "storage/trace/detail_levels.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "storage/trace/event_time.h"

namespace kprof {
namespace {

// Which levels are worth their rows is seen by so many slices.
constexpr int64_t kSlicesToChooseBy = 131'072;
constexpr size_t kFirstShrinking = 4;
constexpr size_t kLeastShrinking = 2;
constexpr int64_t kMostDepths = 4'096;  // those below are drawn on the last of them
constexpr uint32_t kNoLane = UINT32_MAX;

uint64_t WidthOf(int level) {
  return uint64_t{1} << (2 * level);
}

// REQUIRES: end >= begin.
uint64_t Length(int64_t begin, int64_t end) {
  return static_cast<uint64_t>(end) - static_cast<uint64_t>(begin);
}

int64_t AsDuration(uint64_t length) {
  return static_cast<int64_t>(std::min(length, static_cast<uint64_t>(std::numeric_limits<int64_t>::max())));
}

}  // namespace

struct DetailLevels::Level {
  int number = 0;
  bool kept = true;
  std::vector<Item> open;  // by lane; count 0: none
  std::vector<Item> rows;
};

DetailLevels::DetailLevels(Write write, const DetailLimits& limits) : write_(std::move(write)), limits_(limits) {
  for (int number = kFinestLevel; number <= kCoarsestLevel; ++number) {
    levels_.emplace_back();
    levels_.back().number = number;
  }
}

DetailLevels::~DetailLevels() = default;

Status DetailLevels::Add(const Slice& slice) {
  const int64_t end = EndOf(slice.time_ns, slice.duration_ns);
  const int64_t duration = std::max<int64_t>(slice.duration_ns, 0);
  const auto depth = static_cast<uint32_t>(std::clamp<int64_t>(slice.depth, 0, kMostDepths));
  const uint32_t lane = LaneOf(slice.track, depth);
  Push(0, {slice.time_ns, end, duration, 1, duration, slice.name, slice.track, depth, lane});
  if (++slices_ == kSlicesToChooseBy) ChooseLevels();
  return has_full_ && chosen_ ? WriteFull(kMaxSegmentRows) : OkStatus();
}

Status DetailLevels::Finish() {
  EmitAll();
  if (!chosen_) ChooseLevels();
  return WriteFull(1);
}

uint32_t DetailLevels::LaneOf(int64_t track, uint32_t depth) {
  if (last_lanes_ != nullptr && track == last_track_ && depth < last_lanes_->size() &&
      (*last_lanes_)[depth] != kNoLane) {
    return (*last_lanes_)[depth];
  }
  last_lanes_ = &lanes_of_tracks_[track];
  last_track_ = track;
  const size_t more = depth < last_lanes_->size() ? 0 : depth + 1 - last_lanes_->size();
  if (more == 0 && (*last_lanes_)[depth] != kNoLane) return (*last_lanes_)[depth];
  if (lanes_ == limits_.lanes || lane_places_ + more > limits_.lane_places) {
    EmitAll();
    lanes_ = 0;
    lane_places_ = 0;
    lanes_of_tracks_.clear();
    last_lanes_ = &lanes_of_tracks_[track];
  }
  if (last_lanes_->size() <= depth) {
    lane_places_ += depth + 1 - last_lanes_->size();
    last_lanes_->resize(depth + 1, kNoLane);
  }
  return (*last_lanes_)[depth] = static_cast<uint32_t>(lanes_++);
}

void DetailLevels::Push(size_t level, const Item& item) {
  std::vector<Item>& all_open = levels_[level].open;
  if (all_open.size() <= item.lane) all_open.resize(lanes_);
  const int shift = 2 * levels_[level].number;
  Item& open = all_open[item.lane];
  const bool is_short = Length(item.begin, item.end) < WidthOf(levels_[level].number);
  if (is_short && open.count > 0 && open.begin >> shift == item.begin >> shift) {
    open.end = std::max(open.end, item.end);
    open.busy = EndOf(open.busy, item.busy);
    open.count += item.count;
    if (item.longest > open.longest) {
      open.longest = item.longest;
      open.name = item.name;
    }
    return;
  }
  const Item before = std::exchange(open, is_short ? item : Item{});
  if (before.count > 0) Emit(level, before);
  if (!is_short) Emit(level, item);
}

void DetailLevels::Emit(size_t level, const Item& item) {
  Level& from = levels_[level];
  if (from.kept) {
    from.rows.push_back(item);
    has_full_ |= from.rows.size() >= kMaxSegmentRows;
  }
  if (level + 1 < levels_.size()) Push(level + 1, item);
}

void DetailLevels::EmitAll() {
  for (size_t level = 0; level < levels_.size(); ++level) {
    for (Item& open : levels_[level].open) {
      const Item item = std::exchange(open, {});
      if (item.count > 0) Emit(level, item);
    }
  }
}

void DetailLevels::ChooseLevels() {
  size_t shrinking = kFirstShrinking;
  chosen_ = true;
  size_t finer = static_cast<size_t>(slices_);
  for (Level& level : levels_) {
    level.kept = level.rows.size() * shrinking <= finer && finer > 1;
    if (level.kept) {
      finer = level.rows.size();
      shrinking = kLeastShrinking;
    } else {
      level.rows = {};
    }
  }
}

Status DetailLevels::WriteFull(size_t least_rows) {
  has_full_ = false;
  for (Level& level : levels_) {
    if (level.rows.size() >= least_rows) RETURN_IF_ERROR(WriteRows(level));
  }
  return OkStatus();
}

Status DetailLevels::WriteRows(Level& level) {
  EventRows rows;
  for (const Item& item : level.rows) {
    rows.of(EventColumn::kTime).push_back(item.begin);
    rows.of(EventColumn::kDuration).push_back(AsDuration(Length(item.begin, item.end)));
    rows.of(EventColumn::kTrack).push_back(item.track);
    rows.of(EventColumn::kName).push_back(item.name);
    rows.of(EventColumn::kDepth).push_back(item.depth);
    rows.of(EventColumn::kCount).push_back(item.count);
    rows.of(EventColumn::kBusy).push_back(item.busy);
    rows.of(EventColumn::kLevel).push_back(level.number);
  }
  level.rows.clear();
  SegmentMaker maker(EventKind::kSummary, rows);
  for (size_t i = 0; i < maker.segments(); ++i) RETURN_IF_ERROR(write_(maker.Encode(i)));
  return OkStatus();
}

}  // namespace kprof
