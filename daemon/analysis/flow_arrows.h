// Arrows between slices, from each flow point to the one that it leads on to; which these are is the rule of
// storage/trace/flow_chains.h, which slice a point touches that of flow_binder.h beside it: a query of SQL's `flow`
// finds the same ones (storage/trace_sql/flow_pairs.h).
//
// On the reader's thread. Costs a pass over the flow points asked for, and a look into a SliceTree for each whose slice
// the part does not say. Memory: 64 bytes a point; more than `most_points` fail with kUsage. Fails with kStorageBroken,
// kCancelled.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "daemon/analysis/event_filter.h"
#include "daemon/analysis/slice_tree.h"
#include "daemon/analysis/trace_part.h"
#include "storage/base/status.h"

namespace kprof {

struct FlowEnd {
  int64_t row = 0;  // of all flow points of the part
  int64_t time_ns = 0;
  uint32_t track = 0;
  std::optional<int64_t> slice;  // its row; nothing where none is there to touch
};

struct FlowArrow {
  FlowEnd from;
  FlowEnd to;
  int64_t id = 0;  // a string's number, here and below; checked by who reads it
  int64_t name = 0;
  int64_t category = 0;
};

struct FlowRequest {
  EventFilter filter;  // which points: an arrow is found where both ends are
  size_t most_points = 4 << 20;
};

// In the order of categories, names and ids (by their numbers), then of time. `see` returns false when it has seen
// enough. `tree` is of the part's reader.
Status FindFlowArrows(const TracePart& part, const FlowRequest& request, SliceTree& tree, const StopSignal& stop,
                      const std::function<bool(const FlowArrow&)>& see);

}  // namespace kprof
