// How much of what differs a source may have, by the memory that its reader may have: where that is too little for what
// is promised (docs/import.md), a source that has more is refused for what it has too much of, and not for all at once.
//
// Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "storage/trace/format/part_schema.h"

namespace kprof {

constexpr int64_t kMemoryForAllLimits = int64_t{1} << 30;  // what each of them needs, no more than one of them reached

struct ReadingLimits {
  int64_t text_bytes = int64_t{192} << 20;  // of all different texts together
  size_t tracks = 1 << 20;
  size_t shapes = kMostShapes;              // kinds of argument lists
  int64_t event_bytes = int64_t{64} << 20;  // of one event; a larger one is skipped
  bool operator==(const ReadingLimits&) const = default;
};

ReadingLimits ReadingLimitsFor(int64_t memory_bytes);

}  // namespace kprof
