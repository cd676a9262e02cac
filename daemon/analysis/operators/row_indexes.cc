#include "daemon/analysis/operators/row_indexes.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace kprof {
namespace {

Result<std::vector<int64_t>> Find(PartReader& reader, const Segment& segment) {
  ASSIGN_OR_RETURN(const DecodedColumn column, reader.ReadOnce(segment, EventColumn::kTrack));
  const std::vector<int64_t>& tracks = *column;
  std::vector<int64_t> packed;
  for (size_t first = 0; first < tracks.size();) {
    const int64_t track = tracks[first];
    if (track < 0 || track >= static_cast<int64_t>(reader.tracks().size())) {
      return reader.Broken("segment " + std::to_string(segment.id) + " has rows of track " + std::to_string(track) +
                           ", which is none");
    }
    size_t end = first + 1;
    while (end < tracks.size() && tracks[end] == track) ++end;
    packed.push_back(track);
    packed.push_back(static_cast<int64_t>(first << 32 | end));
    first = end;
  }
  return packed;
}

}  // namespace

Result<TrackRuns> TrackRuns::Read(PartReader& reader, const Segment& segment) {
  ASSIGN_OR_RETURN(DecodedColumn packed,
                   reader.ReadDerived(segment, kTrackRunsColumn, [&] { return Find(reader, segment); }));
  return TrackRuns(std::move(packed));
}

namespace {

// Of more rows than one in so many the whole column is read.
constexpr size_t kFewShare = 4;

// All rows of rare categories, in order.
Result<DecodedColumn> ReadRareRows(PartReader& reader, const Segment& segment) {
  return reader.ReadDerived(segment, kRareRowsColumn, [&]() -> Result<std::vector<int64_t>> {
    ASSIGN_OR_RETURN(const std::optional<CategoryRows> categories, CategoryRows::Read(reader, segment));
    std::vector<uint32_t> rows;
    for (size_t i = 0; categories && i < categories->size(); ++i) {
      if ((*categories)[i].is_rare) categories->AppendRows(i, rows);
    }
    std::sort(rows.begin(), rows.end());
    return std::vector<int64_t>(rows.begin(), rows.end());
  });
}

// The places of rows among the rare ones; nothing where one is not.
bool FindPlaces(const std::vector<int64_t>& rare, const std::vector<uint32_t>& rows, std::vector<int64_t>& places) {
  if (rows.size() > rare.size()) return false;
  places.resize(rows.size());
  size_t at = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    while (at < rare.size() && rare[at] < int64_t{rows[i]}) ++at;
    if (at == rare.size() || rare[at] != int64_t{rows[i]}) return false;
    places[i] = static_cast<int64_t>(at);
  }
  return true;
}

}  // namespace

Status GatherValues(PartReader& reader, const Segment& segment, EventColumn column, const RowSelection& selection,
                    std::vector<int64_t>& values) {
  if (selection.all) {
    ASSIGN_OR_RETURN(const DecodedColumn all, reader.Read(segment, column));
    values.assign(all->begin(), all->end());
    return OkStatus();
  }
  if (selection.rows.size() * kFewShare <= segment.rows) {
    ASSIGN_OR_RETURN(const DecodedColumn rare, ReadRareRows(reader, segment));
    if (FindPlaces(*rare, selection.rows, values)) {
      const uint32_t number = kRareValuesColumns + static_cast<uint32_t>(column);
      ASSIGN_OR_RETURN(const DecodedColumn kept,
                       reader.ReadDerived(segment, number, [&]() -> Result<std::vector<int64_t>> {
                         ASSIGN_OR_RETURN(const DecodedColumn all, reader.ReadOnce(segment, column));
                         std::vector<int64_t> of_rare;
                         of_rare.reserve(rare->size());
                         for (const int64_t row : *rare) of_rare.push_back((*all)[static_cast<size_t>(row)]);
                         return of_rare;
                       }));
      for (int64_t& value : values) value = (*kept)[static_cast<size_t>(value)];
      return OkStatus();
    }
  }
  ASSIGN_OR_RETURN(const DecodedColumn all, reader.Read(segment, column));
  values.resize(selection.rows.size());
  for (size_t i = 0; i < values.size(); ++i) values[i] = (*all)[selection.rows[i]];
  return OkStatus();
}

namespace {

constexpr size_t kMostCategories = 256;
constexpr int64_t kRareShare = 8;  // at most one row in so many is of a rare one
constexpr int64_t kNotKept = -1;
constexpr size_t kFields = 3;

struct Found {
  int64_t number = 0;
  int64_t count = 0;
  bool is_rare = false;
  std::vector<uint32_t> rows;
};

// Where the category is, among those in the order of their numbers, or would be.
size_t PlaceOf(const std::vector<Found>& found, int64_t number) {
  const auto at = std::lower_bound(found.begin(), found.end(), number,
                                   [](const Found& one, int64_t value) { return one.number < value; });
  return static_cast<size_t>(at - found.begin());
}

// For each run of rows of one category.
template <typename OnRun>
void ForEachRun(const std::vector<int64_t>& categories, const OnRun& on_run) {
  for (size_t first = 0; first < categories.size();) {
    size_t end = first + 1;
    while (end < categories.size() && categories[end] == categories[first]) ++end;
    if (!on_run(categories[first], first, end)) return;
    first = end;
  }
}

std::vector<int64_t> Pack(const std::vector<Found>& found) {
  std::vector<int64_t> packed = {static_cast<int64_t>(found.size())};
  packed.resize(1 + kFields * found.size());
  for (size_t i = 0; i < found.size(); ++i) {
    int64_t* fields = packed.data() + 1 + kFields * i;
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

Result<std::vector<int64_t>> Make(PartReader& reader, const Segment& segment) {
  ASSIGN_OR_RETURN(const DecodedColumn column, reader.ReadOnce(segment, EventColumn::kCategory));
  std::vector<Found> found;
  ForEachRun(*column, [&](int64_t number, size_t first, size_t end) {
    const size_t at = PlaceOf(found, number);
    if (at == found.size() || found[at].number != number) {
      found.insert(found.begin() + static_cast<ptrdiff_t>(at), Found{.number = number});
    }
    found[at].count += static_cast<int64_t>(end - first);
    return found.size() <= kMostCategories;
  });
  if (found.size() > kMostCategories) return std::vector<int64_t>{0};
  for (Found& one : found) one.is_rare = one.count * kRareShare <= int64_t{segment.rows};
  ForEachRun(*column, [&](int64_t number, size_t first, size_t end) {
    Found& one = found[PlaceOf(found, number)];
    for (size_t row = first; row < end && one.is_rare; ++row) one.rows.push_back(static_cast<uint32_t>(row));
    return true;
  });
  return Pack(found);
}

}  // namespace

Result<std::optional<CategoryRows>> CategoryRows::Read(PartReader& reader, const Segment& segment) {
  ASSIGN_OR_RETURN(const std::optional<ColumnBounds> bounds, reader.ReadBounds(segment, EventColumn::kCategory));
  if (!bounds) return std::optional<CategoryRows>();
  ASSIGN_OR_RETURN(DecodedColumn packed,
                   reader.ReadDerived(segment, kCategoriesColumn, [&] { return Make(reader, segment); }));
  if ((*packed)[0] == 0) return std::optional<CategoryRows>();
  return std::optional(CategoryRows(std::move(packed)));
}

CategoryRows::Category CategoryRows::operator[](size_t i) const {
  const int64_t* fields = packed_->data() + 1 + kFields * i;
  return {fields[0], fields[1], fields[2] != kNotKept};
}

void CategoryRows::AppendRows(size_t i, std::vector<uint32_t>& rows) const {
  const int64_t* fields = packed_->data() + 1 + kFields * i;
  const int64_t* from = packed_->data() + fields[2];
  for (int64_t at = 0; at < fields[1]; ++at) {
    rows.push_back(static_cast<uint32_t>(static_cast<uint64_t>(from[at / 2]) >> (at % 2 * 32)));
  }
}

}  // namespace kprof
