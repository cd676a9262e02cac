#include "storage/trace_sql/parts/slice_parents.h"

#include <algorithm>
#include <utility>

namespace kprof {
namespace {

constexpr size_t kKeptSegments = 32;
constexpr size_t kMostDepths = 1 << 15;
// Of what was open, at all begins together; then those in the middle are forgotten.
constexpr size_t kMostKeptOpen = 4 << 20;

}  // namespace

void SliceParents::Plan(const OpenPart& part) {
  groups_ = SegmentGroupsOf(part);
  for (size_t i = 0; i < groups_.size(); ++i) {
    for (const Segment* segment : groups_[i]) group_of_.emplace(segment->id, i);
  }
  before_.resize(groups_.size() + 1);
  before_[0] = std::make_shared<const LastOfDepths>();
  is_planned_ = true;
}

void SliceParents::Hold(int64_t segment, DecodedColumn parents) {
  if (made_.count(segment) > 0) return;
  const size_t room = std::max(kKeptSegments, groups_[group_of_.at(segment)].size());
  while (made_order_.size() >= room) {
    made_.erase(made_order_.front());
    made_order_.erase(made_order_.begin());
  }
  made_.emplace(segment, std::move(parents));
  made_order_.push_back(segment);
}

Status SliceParents::MakeGroup(OpenPart& part, size_t group) {
  LastOfDepths last = *before_[group];
  std::vector<std::pair<const Segment*, std::vector<int64_t>>> made;
  for (const Segment* segment : groups_[group])
    made.emplace_back(segment, std::vector<int64_t>(segment->rows, kNoValue));
  std::sort(made.begin(), made.end(),
            [](const auto& a, const auto& b) { return a.first->first_row < b.first->first_row; });
  int64_t track = -1;
  std::vector<int64_t>* of_track = nullptr;
  RETURN_IF_ERROR(ReadGroupInTime(part, groups_[group], [&](const TimedSlice& slice) {
    if (of_track == nullptr || slice.track != track) {
      track = slice.track;
      of_track = &last[track];
    }
    if (slice.depth < 0) return;
    const auto depth = static_cast<size_t>(slice.depth);
    if (depth > 0 && depth <= of_track->size() && (*of_track)[depth - 1] >= 0) {
      auto of = std::upper_bound(made.begin(), made.end(), slice.row,
                                 [](int64_t row, const auto& one) { return row < one.first->first_row; });
      --of;
      of->second[static_cast<size_t>(slice.row - of->first->first_row)] = (*of_track)[depth - 1];
    }
    if (depth >= kMostDepths) return;
    if (depth >= of_track->size()) of_track->resize(depth + 1, -1);
    (*of_track)[depth] = slice.row;
  }));
  for (auto& [segment, rows] : made) {
    Hold(segment->id, std::make_shared<const std::vector<int64_t>>(std::move(rows)));
  }
  if (before_[group + 1] == nullptr) {
    for (const auto& [of, depths] : last) before_size_ += depths.size() + 8;
    if (before_size_ > kMostKeptOpen) {
      for (size_t i = 1; i <= group; ++i) before_[i].reset();
      before_size_ = 0;
    }
    before_[group + 1] = std::make_shared<const LastOfDepths>(std::move(last));
  }
  return OkStatus();
}

Result<DecodedColumn> SliceParents::Read(OpenPart& part, const Segment& segment) {
  if (!is_planned_) Plan(part);
  if (const auto found = made_.find(segment.id); found != made_.end()) return found->second;
  const size_t group = group_of_.at(segment.id);
  size_t from = group;
  while (before_[from] == nullptr) --from;
  for (size_t i = from; i < group; ++i) RETURN_IF_ERROR(MakeGroup(part, i));
  RETURN_IF_ERROR(MakeGroup(part, group));
  return made_.at(segment.id);
}

}  // namespace kprof
