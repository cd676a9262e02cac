#include "storage/trace_sql/parts/segment_view.h"

#include <string>

namespace kprof {

Result<const int64_t*> SegmentView::Load(EventColumn column) {
  RETURN_IF_ERROR(part_->CheckTime());
  ASSIGN_OR_RETURN(columns_[IndexOf(column)], part_->Read(*segment_, column));
  return columns_[IndexOf(column)]->data();
}

Status SegmentView::CountShapes() {
  ASSIGN_OR_RETURN(const int64_t* shapes, Column(EventColumn::kShape));
  const auto known = static_cast<int64_t>(part_->facts().shapes().size());
  std::vector<uint32_t> next(static_cast<size_t>(known));
  among_shape_.resize(rows());
  for (uint32_t row = 0; row < rows(); ++row) {
    if (shapes[row] < 0 || shapes[row] >= known) {
      among_shape_.clear();
      return part_->Broken("segment " + std::to_string(segment_->id) + " has rows of shape " +
                           std::to_string(shapes[row]) + ", of which there is none");
    }
    among_shape_[row] = next[static_cast<size_t>(shapes[row])]++;
  }
  args_.resize(static_cast<size_t>(known));
  return OkStatus();
}

Result<uint32_t> SegmentView::Shape(uint32_t row) {
  if (among_shape_.empty()) RETURN_IF_ERROR(CountShapes());
  ASSIGN_OR_RETURN(const int64_t* shapes, Column(EventColumn::kShape));
  return static_cast<uint32_t>(shapes[row]);
}

Result<int64_t> SegmentView::Arg(uint32_t row, uint32_t shape, uint32_t slot) {
  std::vector<DecodedColumn>& columns = args_[shape];
  if (columns.empty()) columns.resize(part_->facts().shapes()[shape].size());
  DecodedColumn& column = columns[slot];
  if (column == nullptr) {
    RETURN_IF_ERROR(part_->CheckTime());
    ASSIGN_OR_RETURN(column, part_->ReadArg(*segment_, shape, slot));
  }
  if (among_shape_[row] >= column->size()) {
    return part_->Broken("segment " + std::to_string(segment_->id) + " has " + std::to_string(column->size()) +
                         " values in slot " + std::to_string(slot) + " of shape " + std::to_string(shape) +
                         " and more rows of it");
  }
  return (*column)[among_shape_[row]];
}

}  // namespace kprof
