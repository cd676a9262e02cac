#include "storage/trace/levels/detail_levels.h"

#include <numeric>
#include <utility>

namespace kprof {
namespace {

DetailLimits HalfThe(const DetailLimits& limits) {
  return {.lanes = std::max<size_t>(limits.lanes / 2, 1), .lane_places = std::max<size_t>(limits.lane_places / 2, 1)};
}

}  // namespace

DetailLevels::DetailLevels(Write write, Beside beside, const DetailLimits& limits)
    : write_(std::move(write)),
      beside_(std::move(beside)),
      halves_{LaneLevels(EventKind::kSummary, HalfThe(limits)), LaneLevels(EventKind::kSummary, HalfThe(limits))} {}

void DetailLevels::RunBoth(size_t rows, const std::function<void(size_t)>& run) const {
  if (IsShared(rows)) return beside_([&] { run(0); }, [&] { run(1); });
  run(0);
  run(1);
}

Status DetailLevels::AddFirst(const DetailSlice& slice) {
  if (slice.duration_ns == kNoValue) return OkStatus();
  first_.push_back(slice);
  return first_.size() < kRowsAtOnce ? OkStatus() : ChooseByFirst();
}

void DetailLevels::Choose(const std::vector<int>& levels) {
  levels_ = levels;
  for (LaneLevels& half : halves_) half.Choose(levels);
  chosen_ = true;
}

Status DetailLevels::ChooseByFirst() {
  const std::vector<DetailSlice> first = std::exchange(first_, {});
  std::vector<uint32_t> rows(first.size());
  std::iota(rows.begin(), rows.end(), 0);
  const auto slice_at = [&](uint32_t row) { return first[row]; };
  ChooseBy(rows, slice_at);
  return AddSome(rows, slice_at);
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
