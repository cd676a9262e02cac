// The categories of a segment and the rows of its rare ones, kept in the reader's cache beside its columns. It answers
// "how many of each" and "where are the kernels" without a look at all rows.
//
// On the reader's thread.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "storage/base/status.h"
#include "storage/trace/read/part_reader.h"

namespace kprof {

// Numbers for PartReader::ReadDerived, for all that storage keeps beside the columns of segments. Operators use those
// below (daemon/analysis/operators/row_indexes.h).
constexpr uint32_t kCategoriesColumn = PartReader::kFirstDerived + 256;  // CategoryRows
constexpr uint32_t kFlowPairsColumn = PartReader::kFirstDerived + 257;   // trace_sql/parts/flow_pairs.cc
constexpr uint32_t kAmongShapeColumn = PartReader::kFirstDerived + 258;  // trace_sql/parts/open_part.cc

// The categories of a segment, the number of rows of each, and the rows of the rare ones. Categories are few, and most
// questions are about a rare one (the kernels among a million Python frames): so its rows are found, or counted,
// without a pass over all rows. Costs two passes over the category column once. The reader's cache keeps four bytes for
// each row of a rare category, and a little for each category.
class CategoryRows {
 public:
  // Nothing: the segment has no categories, or too many for this. Numbers of categories are not checked.
  static Result<std::optional<CategoryRows>> Read(PartReader& reader, const Segment& segment);

  struct Category {
    int64_t number = 0;
    int64_t rows = 0;
    bool is_rare = false;
  };
  size_t size() const { return static_cast<size_t>((*packed_)[0]); }
  // By their numbers.
  Category operator[](size_t i) const;
  // Appends the rows of a category, in order. REQUIRES: it is rare.
  void AppendRows(size_t i, std::vector<uint32_t>& rows) const;

 private:
  explicit CategoryRows(DecodedColumn packed) : packed_(std::move(packed)) {}
  DecodedColumn packed_;  // how many; of each its number, its rows, and where they begin or -1; then rows, two by two
};

}  // namespace kprof
