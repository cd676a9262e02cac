// What this room keeps beside the columns of segments: the numbers for PartReader::ReadDerived.
#pragma once

#include <cstdint>

#include "storage/trace/part_reader.h"

namespace kprof {

constexpr uint32_t kTrackRunsColumn = PartReader::kFirstDerived;
constexpr uint32_t kCorrelationsColumn = PartReader::kFirstDerived + 1;  // correlation_index.h
constexpr uint32_t kOutlastingColumn = PartReader::kFirstDerived + 2;    // outlasting_rows.h
constexpr uint32_t kParentsColumn = PartReader::kFirstDerived + 3;       // slice_tree.h
constexpr uint32_t kCategoriesColumn = PartReader::kFirstDerived + 4;    // category_rows.h

}  // namespace kprof
