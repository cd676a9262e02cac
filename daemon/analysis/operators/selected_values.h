// The values of a column in rows that were selected. Where they are few and all of rare categories (row_indexes.h),
// the values of those rows are kept by themselves: so the next question about kernels among a hundred million Python
// frames decodes nothing, where all columns together have no place in the cache.
//
// On the reader's thread. Fails as reading the column does.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/analysis/operators/part_filter.h"
#include "storage/base/status.h"
#include "storage/trace/format/trace_model.h"
#include "storage/trace/read/part_reader.h"

namespace kprof {

// In the order of the rows.
Status GatherValues(PartReader& reader, const Segment& segment, EventColumn column, const RowSelection& selection,
                    std::vector<int64_t>& values);

}  // namespace kprof
