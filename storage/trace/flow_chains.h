// The rule of flows, in one place for all who show them: which points of a part are one flow, and which leads on to
// which. Points of the same category, name and id are a flow. In the order of time, of one time a begin (s) before a
// step (t) before an end (f), each leads on from the one before; a begin starts anew, an end ends. What neither begins
// nor has one before it leads nowhere. Where there are just one begin and one end they are a pair, whatever clocks say.
//
// Which slice a point touches is flow_binder.h. Pure; any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "storage/trace/event_kind.h"

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

// Flow by flow, by the numbers that they have; each in the order of time.
void SortByFlow(std::vector<FlowPoint>& points);

// Each step of sorted points, until `see` returns false.
void ForEachFlowStep(std::span<const FlowPoint> sorted,
                     const std::function<bool(const FlowPoint& from, const FlowPoint& to)>& see);

}  // namespace kprof
