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

}  // namespace kprof
