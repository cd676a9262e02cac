// What questions are asked of: the parts of a run, each with the rank that it is of. Times are those of each part, from
// its own base: parts of different clocks are never put on one line here.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>

#include "storage/base/status.h"
#include "storage/trace/part_reader.h"

namespace kprof {

struct TracePart {
  PartReader* reader = nullptr;  // outlives the question; used by its thread alone
  std::optional<int64_t> rank;
};
using TraceParts = std::span<const TracePart>;

// With the rank that the part itself says it is of.
inline TracePart PartOf(PartReader& reader) {
  return {&reader, reader.IntegerFact("rank")};
}

// Asked for each segment: kCancelled when nobody waits for the answer any more.
inline Status StillWanted(const std::stop_token& stop) {
  if (!stop.stop_requested()) return OkStatus();
  return Fail(ErrorCode::kCancelled, "ask a trace", "it was cancelled");
}

}  // namespace kprof
