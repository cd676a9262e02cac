#include "storage/trace/levels/level_counts.h"

#include <algorithm>
#include <bit>

#include "storage/trace/format/event_time.h"

namespace kprof {
namespace {

constexpr uint64_t kSpread = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio: neighbours lie far apart

// The last level whose 4^n ns are no more than that.
int LevelOf(uint64_t length_ns) {
  return (static_cast<int>(std::bit_width(length_ns)) - 1) / 2;
}

}  // namespace

size_t LevelCounts::HashLane::operator()(const Lane& lane) const {
  const uint64_t mixed = (static_cast<uint64_t>(lane.track) * kSpread + static_cast<uint64_t>(lane.depth)) * kSpread;
  return mixed >> 20 ^ mixed;
}

// A slice begins a row on a level where it is long, where the last one was, and where the two begin in different
// stretches; on all coarser levels it does none of them.
void LevelCounts::Add(const DetailSlice& slice) {
  const int64_t end = EndOf(slice.time_ns, slice.duration_ns);
  const uint64_t length = static_cast<uint64_t>(end) - static_cast<uint64_t>(slice.time_ns);
  const int long_to = LevelOf(length);
  const auto [last, is_first] = last_.try_emplace({slice.track, DetailLane(slice.depth)}, Last{});
  int begins_to = kCoarsestLevel;
  if (!is_first) {
    const auto apart = static_cast<uint64_t>(slice.time_ns) ^ static_cast<uint64_t>(last->second.begin);
    begins_to = std::min(std::max({LevelOf(apart), long_to, last->second.long_to}), kCoarsestLevel);
  }
  ++begun_[static_cast<size_t>(std::max(begins_to, 0))];
  last->second = {slice.time_ns, long_to};
}

LevelRows LevelCounts::rows() const {
  LevelRows rows{};
  size_t sum = 0;
  for (int level = kCoarsestLevel; level >= kFinestLevel; --level) {
    sum += begun_[static_cast<size_t>(level)];
    rows[static_cast<size_t>(level - kFinestLevel)] = sum;
  }
  return rows;
}

}  // namespace kprof
