#include "storage/trace/levels/lane_levels.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "storage/trace/format/event_time.h"
#include "storage/trace/write/segment_maker.h"

namespace kprof {
namespace {

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

struct LaneLevels::Level {
  int number = 0;
  std::vector<Item> open;  // by lane; count 0: none
  std::vector<Item> rows;

  bool IsShort(int64_t begin, int64_t end) const { return Length(begin, end) < WidthOf(number); }
  // Whether what is short and begins there is of one row with what is open.
  bool GoesWith(const Item& its_open, int64_t begin) const {
    return its_open.count > 0 && its_open.begin >> (2 * number) == begin >> (2 * number);
  }
};

int64_t DetailLane(int64_t depth) {
  return std::clamp<int64_t>(depth, 0, kMostDepths);
}

LaneLevels::LaneLevels(EventKind kind, const DetailLimits& limits) : kind_(kind), limits_(limits) {}

LaneLevels::~LaneLevels() = default;
LaneLevels::LaneLevels(LaneLevels&&) noexcept = default;

void LaneLevels::Choose(const std::vector<int>& levels) {
  for (const int number : levels) {
    levels_.emplace_back();
    levels_.back().number = number;
  }
}

void LaneLevels::Add(const DetailSlice& slice) {
  if (levels_.empty()) return;
  const int64_t end = EndOf(slice.time_ns, slice.duration_ns);
  const int64_t duration = std::max<int64_t>(slice.duration_ns, 0);
  const auto depth = static_cast<uint32_t>(DetailLane(slice.depth));
  const uint32_t lane = LaneOf(slice.track, depth);
  Level& finest = levels_.front();
  if (lane < finest.open.size() && finest.IsShort(slice.time_ns, end) &&
      finest.GoesWith(finest.open[lane], slice.time_ns)) {
    return Join(finest.open[lane], slice.time_ns, end, duration, 1, duration, slice.name);
  }
  Push(0, {slice.time_ns, end, duration, 1, duration, slice.name, slice.track, depth, lane});
}

uint32_t LaneLevels::LaneOf(int64_t track, uint32_t depth) {
  if (last_lanes_ != nullptr && track == last_track_ && depth < last_lanes_->size() &&
      (*last_lanes_)[depth] != kNoLane) {
    return (*last_lanes_)[depth];
  }
  last_lanes_ = &lanes_of_tracks_[track];
  last_track_ = track;
  const size_t more = depth < last_lanes_->size() ? 0 : depth + 1 - last_lanes_->size();
  if (more == 0 && (*last_lanes_)[depth] != kNoLane) return (*last_lanes_)[depth];
  if (lanes_ == limits_.lanes || lane_places_ + more > limits_.lane_places) {
    EndAll();
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

void LaneLevels::Join(Item& open, int64_t begin, int64_t end, int64_t busy, int64_t count, int64_t longest,
                      int64_t name) {
  if (longest > open.longest || (longest == open.longest && begin < open.begin)) open.name = name;
  open.longest = std::max(open.longest, longest);
  open.begin = std::min(open.begin, begin);
  open.end = std::max(open.end, end);
  open.busy = EndOf(open.busy, busy);
  open.count += count;
}

void LaneLevels::Push(size_t level, const Item& item) {
  std::vector<Item>& all_open = levels_[level].open;
  if (all_open.size() <= item.lane) all_open.resize(lanes_);
  Item& open = all_open[item.lane];
  const bool is_short = levels_[level].IsShort(item.begin, item.end);
  if (is_short && levels_[level].GoesWith(open, item.begin)) {
    return Join(open, item.begin, item.end, item.busy, item.count, item.longest, item.name);
  }
  const Item before = std::exchange(open, is_short ? item : Item{});
  if (before.count > 0) Emit(level, before);
  if (!is_short) Emit(level, item);
}

void LaneLevels::Emit(size_t level, const Item& item) {
  levels_[level].rows.push_back(item);
  if (level + 1 < levels_.size()) Push(level + 1, item);
}

void LaneLevels::EndOpen(size_t level) {
  for (Item& open : levels_[level].open) {
    const Item item = std::exchange(open, {});
    if (item.count > 0) Emit(level, item);
  }
}

void LaneLevels::EndAll() {
  for (size_t level = 0; level < levels_.size(); ++level) EndOpen(level);
}

std::vector<size_t> LaneLevels::rows() const {
  std::vector<size_t> rows;
  for (const Level& level : levels_) rows.push_back(level.rows.size());
  return rows;
}

std::vector<EncodedSegment> LaneLevels::Take(size_t least_rows) {
  std::vector<EncodedSegment> segments;
  for (Level& level : levels_) {
    if (level.rows.size() >= least_rows) Encode(level, segments);
  }
  return segments;
}

void LaneLevels::Encode(Level& level, std::vector<EncodedSegment>& segments) const {
  EventRows rows;
  for (const Item& item : level.rows) {
    rows.of(EventColumn::kTime).push_back(item.begin);
    rows.of(EventColumn::kDuration).push_back(AsDuration(Length(item.begin, item.end)));
    rows.of(EventColumn::kTrack).push_back(item.track);
    rows.of(EventColumn::kName).push_back(item.name);
    rows.of(EventColumn::kCount).push_back(item.count);
    rows.of(EventColumn::kLevel).push_back(level.number);
    if (kind_ == EventKind::kInstantSummary) continue;
    rows.of(EventColumn::kDepth).push_back(item.depth);
    rows.of(EventColumn::kBusy).push_back(item.busy);
  }
  level.rows.clear();
  SegmentMaker maker(kind_, rows);
  for (size_t i = 0; i < maker.segments(); ++i) segments.push_back(maker.Encode(i));
}

}  // namespace kprof
