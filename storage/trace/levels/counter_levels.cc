#include "storage/trace/levels/counter_levels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "storage/trace/write/segment_maker.h"

namespace kprof {
namespace {

int64_t BitsOf(double value) {
  return std::bit_cast<int64_t>(value);
}

}  // namespace

struct CounterLevels::Level {
  int number = 0;
  std::vector<Row> open;  // by lane
  std::vector<Row> rows;
};

CounterLevels::CounterLevels(Write write, std::span<const int> levels) : write_(std::move(write)) {
  for (const int number : levels) {
    levels_.emplace_back();
    levels_.back().number = number;
  }
}

CounterLevels::~CounterLevels() = default;

Status CounterLevels::Add(std::span<const int64_t> times, std::span<const int64_t> tracks,
                          std::span<const int64_t> values) {
  if (levels_.empty()) return OkStatus();
  for (size_t at = 0; at < times.size(); ++at) {
    const auto value = std::bit_cast<double>(values[at]);
    if (std::isnan(value)) continue;
    Push(0, LaneOf(tracks[at]), {times[at], times[at], tracks[at], 1, value, value, value, value});
    if (has_full_) RETURN_IF_ERROR(WriteFull(kMaxSegmentRows));
  }
  return OkStatus();
}

Status CounterLevels::Finish() {
  EmitAll();
  return WriteFull(1);
}

size_t CounterLevels::LaneOf(int64_t track) {
  const auto found = lanes_.find(track);
  if (found != lanes_.end()) return found->second;
  if (lanes_.size() == kMostOpenTracks) {
    EmitAll();
    lanes_.clear();
  }
  return lanes_.emplace(track, lanes_.size()).first->second;
}

void CounterLevels::Push(size_t level, size_t lane, const Row& row) {
  std::vector<Row>& all_open = levels_[level].open;
  if (all_open.size() <= lane) all_open.resize(lanes_.size());
  const int shift = 2 * levels_[level].number;
  Row& open = all_open[lane];
  if (open.count == 0 || open.begin >> shift != row.begin >> shift) {
    const Row before = std::exchange(open, row);
    if (before.count > 0) Emit(level, lane, before);
    return;
  }
  if (row.end >= open.end) open.last = row.last;
  open.begin = std::min(open.begin, row.begin);
  open.end = std::max(open.end, row.end);
  open.least = std::min(open.least, row.least);
  open.most = std::max(open.most, row.most);
  open.mean = MeanOfBoth(open.mean, open.count, row.mean, row.count);
  open.count += row.count;
}

void CounterLevels::Emit(size_t level, size_t lane, const Row& row) {
  Level& from = levels_[level];
  from.rows.push_back(row);
  has_full_ |= from.rows.size() >= kMaxSegmentRows;
  if (level + 1 < levels_.size()) Push(level + 1, lane, row);
}

void CounterLevels::EmitAll() {
  for (size_t level = 0; level < levels_.size(); ++level) {
    for (size_t lane = 0; lane < levels_[level].open.size(); ++lane) {
      const Row row = std::exchange(levels_[level].open[lane], {});
      if (row.count > 0) Emit(level, lane, row);
    }
  }
}

Status CounterLevels::WriteFull(size_t least_rows) {
  has_full_ = false;
  for (Level& level : levels_) {
    if (level.rows.size() >= least_rows) RETURN_IF_ERROR(WriteRows(level));
  }
  return OkStatus();
}

Status CounterLevels::WriteRows(Level& level) {
  EventRows rows;
  for (const Row& row : level.rows) {
    rows.of(EventColumn::kTime).push_back(row.begin);
    rows.of(EventColumn::kDuration).push_back(row.end - row.begin);
    rows.of(EventColumn::kTrack).push_back(row.track);
    rows.of(EventColumn::kValue).push_back(BitsOf(row.last));
    rows.of(EventColumn::kCount).push_back(row.count);
    rows.of(EventColumn::kLevel).push_back(level.number);
    rows.of(EventColumn::kLeast).push_back(BitsOf(row.least));
    rows.of(EventColumn::kMost).push_back(BitsOf(row.most));
    rows.of(EventColumn::kMean).push_back(BitsOf(row.mean));
  }
  level.rows.clear();
  SegmentMaker maker(EventKind::kCounterSummary, rows);
  for (size_t i = 0; i < maker.segments(); ++i) RETURN_IF_ERROR(write_(maker.Encode(i)));
  return OkStatus();
}

}  // namespace kprof
