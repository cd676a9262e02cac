#include "storage/trace_sql/scan/grouped_events.h"

#include <sqlite3.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "storage/base/memory_charge.h"

namespace kprof {
namespace {

// Of the pieces of texts that are compared at once.
constexpr size_t kPiecesBytes = 8 << 20;
constexpr size_t kFirstPiece = 64;
constexpr size_t kShortestPiece = 32;
constexpr size_t kLongestPiece = 64 << 10;
constexpr size_t kReadPerClockReading = 256;

// Those that are alike in their first bytes.
struct Stretch {
  size_t begin = 0;
  size_t end = 0;
  size_t known = 0;  // bytes
};

class Sorting {
 public:
  explicit Sorting(std::vector<TextPlace>& texts) : texts_(texts), is_same_(texts.size()) {}

  Status Sort() {
    const auto texts =
        std::stable_partition(texts_.begin(), texts_.end(), [](const TextPlace& text) { return text.is_none; });
    const auto none = static_cast<size_t>(texts - texts_.begin());
    for (size_t i = 1; i < none; ++i) is_same_[i] = true;
    left_.push_back({none, texts_.size(), 0});
    while (!left_.empty()) {
      const Stretch stretch = left_.back();
      left_.pop_back();
      if (stretch.end - stretch.begin > 1) RETURN_IF_ERROR(SortByPiece(stretch));
    }
    return OkStatus();
  }
  std::vector<bool> TakeSame() { return std::move(is_same_); }

 private:
  Status SortByPiece(const Stretch& stretch) {
    const size_t count = stretch.end - stretch.begin;
    // Most are told apart by their first bytes; of those that are not, more is looked at each time.
    const size_t most = std::clamp(kPiecesBytes / count, kShortestPiece, kLongestPiece);
    const size_t size = std::min(most, std::max(stretch.known, kFirstPiece));
    MemoryCharge charge(texts_[stretch.begin].part->terms().take_memory);
    RETURN_IF_ERROR(
        charge.Grow(static_cast<int64_t>(count * (size + sizeof(std::string_view) + sizeof(TextPlace) + 8))));
    std::vector<char> bytes(count * size);
    std::vector<std::string_view> pieces(count);
    std::vector<bool> goes_on(count);
    for (size_t i = 0; i < count; ++i) {
      OpenPart& part = *texts_[stretch.begin + i].part;
      if (i % kReadPerClockReading == 0) RETURN_IF_ERROR(part.CheckTime());
      ASSIGN_OR_RETURN(const PartText text, part.ReadText(texts_[stretch.begin + i].number));
      const std::string_view piece = text.view().substr(std::min(stretch.known, text.size), size);
      pieces[i] = {bytes.data() + i * size, piece.copy(bytes.data() + i * size, size)};
      goes_on[i] = text.size > stretch.known + size;
    }
    std::vector<uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0u);
    // One that is as long as its piece comes before those that go on behind the same.
    const auto key = [&](uint32_t i) { return std::pair(pieces[i], static_cast<bool>(goes_on[i])); };
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
    const std::vector<TextPlace> before(texts_.begin() + static_cast<ptrdiff_t>(stretch.begin),
                                        texts_.begin() + static_cast<ptrdiff_t>(stretch.end));
    for (size_t i = 0; i < count; ++i) texts_[stretch.begin + i] = before[order[i]];
    for (size_t first = 0; first < count;) {
      size_t end = first + 1;
      while (end < count && key(order[end]) == key(order[first])) ++end;
      if (goes_on[order[first]]) {
        left_.push_back({stretch.begin + first, stretch.begin + end, stretch.known + size});
      } else {
        for (size_t i = first + 1; i < end; ++i) is_same_[stretch.begin + i] = true;
      }
      first = end;
    }
    return OkStatus();
  }

  std::vector<TextPlace>& texts_;
  std::vector<bool> is_same_;
  std::vector<Stretch> left_;
};

}  // namespace

Result<std::vector<bool>> SortTexts(std::vector<TextPlace>& texts) {
  Sorting sorting(texts);
  RETURN_IF_ERROR(sorting.Sort());
  return sorting.TakeSame();
}

namespace {

constexpr int64_t kValueBytes = 64;

}  // namespace

Result<const int64_t*> ValueGroups::NumbersIn(SegmentView& view) const {
  switch (by_) {
    case GroupedBy::kRun:
    case GroupedBy::kPart:
      return nullptr;
    case GroupedBy::kTrack:
      return view.Column(EventColumn::kTrack);
    case GroupedBy::kName:
      return view.Column(EventColumn::kName);
    default:
      return view.Column(EventColumn::kCategory);
  }
}

Result<uint32_t> ValueGroups::ValueOf(SegmentView& view, uint32_t row) {
  ASSIGN_OR_RETURN(const int64_t* numbers, NumbersIn(view));
  return ValueOf(view.part(), numbers == nullptr ? 0 : numbers[row]);
}

Result<uint32_t> ValueGroups::ValueOf(OpenPart& part, int64_t number) {
  const auto part_at = static_cast<size_t>(part.number());
  const size_t page_at = static_cast<uint64_t>(number) / kPage;
  if (part_at < pages_.size() && page_at < pages_[part_at].size() && pages_[part_at][page_at] != nullptr) {
    const uint32_t seen = (*pages_[part_at][page_at])[static_cast<uint64_t>(number) % kPage];
    if (seen != 0) return seen - 1;
  }
  return See(part, number);
}

Status ValueGroups::ValuesOf(SegmentView& view, const uint32_t* rows, uint32_t count, uint32_t* values) {
  OpenPart& part = view.part();
  const auto part_at = static_cast<size_t>(part.number());
  ASSIGN_OR_RETURN(const int64_t* numbers, NumbersIn(view));
  if (count == 0) return OkStatus();
  if (numbers == nullptr) {
    ASSIGN_OR_RETURN(const uint32_t value, ValueOf(view, 0));
    std::fill(values, values + count, value);
    return OkStatus();
  }
  if (part_at >= pages_.size()) pages_.resize(part_at + 1);
  int64_t last = ~numbers[rows == nullptr ? 0 : rows[0]];
  uint32_t last_value = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const int64_t number = numbers[rows == nullptr ? i : rows[i]];
    if (number != last) {
      const auto& pages = pages_[part_at];
      const size_t page_at = static_cast<uint64_t>(number) / kPage;
      const Page* page = page_at < pages.size() ? pages[page_at].get() : nullptr;
      const uint32_t seen = page == nullptr ? 0 : (*page)[static_cast<uint64_t>(number) % kPage];
      if (seen != 0) {
        last_value = seen - 1;
      } else {
        ASSIGN_OR_RETURN(last_value, See(part, number));
      }
      last = number;
    }
    values[i] = last_value;
  }
  return OkStatus();
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

namespace {

constexpr uint64_t kFewestRows = 64;

}  // namespace

GroupedEvents::GroupedEvents(GroupedBy by, const TraceScan::Order& order, size_t values, const TakeMemory& take_memory,
                             size_t window_bytes)
    : one_each_(order.one_each),
      is_descending_(order.is_descending),
      width_(1 + values),
      window_bytes_(window_bytes),
      groups_(by, take_memory) {}

GroupedEvents::~GroupedEvents() {
  sqlite3_free(rows_);
}

Status GroupedEvents::Count(SegmentView& view, uint32_t row) {
  ASSIGN_OR_RETURN(const uint32_t value, groups_.ValueOf(view, row));
  if (value >= counts_.size()) counts_.resize(groups_.values());
  ++counts_[value];
  return OkStatus();
}

Status GroupedEvents::Order() {
  RETURN_IF_ERROR(groups_.Order(is_descending_));
  begins_.assign(groups_.groups() + 1, 0);
  for (uint32_t value = 0; value < counts_.size(); ++value) {
    begins_[groups_.GroupOf(value) + 1] += one_each_ ? 0 : counts_[value];
  }
  for (size_t group = 0; group < groups_.groups(); ++group) {
    begins_[group + 1] = one_each_ ? group + 1 : begins_[group + 1] + begins_[group];
  }
  size_ = begins_.back();
  return OkStatus();
}

Status GroupedEvents::BeginWindow() {
  const size_t row_bytes = width_ * sizeof(int64_t);
  if (rows_ == nullptr) {
    room_ = std::min<uint64_t>(size_, std::max<uint64_t>(window_bytes_ / row_bytes, kFewestRows));
    while ((rows_ = static_cast<int64_t*>(sqlite3_malloc64(room_ * row_bytes))) == nullptr) {
      if (room_ <= kFewestRows) {
        return Fail(ErrorCode::kUsage, "bring rows together", "they take more memory than a query may have",
                    "ask about a shorter time, or fewer rows");
      }
      room_ /= 2;
    }
  }
  window_begin_ = at_;
  window_end_ = std::min(size_, at_ + room_);
  placed_ = 0;
  next_ = begins_;
  segments_.clear();
  return OkStatus();
}

Result<int64_t*> GroupedEvents::Put(SegmentView& view, uint32_t row) {
  ASSIGN_OR_RETURN(const uint32_t value, groups_.ValueOf(view, row));
  const uint32_t group = groups_.GroupOf(value);
  const uint64_t place = next_[group]++;
  if (place < window_begin_ || place >= window_end_) return nullptr;
  // More rows of a group than were counted: those of the part are not the same any more.
  if (place >= begins_[group + 1]) return view.part().Broken("its rows change while they are read");
  if (segments_.empty() || segments_.back().second != &view.segment()) {
    segments_.emplace_back(&view.part(), &view.segment());
  }
  ++placed_;
  int64_t* to = rows_ + (place - window_begin_) * width_;
  *to = static_cast<int64_t>(static_cast<uint64_t>(segments_.size() - 1) << 32 | row);
  return to + 1;
}

}  // namespace kprof
