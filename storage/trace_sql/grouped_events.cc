#include "storage/trace_sql/grouped_events.h"

#include <sqlite3.h>

#include <algorithm>
#include <utility>

namespace kprof {
namespace {

constexpr int64_t kMostNumbers = 1 << 22;

Status NoRoom() {
  return Fail(ErrorCode::kUsage, "bring rows together", "they take more memory than a query may have",
              "ask about a shorter time, or fewer rows");
}

}  // namespace

GroupedEvents::~GroupedEvents() {
  sqlite3_free(found_);
  sqlite3_free(places_);
}

uint32_t GroupedEvents::GroupOfText(std::string_view text) {
  const auto [found, is_new] = groups_.try_emplace(std::string(text), next_group_);
  next_group_ += is_new ? 1 : 0;
  return found->second;
}

Result<uint32_t> GroupedEvents::GroupOf(SegmentView& view, uint32_t row) {
  OpenPart& part = view.part();
  if (key_ == GroupKey::kRun) return GroupOfText(part.place().run);
  if (key_ == GroupKey::kTrack) {
    ASSIGN_OR_RETURN(const int64_t* tracks, view.Column(EventColumn::kTrack));
    const auto [found, is_new] = tracks_.try_emplace(part.IdOf(tracks[row]), next_group_);
    next_group_ += is_new ? 1 : 0;
    return found->second;
  }
  const bool is_name = key_ == GroupKey::kName;
  ASSIGN_OR_RETURN(const int64_t* numbers, view.Column(is_name ? EventColumn::kName : EventColumn::kCategory));
  const int64_t number = numbers[row];
  if (part_ != &part) {
    part_ = &part;
    group_of_number_.clear();
  }
  const bool is_small = number >= 0 && number < kMostNumbers;
  if (is_small && number < static_cast<int64_t>(group_of_number_.size())) {
    const uint32_t known = group_of_number_[static_cast<size_t>(number)];
    if (known != 0) return known - 1;
  }
  // No category is no text; a zero byte begins none that would be taken for it.
  std::string text(1, '\0');
  if (is_name || number != 0) {
    ASSIGN_OR_RETURN(const PartText read, part.ReadText(number));
    text = "=";
    text += read.view();
  }
  const uint32_t group = GroupOfText(text);
  if (is_small) {
    if (number >= static_cast<int64_t>(group_of_number_.size())) {
      group_of_number_.resize(static_cast<size_t>(number + 1 + number / 2));
    }
    group_of_number_[static_cast<size_t>(number)] = group + 1;
  }
  return group;
}

Status GroupedEvents::Add(SegmentView& view, uint32_t row) {
  const uint32_t groups = next_group_;
  ASSIGN_OR_RETURN(const uint32_t group, GroupOf(view, row));
  if (one_each_ && group < groups) return OkStatus();
  if (views_.empty() || &views_.back().segment() != &view.segment()) views_.emplace_back(view.part(), view.segment());
  if (size_ == room_) {
    room_ = room_ == 0 ? 4096 : room_ * 2;
    auto* moved = static_cast<Found*>(sqlite3_realloc64(found_, room_ * sizeof(Found)));
    if (moved == nullptr) return NoRoom();
    found_ = moved;
  }
  found_[size_++] = {{static_cast<uint32_t>(views_.size() - 1), row}, group};
  return OkStatus();
}

std::vector<uint32_t> GroupedEvents::PlacesOfGroups() const {
  std::vector<uint32_t> order;
  if (key_ == GroupKey::kTrack) {
    std::vector<std::pair<int64_t, uint32_t>> sorted(tracks_.begin(), tracks_.end());
    std::sort(sorted.begin(), sorted.end());
    for (const auto& [track, group] : sorted) order.push_back(group);
  } else {
    std::vector<std::pair<std::string_view, uint32_t>> sorted(groups_.begin(), groups_.end());
    std::sort(sorted.begin(), sorted.end());
    for (const auto& [text, group] : sorted) order.push_back(group);
  }
  if (is_descending_) std::reverse(order.begin(), order.end());
  std::vector<uint32_t> places(order.size());
  for (uint32_t place = 0; place < order.size(); ++place) places[order[place]] = place;
  return places;
}

Status GroupedEvents::Finish() {
  if (size_ == 0) return OkStatus();
  places_ = static_cast<Place*>(sqlite3_malloc64(size_ * sizeof(Place)));
  if (places_ == nullptr) return NoRoom();
  const std::vector<uint32_t> places_of_groups = PlacesOfGroups();
  std::vector<uint32_t> next(next_group_ + 1);
  for (size_t i = 0; i < size_; ++i) {
    found_[i].group = places_of_groups[found_[i].group];
    ++next[found_[i].group + 1];
  }
  for (size_t group = 0; group < next_group_; ++group) next[group + 1] += next[group];
  for (size_t i = 0; i < size_; ++i) places_[next[found_[i].group]++] = found_[i].place;
  sqlite3_free(std::exchange(found_, nullptr));
  return OkStatus();
}

}  // namespace kprof
