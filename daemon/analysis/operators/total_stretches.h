// The stretches of a part's slices of which there are totals (slice_totals.h): a question that asks for
// all slices of one asks its totals instead, which are rows of a segment with tracks, names and categories like the
// slices themselves.
//
// On the reader's thread. Costs a look at the totals' rows once, then what is known of them is kept in the reader's
// cache. Fails with kStorageBroken where totals are not those of whole segments of slices.
#pragma once

#include <cstddef>
#include <vector>

#include "storage/base/status.h"
#include "storage/trace/read/part_reader.h"

namespace kprof {

struct SlicesWithTotals {
  const Segment* totals = nullptr;  // of the reader's; it says the times of all the slices
  size_t first = 0;                 // of the part's segments of slices, from `first` to before `end`
  size_t end = 0;
};

// In the order of their slices; no two have the same ones.
Result<std::vector<SlicesWithTotals>> FindSlicesWithTotals(PartReader& reader);

}  // namespace kprof
