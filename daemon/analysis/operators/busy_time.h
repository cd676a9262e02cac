// Busy times: the union of slices on each track, on each device, or on all together; the gaps between; and the time in
// which two kinds of work go on at once. A time range in a filter also cuts slices that reach beyond it.
//
// On the readers' thread. Costs a pass over the columns that the filter needs, and over times and durations of the
// slices that it selects. Memory: the slices that overlap in time; all intervals of a part whose segments all overlap.
// Fails with kStorageBroken, kCancelled.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/analysis/operators/event_filter.h"
#include "daemon/analysis/operators/interval_sweep.h"
#include "daemon/analysis/operators/trace_part.h"
#include "storage/base/status.h"

namespace kprof {

enum class BusyBy : uint8_t { kAll, kTrackKind, kDevice, kStream, kTrack };  // kStream: of each device

// The owner of a busy time. Parts are never put together: their clocks differ.
struct BusyGroup {
  size_t part = 0;  // its place among those asked
  std::optional<int64_t> rank;
  std::string track_kind;         // kTrackKind, kTrack
  std::optional<int64_t> device;  // kDevice, kStream, kTrack
  std::optional<int64_t> stream;  // kStream, kTrack
  std::optional<uint32_t> track;  // kTrack
};

struct BusyTime {
  BusyGroup group;
  int64_t slices = 0;  // also those without a length or an end, which fill no time
  int64_t busy_ns = 0;
  int64_t first_ns = 0;  // the begin of the first and the end of the last slice that fills time
  int64_t last_ns = 0;
  int64_t gaps = 0;                    // between slices
  std::vector<Interval> longest_gaps;  // in the order of time
};

struct BusyRequest {
  EventFilter filter;
  BusyBy by = BusyBy::kTrack;
  size_t most_gaps = 0;
};

// All groups with slices, in the order of their parts, and of their first tracks.
Result<std::vector<BusyTime>> FindBusyTimes(TraceParts parts, const BusyRequest& request, const StopSignal& stop);

struct OverlapTime {
  BusyGroup group;
  int64_t one_ns = 0;
  int64_t other_ns = 0;
  int64_t both_ns = 0;
};

struct OverlapRequest {
  EventFilter one;
  EventFilter other;
  BusyBy by = BusyBy::kAll;
};

// All groups with slices of either kind.
Result<std::vector<OverlapTime>> FindOverlaps(TraceParts parts, const OverlapRequest& request, const StopSignal& stop);

}  // namespace kprof
