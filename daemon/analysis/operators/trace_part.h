// What questions are asked of: the parts of a run, each with the rank that it is of. Times are those of each part, from
// its own base: parts of different clocks are never put on one line here.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "daemon/analysis/operators/stop_signal.h"
#include "storage/base/status.h"
#include "storage/trace/read/part_reader.h"

namespace kprof {

struct TracePart {
  PartReader* reader = nullptr;  // outlives the question; used by its thread alone
  std::optional<int64_t> rank;
  // Null, or by a track's number whether events on it are asked of; outlives the question. Beside what a filter says.
  const std::vector<uint8_t>* tracks = nullptr;
};
using TraceParts = std::span<const TracePart>;

// With the rank that the part itself says it is of.
inline TracePart PartOf(PartReader& reader) {
  return {&reader, reader.IntegerFact("rank")};
}

// Asked for each segment: kCancelled when nobody waits for the answer any more.
inline Status StillWanted(const StopSignal& stop) {
  if (!stop.IsGiven()) return OkStatus();
  return Fail(ErrorCode::kCancelled, "ask a trace", "it was cancelled");
}

}  // namespace kprof
