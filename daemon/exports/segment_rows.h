// The rows of a segment one by one, with their arguments. Its columns are in memory as long as this lives.
//
// One thread. Checks the part: numbers of tracks and shapes that are not there fail with kStorageBroken.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "storage/base/status.h"
#include "storage/trace/format/event_args.h"
#include "storage/trace/read/part_reader.h"

namespace kprof {

class SegmentRows {
 public:
  // The part must outlive it. `with_args`: Args will be called.
  static Result<SegmentRows> Read(PartReader& part, const Segment& segment, bool with_args = true);

  size_t size() const { return rows_; }
  // kNoValue: the segment has no such column.
  int64_t Of(EventColumn column, size_t row) const {
    const DecodedColumn& values = columns_[IndexOf(column)];
    return values == nullptr ? kNoValue : (*values)[row];
  }
  uint32_t track(size_t row) const { return static_cast<uint32_t>(Of(EventColumn::kTrack, row)); }
  uint32_t shape(size_t row) const {
    return columns_[IndexOf(EventColumn::kShape)] == nullptr ? kNoArgs
                                                             : static_cast<uint32_t>(Of(EventColumn::kShape, row));
  }

  struct Arg {
    ArgSlot slot;
    int64_t value = kNoValue;  // for types with a column; a correlation's is the event's
  };
  // The arguments in the order of their slots. Valid until the next call.
  std::span<const Arg> Args(size_t row);

 private:
  Status ReadColumns(PartReader& part, const Segment& segment);
  Status ReadArgs(PartReader& part, const Segment& segment);

  size_t rows_ = 0;
  std::array<DecodedColumn, kEventColumns> columns_;
  struct OfShape {
    uint32_t rows = 0;
    const ArgShape* shape = nullptr;
    std::vector<DecodedColumn> slots;
  };
  std::map<uint32_t, OfShape> shapes_;
  std::vector<uint32_t> arg_rows_;  // of each row: its number among the rows of its shape
  std::vector<Arg> args_;
};

}  // namespace kprof
