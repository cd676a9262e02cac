#include "storage/trace/levels/slice_totals.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "storage/trace/format/event_time.h"

namespace kprof {
namespace {

constexpr size_t kFirstTotalPlaces = 1024;
constexpr int64_t kMostNumber = std::numeric_limits<int64_t>::max();

size_t HashOf(int64_t track, int64_t name, int64_t category) {
  uint64_t hash = static_cast<uint64_t>(name) * 0x9e3779b97f4a7c15u;
  hash ^= static_cast<uint64_t>(track) * 0xc2b2ae3d27d4eb4fu;
  hash ^= static_cast<uint64_t>(category) * 0x165667b19e3779f9u;
  return static_cast<size_t>(hash ^ hash >> 32);
}

}  // namespace

SliceTotals::SliceTotals(Write write, const SliceTotalsLimits& limits)
    : write_(std::move(write)), limits_(limits), places_(kFirstTotalPlaces) {}

Status SliceTotals::Add(const EventRows& slices) {
  const std::vector<int64_t>& times = slices.of(EventColumn::kTime);
  const std::vector<int64_t>& durations = slices.of(EventColumn::kDuration);
  const std::vector<int64_t>& tracks = slices.of(EventColumn::kTrack);
  const std::vector<int64_t>& names = slices.of(EventColumn::kName);
  const std::vector<int64_t>& categories = slices.of(EventColumn::kCategory);
  if (times.empty()) return OkStatus();
  if (rows_ == 0) {
    min_time_ = times.front();
    max_time_ = times.front();
    max_end_ = times.front();
  }
  rows_ += times.size();
  for (size_t row = 0; row < times.size() && !differs_; ++row) {
    Group* group = FindGroup(tracks[row], names[row], categories[row]);
    if (group == nullptr) break;
    const int64_t duration = durations[row];
    ++group->count;
    min_time_ = std::min(min_time_, times[row]);
    max_time_ = std::max(max_time_, times[row]);
    max_end_ = std::max(max_end_, EndOf(times[row], duration));
    if (duration < 0) continue;
    group->least = group->ended == 0 ? duration : std::min(group->least, duration);
    group->most = std::max(group->most, duration);
    group->busy = duration > kMostNumber - group->busy ? kMostNumber : group->busy + duration;
    ++group->ended;
  }
  return rows_ < limits_.stretch_rows ? OkStatus() : WriteStretch();
}

Status SliceTotals::Finish() {
  return rows_ > 0 ? WriteStretch() : OkStatus();
}

SliceTotals::Group* SliceTotals::FindGroup(int64_t track, int64_t name, int64_t category) {
  const size_t mask = places_.size() - 1;
  size_t at = HashOf(track, name, category) & mask;
  for (; places_[at] != 0; at = (at + 1) & mask) {
    Group& group = groups_[places_[at] - 1];
    if (group.name == name && group.track == track && group.category == category) return &group;
  }
  if (groups_.size() == limits_.most_groups) {
    differs_ = true;
    return nullptr;
  }
  groups_.push_back({.track = track, .name = name, .category = category});
  places_[at] = static_cast<uint32_t>(groups_.size());
  if (groups_.size() * 2 > places_.size()) Grow();
  return &groups_.back();
}

void SliceTotals::Grow() {
  std::vector<uint32_t> places(places_.size() * 2);
  const size_t mask = places.size() - 1;
  for (uint32_t number = 1; number <= groups_.size(); ++number) {
    const Group& group = groups_[number - 1];
    size_t at = HashOf(group.track, group.name, group.category) & mask;
    while (places[at] != 0) at = (at + 1) & mask;
    places[at] = number;
  }
  places_ = std::move(places);
}

Status SliceTotals::WriteStretch() {
  const std::vector<Group> groups = std::exchange(groups_, {});
  std::fill(places_.begin(), places_.end(), 0u);
  const int64_t first_row = first_row_;
  const size_t rows = std::exchange(rows_, 0);
  first_row_ += static_cast<int64_t>(rows);
  if (std::exchange(differs_, false) || groups.size() * limits_.least_shrinking > rows) return OkStatus();
  EventRows totals;
  for (const Group& group : groups) {
    totals.of(EventColumn::kTime).push_back(min_time_);
    totals.of(EventColumn::kTrack).push_back(group.track);
    totals.of(EventColumn::kName).push_back(group.name);
    totals.of(EventColumn::kCategory).push_back(group.category);
    totals.of(EventColumn::kSlice).push_back(first_row);
    totals.of(EventColumn::kCount).push_back(group.count);
    totals.of(EventColumn::kBusy).push_back(group.busy);
    totals.of(EventColumn::kEnded).push_back(group.ended);
    totals.of(EventColumn::kLeast).push_back(group.least);
    totals.of(EventColumn::kMost).push_back(group.most);
  }
  SegmentMaker maker(EventKind::kTotal, totals);
  EncodedSegment segment = maker.Encode(0);
  segment.max_time_ns = max_time_;
  segment.max_end_ns = std::min(max_end_, kMostTimeNs - 1);
  return write_(segment);
}

}  // namespace kprof
