// The rule of flows, in one place for all who show them: which points of a part are one flow, and which leads on to
// which. Points of the same category, name and id are a flow. In the order of time, of one time a begin (s) before a
// step (t) before an end (f), each leads on from the one before; a begin starts anew, an end ends. What neither begins
// nor has one before it leads nowhere. Where there are just one begin and one end they are a pair, whatever clocks say.
// So a point leads on to one other at most, and at most one leads on to it.
//
// Which slice a point touches is flow_rules.h. Pure; any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace kprof {

// What the rule needs of a point, small: a part has millions.
struct ChainPoint {
  enum Phase : uint32_t { kBegin, kStep, kEnd };
  static constexpr uint32_t kMostLabels = 1u << 30;

  int64_t flow_id = 0;
  int64_t time_ns = 0;
  uint32_t row = 0;         // of all flow points of the part
  uint32_t label : 30 = 0;  // a number for its category and name, of whoever asks
  uint32_t phase : 2 = kBegin;
};
static_assert(sizeof(ChainPoint) == 24);

// REQUIRES: IsFlowPhase(phase).
constexpr ChainPoint::Phase ChainPhaseOf(int64_t phase) {
  return phase == 's' ? ChainPoint::kBegin : phase == 't' ? ChainPoint::kStep : ChainPoint::kEnd;
}

// Flow by flow, by the numbers that they have; each in the order of time.
void SortByFlow(std::vector<ChainPoint>& points);

// Each step of sorted points, until `see` returns false.
void ForEachFlowStep(std::span<const ChainPoint> sorted,
                     const std::function<bool(const ChainPoint& from, const ChainPoint& to)>& see);

}  // namespace kprof
