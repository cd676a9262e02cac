// Slices of a part as unions of intervals, group by group of tracks, in the order of time: what busy_time.h is made of.
//
// On the reader's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "daemon/analysis/operators/event_filter.h"
#include "daemon/analysis/operators/interval_sweep.h"
#include "daemon/analysis/operators/trace_part.h"
#include "storage/base/status.h"

namespace kprof {

// What of each filter a group has within a stretch of time; stretches follow each other.
using SeeStretch =
    std::function<void(uint32_t group, std::span<const std::vector<Interval>> pieces, std::span<const int64_t> slices)>;

// `groups` has the group of each track.
Status SweepSlices(const TracePart& part, std::span<const EventFilter> filters, std::span<const uint32_t> groups,
                   const StopSignal& stop, const SeeStretch& see);

}  // namespace kprof
