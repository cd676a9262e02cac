// What a call draws that is made for so many pixels: which stretch of each part's time, and which tracks.
#pragma once

#include <cstdint>
#include <optional>

#include "daemon/analysis/operators/event_tiles.h"
#include "daemon/analysis/sql/trace_function.h"

namespace kprof {

// The argument, which is its first one; and that WHERE chooses among tracks and times alone. `what` is drawn: "slices".
// Fails with kUsage.
Result<int64_t> PixelsOf(const FunctionCall& call, const char* what);

// From from_ns to to_ns, or all of the part, where they are not given. Nothing: it has none of that kind, or none then.
std::optional<Viewport> ViewportOf(const TracePart& part, EventKind kind, const EventFilter& filter, int64_t pixels);

}  // namespace kprof
