// A part of a trace that is exported, and which rank it is.
#pragma once

#include <cstdint>
#include <optional>

#include "storage/trace/read/part_reader.h"

namespace kprof {

struct ExportPart {
  PartReader* reader = nullptr;  // borrowed
  // As its run has it: of several sources that say nothing, their names or their order decide. Absent: as it says
  // itself.
  std::optional<int64_t> known_rank = {};

  std::optional<int64_t> rank() const { return known_rank ? known_rank : reader->IntegerFact("rank"); }
};

}  // namespace kprof
