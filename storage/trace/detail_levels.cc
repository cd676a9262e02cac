#include "storage/trace/detail_levels.h"

#include <utility>

#include "storage/trace/level_counts.h"

namespace kprof {
namespace {

constexpr size_t kSlicesToChooseBy = 131'072;
constexpr size_t kFirstShrinking = 4;
constexpr size_t kLeastShrinking = 2;

DetailLimits HalfThe(const DetailLimits& limits) {
  return {.lanes = std::max<size_t>(limits.lanes / 2, 1), .lane_places = std::max<size_t>(limits.lane_places / 2, 1)};
}

}  // namespace

DetailLevels::DetailLevels(Write write, Beside beside, const DetailLimits& limits)
    : write_(std::move(write)),
      beside_(std::move(beside)),
      halves_{LaneLevels(HalfThe(limits)), LaneLevels(HalfThe(limits))} {}

void DetailLevels::RunBoth(size_t rows, const std::function<void(size_t)>& run) const {
  if (IsShared(rows)) return beside_([&] { run(0); }, [&] { run(1); });
  run(0);
  run(1);
}

Status DetailLevels::AddFirst(const DetailSlice& slice) {
  if (slice.duration_ns == kNoValue) return OkStatus();
  first_[HalfOf(slice)].push_back(slice);
  return first_[0].size() + first_[1].size() < kSlicesToChooseBy ? OkStatus() : Choose();
}

Status DetailLevels::Choose() {
  const size_t slices = first_[0].size() + first_[1].size();
  std::array<LevelCounts, 2> counts;
  const auto count = [&](size_t half) {
    for (const DetailSlice& slice : first_[half]) counts[half].Add(slice);
  };
  const auto add = [&](size_t half) {
    for (const DetailSlice& slice : first_[half]) halves_[half].Add(slice);
    first_[half] = {};
  };
  RunBoth(slices, count);
  std::vector<int> kept;
  size_t shrinking = kFirstShrinking;
  size_t finer = slices;
  for (int level = kFinestLevel; level <= kCoarsestLevel; ++level) {
    const auto at = static_cast<size_t>(level - kFinestLevel);
    const size_t rows = counts[0].rows()[at] + counts[1].rows()[at];
    if (rows * shrinking > finer || finer <= 1) continue;
    kept.push_back(level);
    finer = rows;
    shrinking = kLeastShrinking;
  }
  for (LaneLevels& half : halves_) half.Choose(kept);
  RunBoth(slices, add);
  chosen_ = true;
  return WriteAll(kMaxSegmentRows);
}

Status DetailLevels::Finish() {
  if (!chosen_) RETURN_IF_ERROR(Choose());
  for (LaneLevels& half : halves_) half.EndAll();
  return WriteAll(1);
}

Status DetailLevels::WriteAll(size_t least_rows) {
  size_t rows = 0;  // of those that are full enough
  for (const LaneLevels& half : halves_) {
    for (const size_t of_level : half.rows()) rows += of_level >= least_rows ? of_level : 0;
  }
  if (rows == 0) return OkStatus();
  std::array<std::vector<EncodedSegment>, 2> segments;
  RunBoth(rows, [&](size_t half) { segments[half] = halves_[half].Take(least_rows); });
  for (const std::vector<EncodedSegment>& of_half : segments) {
    for (const EncodedSegment& segment : of_half) RETURN_IF_ERROR(write_(segment));
  }
  return OkStatus();
}

}  // namespace kprof
