// Of a segment: which categories it has, how many rows of each, and of the rare ones which rows. Categories are few,
// and what is asked for is mostly a rare one (the kernels among a million Python frames): so it is found, or counted,
// without a pass over all rows.
//
// On the reader's thread. Costs two passes over the category column once; what is kept of it in the reader's cache is
// four bytes for each row of a rare one, and a little for each category.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "daemon/analysis/operators/part_filter.h"
#include "storage/base/status.h"
#include "storage/trace/format/trace_model.h"
#include "storage/trace/read/part_reader.h"

namespace kprof {

// What this room keeps beside the columns of segments: the numbers for PartReader::ReadDerived.
constexpr uint32_t kTrackRunsColumn = PartReader::kFirstDerived;
constexpr uint32_t kOutlastingColumn = PartReader::kFirstDerived + 1;    // event_tiles.h
constexpr uint32_t kCategoriesColumn = PartReader::kFirstDerived + 2;    // row_indexes.h
constexpr uint32_t kRareRowsColumn = PartReader::kFirstDerived + 3;      // row_indexes.h
constexpr uint32_t kTotalRowsColumn = PartReader::kFirstDerived + 4;     // aggregate.h
constexpr uint32_t kRareValuesColumns = PartReader::kFirstDerived + 16;  // the same; and the number of the column

// Where the rows of each track stand in a segment: side by side, as segments are written; so what is asked of tracks is
// asked once for a run of rows and not for each.
//
// On the reader's thread. Costs a pass over the track column once, then it is kept in the reader's cache.
struct TrackRun {
  uint32_t track = 0;  // one of the reader's
  uint32_t first = 0;  // rows of the segment, from `first` to before `end`
  uint32_t end = 0;
};

class TrackRuns {
 public:
  // Fails with kStorageBroken where a row is on a track that the part does not have.
  static Result<TrackRuns> Read(PartReader& reader, const Segment& segment);

  size_t size() const { return packed_->size() / 2; }
  // In the order of their rows. In a part of ours each track has one; in a hostile one it may have many.
  TrackRun operator[](size_t i) const {
    const auto rows = static_cast<uint64_t>((*packed_)[2 * i + 1]);
    return {static_cast<uint32_t>((*packed_)[2 * i]), static_cast<uint32_t>(rows >> 32), static_cast<uint32_t>(rows)};
  }

 private:
  explicit TrackRuns(DecodedColumn packed) : packed_(std::move(packed)) {}
  DecodedColumn packed_;  // of each run: its track; its first row and its end
};

// The values of a column in rows that were selected. Where they are few and all of rare categories (row_indexes.h),
// the values of those rows are kept by themselves: so the next question about kernels among a hundred million Python
// frames decodes nothing, where all columns together have no place in the cache.
//
// On the reader's thread. Fails as reading the column does.

// In the order of the rows.
Status GatherValues(PartReader& reader, const Segment& segment, EventColumn column, const RowSelection& selection,
                    std::vector<int64_t>& values);

class CategoryRows {
 public:
  // Nothing where it has none, or more of them than this is good for. Numbers of categories are not checked.
  static Result<std::optional<CategoryRows>> Read(PartReader& reader, const Segment& segment);

  struct Category {
    int64_t number = 0;
    int64_t rows = 0;
    bool is_rare = false;
  };
  size_t size() const { return static_cast<size_t>((*packed_)[0]); }
  // By their numbers.
  Category operator[](size_t i) const;
  // In order. REQUIRES: that one is rare.
  void AppendRows(size_t i, std::vector<uint32_t>& rows) const;

 private:
  explicit CategoryRows(DecodedColumn packed) : packed_(std::move(packed)) {}
  DecodedColumn packed_;  // how many; of each its number, its rows, and where they begin or -1; then rows, two by two
};

}  // namespace kprof
