// The keys of functions about what was going on when: they are of each part by itself, as clocks of two parts differ.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/analysis/operators/busy_time.h"
#include "daemon/analysis/sql/keyed_rows.h"
#include "daemon/analysis/sql/trace_function.h"

namespace kprof {

struct BusyKey {
  BusyBy by = BusyBy::kTrack;
  std::vector<SliceField> fields;  // of the rows; the key is the first
};

// `argument`: which one is the key; where it is not given, `by_default`.
Result<BusyKey> ReadBusyKey(const FunctionCall& call, size_t argument, SliceField by_default);
// In the order of `fields`.
GroupKey ValuesOf(const BusyKey& key, const OpenPart& part, const BusyGroup& group);
// Whether rows by that key have that field.
bool HasBusyField(FunctionArguments arguments, size_t argument, SliceField by_default, SliceField field);

}  // namespace kprof
