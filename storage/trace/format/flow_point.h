// A point of a flow: the begin of an arrow between slices, a step of it, or its end. What leads on to what is
// flow_chains.h; which slice a point touches is flow_rules.h.
#pragma once

#include <cstdint>

#include "storage/trace/format/trace_model.h"

namespace kprof {

// Its name and category are strings' numbers; its id is as the column has it (flow_id.h).
struct FlowPoint {
  int64_t category = 0;
  int64_t name = 0;
  int64_t flow_id = 0;
  int64_t time_ns = 0;
  int64_t row = 0;  // of all flow points of the part
  int64_t track = 0;
  int64_t slice = kNoValue;  // the row of the one that it touches; kNoValue: of none, or not found out yet
  char phase = 0;            // s, t or f
  bool binds_next = false;   // an end that does not say bp "e"
};

// Whether an event with that phase is such a point.
constexpr bool IsFlowPhase(int64_t phase) {
  return phase == 's' || phase == 't' || phase == 'f';
}

}  // namespace kprof
