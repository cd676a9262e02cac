// Events of one kind in memory, column by column, in no order: what a reader fills, and segments are made of.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "storage/trace/format/arg_shape.h"
#include "storage/trace/format/trace_model.h"

namespace kprof {

struct EventRows {
  // By IndexOf(column); what the kind does not have is empty, all others are of one size.
  std::array<std::vector<int64_t>, kEventColumns> columns;
  // By shape, by slot: the values of the rows of that shape, in their order. Empty for slots without a column.
  std::vector<std::vector<std::vector<int64_t>>> args;

  std::vector<int64_t>& of(EventColumn column) { return columns[IndexOf(column)]; }
  const std::vector<int64_t>& of(EventColumn column) const { return columns[IndexOf(column)]; }
  size_t size() const { return of(EventColumn::kTime).size(); }
};

}  // namespace kprof
