// Indexes of a segment's rows, which the reader's cache keeps beside its columns: the rows of each track (TrackRuns),
// and the values of rows of rare categories (GatherValues).
//
// On the reader's thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "daemon/analysis/operators/part_filter.h"
#include "storage/base/status.h"
#include "storage/trace/format/trace_model.h"
#include "storage/trace/read/category_rows.h"
#include "storage/trace/read/part_reader.h"

namespace kprof {

// Numbers for PartReader::ReadDerived, for all that this room keeps beside the columns of segments. Those of storage
// begin at kFirstDerived + 256 (trace/read/category_rows.h).
constexpr uint32_t kTrackRunsColumn = PartReader::kFirstDerived;
constexpr uint32_t kOutlastingColumn = PartReader::kFirstDerived + 1;    // event_tiles.h
constexpr uint32_t kRareRowsColumn = PartReader::kFirstDerived + 3;      // GatherValues
constexpr uint32_t kTotalRowsColumn = PartReader::kFirstDerived + 4;     // aggregate.h
constexpr uint32_t kRareValuesColumns = PartReader::kFirstDerived + 16;  // GatherValues; and the number of the column

// A run of rows of one track. Segments are written track by track: so a question about tracks is asked once for each
// run of rows, not for each row.
struct TrackRun {
  uint32_t track = 0;  // one of the reader's
  uint32_t first = 0;  // rows of the segment, from `first` to before `end`
  uint32_t end = 0;
};

// The runs of a segment. Costs a pass over the track column once, then they are kept in the reader's cache.
class TrackRuns {
 public:
  // Fails with kStorageBroken when a row is on a track that the part does not have.
  static Result<TrackRuns> Read(PartReader& reader, const Segment& segment);

  size_t size() const { return packed_->size() / 2; }
  // In the order of their rows. In a part of ours each track has one run; in a hostile part it may have many.
  TrackRun operator[](size_t i) const {
    const auto rows = static_cast<uint64_t>((*packed_)[2 * i + 1]);
    return {static_cast<uint32_t>((*packed_)[2 * i]), static_cast<uint32_t>(rows >> 32), static_cast<uint32_t>(rows)};
  }

 private:
  explicit TrackRuns(DecodedColumn packed) : packed_(std::move(packed)) {}
  DecodedColumn packed_;  // of each run: its track; its first row and its end
};

// The values of a column in the selected rows, in their order. If the rows are few and all of rare categories, the
// values of all rare rows are kept by themselves: so the next question about kernels among a hundred million Python
// frames decodes nothing, even if all columns together do not fit into the cache. Fails as reading the column does.
Status GatherValues(PartReader& reader, const Segment& segment, EventColumn column, const RowSelection& selection,
                    std::vector<int64_t>& values);

}  // namespace kprof
