#include "storage/trace/counter_levels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "storage/trace/detail_levels.h"

namespace kprof {
namespace {

// Which levels are worth their rows is seen by so many samples.
constexpr int64_t kSamplesToChooseBy = 131'072;
constexpr size_t kFirstShrinking = 4;
constexpr size_t kLeastShrinking = 2;

int64_t BitsOf(double value) {
  return std::bit_cast<int64_t>(value);
}

}  // namespace

struct CounterLevels::Level {
  int number = 0;
  bool kept = true;
  std::vector<Row> open;  // by lane
  std::vector<Row> rows;
};

CounterLevels::CounterLevels(Write write) : write_(std::move(write)) {
  for (int number = kFinestLevel; number <= kCoarsestLevel; ++number) {
    levels_.emplace_back();
    levels_.back().number = number;
  }
}

CounterLevels::~CounterLevels() = default;

Status CounterLevels::Add(const EventRows& samples, std::span<const uint32_t> order) {
  const std::vector<int64_t>& times = samples.of(EventColumn::kTime);
  const std::vector<int64_t>& tracks = samples.of(EventColumn::kTrack);
  const std::vector<int64_t>& values = samples.of(EventColumn::kValue);
  for (const uint32_t at : order) {
    const auto value = std::bit_cast<double>(values[at]);
    if (std::isnan(value)) continue;
    Push(0, LaneOf(tracks[at]), {times[at], times[at], tracks[at], 1, value, value, value, value});
    if (++samples_ == kSamplesToChooseBy) ChooseLevels();
    if (has_full_ && chosen_) RETURN_IF_ERROR(WriteFull(kMaxSegmentRows));
  }
  return OkStatus();
}

Status CounterLevels::Finish() {
  EmitAll();
  if (!chosen_) ChooseLevels();
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
  open.count += row.count;
  open.least = std::min(open.least, row.least);
  open.most = std::max(open.most, row.most);
  open.mean += (row.mean - open.mean) * (static_cast<double>(row.count) / static_cast<double>(open.count));
}

void CounterLevels::Emit(size_t level, size_t lane, const Row& row) {
  Level& from = levels_[level];
  if (from.kept) {
    from.rows.push_back(row);
    has_full_ |= from.rows.size() >= kMaxSegmentRows;
  }
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

void CounterLevels::ChooseLevels() {
  size_t shrinking = kFirstShrinking;
  chosen_ = true;
  auto finer = static_cast<size_t>(samples_);
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
