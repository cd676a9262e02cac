// What the conditions of a query leave of events: made of ScanConditions by their columns' meaning.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "storage/trace/format/trace_model.h"
#include "storage/trace_sql/scan/integer_filter.h"
#include "storage/trace_sql/scan/scan_conditions.h"

namespace kprof {

struct ScanFilter {
  TextFilter run;
  TextFilter part;   // its name
  IntegerFilter id;  // of SQL, as is the next one, the parent, and the correlation
  IntegerFilter track;
  IntegerFilter parent;
  // By IndexOf(column): time, duration, depth, correlation.
  std::array<IntegerFilter, kEventColumns> values;
  // Name and category.
  std::array<TextFilter, kEventColumns> texts;

  IntegerFilter& of(EventColumn column) { return values[IndexOf(column)]; }
  const IntegerFilter& of(EventColumn column) const { return values[IndexOf(column)]; }
  TextFilter& text(EventColumn column) { return texts[IndexOf(column)]; }
  const TextFilter& text(EventColumn column) const { return texts[IndexOf(column)]; }
};

}  // namespace kprof
