#include "storage/trace/detail_levels.h"

#include <utility>
#include <vector>

namespace kprof {
namespace {

constexpr int64_t kSlicesToChooseBy = 131'072;  // by so many is seen which levels are worth their rows
constexpr size_t kFirstShrinking = 4;
constexpr size_t kLeastShrinking = 2;

DetailLimits HalfOf(const DetailLimits& limits) {
  return {.lanes = std::max<size_t>(limits.lanes / 2, 1), .lane_places = std::max<size_t>(limits.lane_places / 2, 1)};
}

}  // namespace

DetailLevels::DetailLevels(Write write, Beside beside, const DetailLimits& limits)
    : write_(std::move(write)),
      beside_(std::move(beside)),
      halves_{LaneLevels(HalfOf(limits)), LaneLevels(HalfOf(limits))} {}

// Up to the choice all levels have rows.
size_t DetailLevels::RowsAtOnce() const {
  return static_cast<size_t>(chosen_ ? kSlicesToChooseBy : std::max<int64_t>(kSlicesToChooseBy - slices_, 1));
}

Status DetailLevels::See(int64_t added) {
  slices_ += added;
  if (!chosen_ && slices_ >= kSlicesToChooseBy) Choose();
  return chosen_ ? WriteAll(kMaxSegmentRows) : OkStatus();
}

Status DetailLevels::Finish() {
  for (LaneLevels& half : halves_) half.EndAll();
  if (!chosen_) Choose();
  return WriteAll(1);
}

void DetailLevels::Choose() {
  std::vector<size_t> rows = halves_[0].rows();
  const std::vector<size_t> more = halves_[1].rows();
  std::transform(rows.begin(), rows.end(), more.begin(), rows.begin(), std::plus<>());
  size_t shrinking = kFirstShrinking;
  auto finer = static_cast<size_t>(slices_);
  std::vector<bool> kept;
  for (const size_t of_level : rows) {
    kept.push_back(of_level * shrinking <= finer && finer > 1);
    if (!kept.back()) continue;
    finer = of_level;
    shrinking = kLeastShrinking;
  }
  for (LaneLevels& half : halves_) half.Keep(kept);
  chosen_ = true;
}

Status DetailLevels::WriteAll(size_t least_rows) {
  size_t rows = 0;  // of those that are full enough
  for (const LaneLevels& half : halves_) {
    for (const size_t of_level : half.rows()) rows += of_level >= least_rows ? of_level : 0;
  }
  if (rows == 0) return OkStatus();
  std::array<std::vector<EncodedSegment>, 2> segments;
  const auto take = [&](size_t half) { segments[half] = halves_[half].Take(least_rows); };
  if (rows < kRowsToShare || beside_ == nullptr) {
    take(0);
    take(1);
  } else {
    beside_([&] { take(0); }, [&] { take(1); });
  }
  for (const std::vector<EncodedSegment>& of_half : segments) {
    for (const EncodedSegment& segment : of_half) RETURN_IF_ERROR(write_(segment));
  }
  return OkStatus();
}

}  // namespace kprof
