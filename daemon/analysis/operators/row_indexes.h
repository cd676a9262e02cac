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

#include "storage/base/status.h"
#include "storage/trace/read/part_reader.h"

namespace kprof {

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
