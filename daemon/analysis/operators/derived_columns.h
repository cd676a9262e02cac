// What this room keeps beside the columns of segments: the numbers for PartReader::ReadDerived.
#pragma once

#include <cstdint>

#include "storage/trace/read/part_reader.h"

namespace kprof {

constexpr uint32_t kTrackRunsColumn = PartReader::kFirstDerived;
constexpr uint32_t kOutlastingColumn = PartReader::kFirstDerived + 1;    // outlasting_rows.h
constexpr uint32_t kCategoriesColumn = PartReader::kFirstDerived + 2;    // row_indexes.h
constexpr uint32_t kRareRowsColumn = PartReader::kFirstDerived + 3;      // selected_values.h
constexpr uint32_t kTotalRowsColumn = PartReader::kFirstDerived + 4;     // total_stretches.h
constexpr uint32_t kRareValuesColumns = PartReader::kFirstDerived + 16;  // the same; and the number of the column

}  // namespace kprof
