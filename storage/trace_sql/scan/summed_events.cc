#include "storage/trace_sql/scan/summed_events.h"

#include <algorithm>
#include <utility>

namespace kprof {
namespace {

template <typename Place>
void AddColumn(const int64_t* values, const uint32_t* rows, uint32_t count, ColumnSum* sums, size_t width,
               const Place& place) {
  for (uint32_t i = 0; i < count; ++i) {
    const int64_t value = values[rows == nullptr ? i : rows[i]];
    if (value != kNoValue) sums[place(i) * width].Add(value);
  }
}

}  // namespace

SummedEvents::SummedEvents(std::optional<GroupedBy> by, bool is_descending, std::vector<EventColumn> columns,
                           const TakeMemory& take_memory)
    : by_(by), is_descending_(is_descending), columns_(std::move(columns)), memory_(take_memory) {
  if (by_) values_ = std::make_unique<ValueGroups>(*by_, take_memory);
}

Status SummedEvents::MakeRoom(size_t places) {
  if (places <= counts_.size()) return OkStatus();
  const size_t more = std::max(places, 2 * counts_.size()) - counts_.size();
  RETURN_IF_ERROR(memory_.Grow(static_cast<int64_t>(more * (sizeof(int64_t) + columns_.size() * sizeof(ColumnSum)))));
  counts_.resize(counts_.size() + more);
  sums_.resize(counts_.size() * columns_.size());
  return OkStatus();
}

Status SummedEvents::FindPlaces(SegmentView& view, const uint32_t* rows, uint32_t count) {
  places_.resize(count);
  RETURN_IF_ERROR(values_->ValuesOf(view, rows, count, places_.data()));
  if (!is_ordered_) return MakeRoom(values_->values());
  for (uint32_t& place : places_) place = values_->GroupOf(place);
  return OkStatus();
}

Result<bool> SummedEvents::CountByCategory(SegmentView& view) {
  ASSIGN_OR_RETURN(const CategoryRows* known, view.Categories());
  if (known == nullptr) return false;
  for (size_t i = 0; i < known->size(); ++i) {
    const CategoryRows::Category category = (*known)[i];
    ASSIGN_OR_RETURN(const uint32_t place, values_->ValueOf(view.part(), category.number));
    RETURN_IF_ERROR(MakeRoom(values_->values()));
    counts_[place] += category.rows;
  }
  return true;
}

Status SummedEvents::Add(SegmentView& view, const uint32_t* rows, uint32_t count) {
  if (count == 0) return OkStatus();
  if (by_ == GroupedBy::kCategory && columns_.empty() && rows == nullptr && count == view.rows()) {
    ASSIGN_OR_RETURN(const bool is_counted, CountByCategory(view));
    if (is_counted) return OkStatus();
  }
  if (by_) {
    RETURN_IF_ERROR(FindPlaces(view, rows, count));
    for (const uint32_t place : places_) ++counts_[place];
  } else {
    RETURN_IF_ERROR(MakeRoom(1));
    counts_[0] += count;
  }
  for (size_t column = 0; column < columns_.size(); ++column) {
    ASSIGN_OR_RETURN(const int64_t* values, view.Column(columns_[column]));
    ColumnSum* sums = &sums_[column];
    if (by_) {
      AddColumn(values, rows, count, sums, columns_.size(), [this](uint32_t i) { return places_[i]; });
    } else {
      AddColumn(values, rows, count, sums, columns_.size(), [](uint32_t) { return 0; });
    }
  }
  return OkStatus();
}

Result<bool> SummedEvents::Order() {
  group_ = 0;
  if (!by_) {
    groups_ = counts_.empty() ? 0 : 1;
    return false;
  }
  if (is_ordered_) return false;
  RETURN_IF_ERROR(values_->Order(is_descending_));
  is_ordered_ = true;
  groups_ = values_->groups();
  std::vector<int64_t> counts(groups_);
  std::vector<ColumnSum> sums(groups_ * columns_.size());
  RETURN_IF_ERROR(
      memory_.Grow(static_cast<int64_t>(groups_ * (sizeof(int64_t) + columns_.size() * sizeof(ColumnSum)))));
  bool depends_on_order = false;
  for (uint32_t value = 0; value < values_->values(); ++value) {
    const uint32_t group = values_->GroupOf(value);
    counts[group] += counts_[value];
    for (size_t column = 0; column < columns_.size(); ++column) {
      ColumnSum& sum = sums[group * columns_.size() + column];
      const ColumnSum& more = sums_[value * columns_.size() + column];
      if (sum.count == 0) {
        sum = more;
      } else {
        sum.Merge(more);
        depends_on_order = depends_on_order || sum.DependsOnOrder();
      }
    }
  }
  if (depends_on_order) {
    std::fill(counts.begin(), counts.end(), 0);
    std::fill(sums.begin(), sums.end(), ColumnSum());
  }
  counts_ = std::move(counts);
  sums_ = std::move(sums);
  return depends_on_order;
}

}  // namespace kprof
