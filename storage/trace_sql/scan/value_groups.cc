#include "storage/trace_sql/scan/value_groups.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

namespace kprof {
namespace {

constexpr int64_t kValueBytes = 64;

}  // namespace

Result<int64_t> ValueGroups::NumberIn(SegmentView& view, uint32_t row) const {
  switch (by_) {
    case GroupedBy::kRun:
    case GroupedBy::kPart:
      return 0;
    case GroupedBy::kTrack: {
      ASSIGN_OR_RETURN(const int64_t* tracks, view.Column(EventColumn::kTrack));
      return tracks[row];
    }
    default: {
      ASSIGN_OR_RETURN(const int64_t* texts,
                       view.Column(by_ == GroupedBy::kName ? EventColumn::kName : EventColumn::kCategory));
      return texts[row];
    }
  }
}

Result<uint32_t> ValueGroups::ValueOf(SegmentView& view, uint32_t row) {
  OpenPart& part = view.part();
  ASSIGN_OR_RETURN(const int64_t number, NumberIn(view, row));
  const auto part_at = static_cast<size_t>(part.number());
  const size_t page_at = static_cast<uint64_t>(number) / kPage;
  if (part_at < pages_.size() && page_at < pages_[part_at].size() && pages_[part_at][page_at] != nullptr) {
    const uint32_t seen = (*pages_[part_at][page_at])[static_cast<uint64_t>(number) % kPage];
    if (seen != 0) return seen - 1;
  }
  return See(part, number);
}

Result<uint32_t> ValueGroups::See(OpenPart& part, int64_t number) {
  const bool is_track = by_ == GroupedBy::kTrack;
  const int64_t end =
      is_track ? static_cast<int64_t>(part.facts().tracks().size()) : std::max<int64_t>(part.facts().strings_end(), 1);
  if (number < 0 || number >= end) {
    return part.Broken(std::string("it has no ") + (is_track ? "track " : "string ") + std::to_string(number));
  }
  const auto part_at = static_cast<size_t>(part.number());
  const auto page_at = static_cast<size_t>(number) / kPage;
  int64_t more_bytes = kValueBytes;
  if (part_at >= pages_.size()) pages_.resize(part_at + 1);
  auto& pages = pages_[part_at];
  if (page_at >= pages.size()) {
    more_bytes += static_cast<int64_t>((page_at + 1 - pages.size()) * sizeof(pages[0]));
  }
  const bool is_new_page = page_at >= pages.size() || pages[page_at] == nullptr;
  RETURN_IF_ERROR(memory_.Grow(more_bytes + (is_new_page ? static_cast<int64_t>(sizeof(Page)) : 0)));
  if (page_at >= pages.size()) pages.resize(page_at + 1);
  if (is_new_page) pages[page_at] = std::make_unique<Page>();
  values_.push_back({&part, number, by_ == GroupedBy::kCategory && number == 0});
  const auto value = static_cast<uint32_t>(values_.size() - 1);
  (*pages[page_at])[static_cast<size_t>(number) % kPage] = value + 1;
  return value;
}

Result<std::vector<bool>> ValueGroups::SortValues() {
  if (by_ == GroupedBy::kName || by_ == GroupedBy::kCategory) return SortTexts(values_);
  const auto key = [this](const TextPlace& value) {
    const TracePlace& place = value.part->place();
    return std::pair(by_ == GroupedBy::kRun    ? std::string_view(place.run)
                     : by_ == GroupedBy::kPart ? std::string_view(place.part)
                                               : std::string_view(),
                     by_ == GroupedBy::kTrack ? value.part->IdOf(value.number) : 0);
  };
  std::sort(values_.begin(), values_.end(), [&](const TextPlace& a, const TextPlace& b) { return key(a) < key(b); });
  std::vector<bool> is_same(values_.size());
  for (size_t i = 1; i < values_.size(); ++i) is_same[i] = key(values_[i]) == key(values_[i - 1]);
  return is_same;
}

Status ValueGroups::Order(bool is_descending) {
  const auto before = [](const TextPlace& value, const std::vector<std::vector<std::unique_ptr<Page>>>& pages) {
    const auto number = static_cast<size_t>(value.number);
    return (*pages[static_cast<size_t>(value.part->number())][number / kPage])[number % kPage] - 1;
  };
  ASSIGN_OR_RETURN(const std::vector<bool> is_same, SortValues());
  group_of_.assign(values_.size(), 0);
  for (uint32_t i = 0; i < values_.size(); ++i) {
    if (!is_same[i]) firsts_.push_back(i);
    group_of_[before(values_[i], pages_)] = static_cast<uint32_t>(firsts_.size() - 1);
  }
  if (!is_descending) return OkStatus();
  std::reverse(firsts_.begin(), firsts_.end());
  for (uint32_t& group : group_of_) group = static_cast<uint32_t>(firsts_.size() - 1 - group);
  return OkStatus();
}

}  // namespace kprof
