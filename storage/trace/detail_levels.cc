#include "storage/trace/detail_levels.h"

#include <utility>

namespace kprof {
namespace {

constexpr size_t kSlicesToChooseBy = 131'072;

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
  return first_[0].size() + first_[1].size() < kSlicesToChooseBy ? OkStatus() : ChooseByFirst();
}

void DetailLevels::Choose(const std::vector<int>& levels) {
  levels_ = levels;
  for (LaneLevels& half : halves_) half.Choose(levels);
  chosen_ = true;
}

Status DetailLevels::ChooseByFirst() {
  const size_t slices = first_[0].size() + first_[1].size();
  std::array<LevelCounts, 2> counts;
  RunBoth(slices, [&](size_t half) {
    for (const DetailSlice& slice : first_[half]) counts[half].Add(slice);
  });
  LevelChoice::Stretch stretch{.slices = slices, .stands_for = slices};
  for (size_t level = 0; level < kDetailLevels; ++level) {
    stretch.rows[level] = counts[0].rows()[level] + counts[1].rows()[level];
  }
  choice_.emplace();
  choice_->Add(stretch);
  Choose(choice_->Choose());
  RunBoth(slices, [&](size_t half) {
    for (const DetailSlice& slice : first_[half]) halves_[half].Add(slice);
    first_[half] = {};
  });
  return WriteAll(kMaxSegmentRows);
}

Status DetailLevels::Finish() {
  if (!chosen_) RETURN_IF_ERROR(ChooseByFirst());
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
