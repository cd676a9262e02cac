#include "storage/trace/read/category_rows.h"

#include <algorithm>
#include <utility>

namespace kprof {
namespace {

constexpr size_t kMostCategories = 256;
constexpr int64_t kRareShare = 8;  // at most one row in so many is of a rare one
constexpr int64_t kNotKept = -1;
constexpr size_t kCategoryFields = 3;

struct FoundCategory {
  int64_t number = 0;
  int64_t count = 0;
  bool is_rare = false;
  std::vector<uint32_t> rows;
};

// Where the category is, among those in the order of their numbers, or would be.
size_t PlaceOfCategory(const std::vector<FoundCategory>& found, int64_t number) {
  const auto at = std::lower_bound(found.begin(), found.end(), number,
                                   [](const FoundCategory& one, int64_t value) { return one.number < value; });
  return static_cast<size_t>(at - found.begin());
}

// For each run of rows of one category.
template <typename OnRun>
void ForEachCategoryRun(const std::vector<int64_t>& categories, const OnRun& on_run) {
  for (size_t first = 0; first < categories.size();) {
    size_t end = first + 1;
    while (end < categories.size() && categories[end] == categories[first]) ++end;
    if (!on_run(categories[first], first, end)) return;
    first = end;
  }
}

std::vector<int64_t> PackCategories(const std::vector<FoundCategory>& found) {
  std::vector<int64_t> packed = {static_cast<int64_t>(found.size())};
  packed.resize(1 + kCategoryFields * found.size());
  for (size_t i = 0; i < found.size(); ++i) {
    int64_t* fields = packed.data() + 1 + kCategoryFields * i;
    fields[0] = found[i].number;
    fields[1] = found[i].count;
    fields[2] = found[i].is_rare ? static_cast<int64_t>(packed.size()) : kNotKept;
    for (size_t at = 0; at < found[i].rows.size(); at += 2) {
      const int64_t second = at + 1 < found[i].rows.size() ? found[i].rows[at + 1] : 0;
      packed.push_back(int64_t{found[i].rows[at]} | second << 32);
    }
  }
  return packed;
}

Result<std::vector<int64_t>> MakeCategories(PartReader& reader, const Segment& segment) {
  ASSIGN_OR_RETURN(const DecodedColumn column, reader.ReadOnce(segment, EventColumn::kCategory));
  std::vector<FoundCategory> found;
  ForEachCategoryRun(*column, [&](int64_t number, size_t first, size_t end) {
    const size_t at = PlaceOfCategory(found, number);
    if (at == found.size() || found[at].number != number) {
      found.insert(found.begin() + static_cast<ptrdiff_t>(at), FoundCategory{.number = number});
    }
    found[at].count += static_cast<int64_t>(end - first);
    return found.size() <= kMostCategories;
  });
  if (found.size() > kMostCategories) return std::vector<int64_t>{0};
  for (FoundCategory& one : found) one.is_rare = one.count * kRareShare <= int64_t{segment.rows};
  ForEachCategoryRun(*column, [&](int64_t number, size_t first, size_t end) {
    FoundCategory& one = found[PlaceOfCategory(found, number)];
    for (size_t row = first; row < end && one.is_rare; ++row) one.rows.push_back(static_cast<uint32_t>(row));
    return true;
  });
  return PackCategories(found);
}

}  // namespace

Result<std::optional<CategoryRows>> CategoryRows::Read(PartReader& reader, const Segment& segment) {
  ASSIGN_OR_RETURN(const std::optional<ColumnBounds> bounds, reader.ReadBounds(segment, EventColumn::kCategory));
  if (!bounds) return std::optional<CategoryRows>();
  ASSIGN_OR_RETURN(DecodedColumn packed,
                   reader.ReadDerived(segment, kCategoriesColumn, [&] { return MakeCategories(reader, segment); }));
  if ((*packed)[0] == 0) return std::optional<CategoryRows>();
  return std::optional(CategoryRows(std::move(packed)));
}

CategoryRows::Category CategoryRows::operator[](size_t i) const {
  const int64_t* fields = packed_->data() + 1 + kCategoryFields * i;
  return {fields[0], fields[1], fields[2] != kNotKept};
}

void CategoryRows::AppendRows(size_t i, std::vector<uint32_t>& rows) const {
  const int64_t* fields = packed_->data() + 1 + kCategoryFields * i;
  const int64_t* from = packed_->data() + fields[2];
  for (int64_t at = 0; at < fields[1]; ++at) {
    rows.push_back(static_cast<uint32_t>(static_cast<uint64_t>(from[at / 2]) >> (at % 2 * 32)));
  }
}

}  // namespace kprof
