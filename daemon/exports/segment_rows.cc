#include "daemon/exports/segment_rows.h"

#include <optional>
#include <string>

namespace kprof {
namespace {

Status Broken(const PartReader& part, const Segment& segment, const std::string& what) {
  return Fail(ErrorCode::kStorageBroken, "read " + part.path(),
              "segment " + std::to_string(segment.id) + " names " + what + " that is not there");
}

}  // namespace

Result<SegmentRows> SegmentRows::Read(PartReader& part, const Segment& segment, bool with_args) {
  SegmentRows rows;
  rows.rows_ = segment.rows;
  RETURN_IF_ERROR(rows.ReadColumns(part, segment));
  if (with_args) RETURN_IF_ERROR(rows.ReadArgs(part, segment));
  return rows;
}

Status SegmentRows::ReadColumns(PartReader& part, const Segment& segment) {
  for (const EventColumn column : ColumnsOf(segment.kind)) {
    ASSIGN_OR_RETURN(columns_[IndexOf(column)], part.Read(segment, column));
  }
  if (segment.kind == EventKind::kSlice) {
    ASSIGN_OR_RETURN(const std::optional<ColumnBounds> depths, part.ReadBounds(segment, EventColumn::kDepth));
    if (depths) {
      ASSIGN_OR_RETURN(columns_[IndexOf(EventColumn::kDepth)], part.Read(segment, EventColumn::kDepth));
    }
  }
  const auto tracks = static_cast<int64_t>(part.tracks().size());
  for (const int64_t track : *columns_[IndexOf(EventColumn::kTrack)]) {
    if (track < 0 || track >= tracks) return Broken(part, segment, "track " + std::to_string(track));
  }
  return OkStatus();
}

Status SegmentRows::ReadArgs(PartReader& part, const Segment& segment) {
  if (columns_[IndexOf(EventColumn::kShape)] == nullptr) return OkStatus();
  const std::vector<int64_t>& shapes = *columns_[IndexOf(EventColumn::kShape)];
  arg_rows_.resize(shapes.size());
  for (size_t row = 0; row < shapes.size(); ++row) {
    if (shapes[row] < 0 || shapes[row] >= static_cast<int64_t>(part.shapes().size())) {
      return Broken(part, segment, "shape " + std::to_string(shapes[row]));
    }
    arg_rows_[row] = shapes_[static_cast<uint32_t>(shapes[row])].rows++;
  }
  for (auto& [number, of_shape] : shapes_) {
    of_shape.shape = &part.shapes()[number];
    of_shape.slots.resize(of_shape.shape->size());
    for (uint32_t slot = 0; slot < of_shape.slots.size(); ++slot) {
      if (!HasColumn((*of_shape.shape)[slot].type)) continue;
      ASSIGN_OR_RETURN(of_shape.slots[slot], part.ReadArg(segment, number, slot));
      if (of_shape.slots[slot]->size() != of_shape.rows) {
        return Broken(part, segment, "an argument of shape " + std::to_string(number));
      }
    }
  }
  return OkStatus();
}

std::span<const SegmentRows::Arg> SegmentRows::Args(size_t row) {
  args_.clear();
  const auto found = shapes_.find(shape(row));
  if (found == shapes_.end()) return args_;
  const OfShape& of_shape = found->second;
  for (size_t slot = 0; slot < of_shape.slots.size(); ++slot) {
    const ArgSlot& of = (*of_shape.shape)[slot];
    const int64_t value = of.type == ArgType::kCorrelation  ? Of(EventColumn::kCorrelation, row)
                          : of_shape.slots[slot] == nullptr ? kNoValue
                                                            : (*of_shape.slots[slot])[arg_rows_[row]];
    args_.push_back({of, value});
  }
  return args_;
}

}  // namespace kprof
